/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor's first message tells llm-key: the "options" object of
 * `config`. An unknown key, a wrong type or a value out of range is an error
 * with its path. Numbers with their ranges: the table in key_config.c.
 *
 * {"providers":[{"name":"openai","host":"api.openai.com","port":443,
 *    "key":{"header":"Authorization","format":"Bearer {key}"},  null: none
 *    "cidrs":["10.0.0.0/8"],   where else the name may resolve into
 *    "ca_fd":2,                its own CA bundle
 *    "tls":false}],            only without a key and with cidrs
 *  "resolver":"192.0.2.1:53,...",                             required
 *  "ca_fd":1,                  index of the descriptor with the CA bundle
 *                              (PEM); needed unless each provider has one
 *  "own":["192.0.2.7/32"],     the host's own addresses and prefixes
 *  "upstream_proxy":"proxy.corp.example:3128",
 *  "lookup_timeout_ms":5000, "connect_timeout_ms":10000,
 *  "key_wait_ms":5000,         how long a call waits for a key that is to come
 *  "idle_timeout_ms":60000, "max_idle":64, "max_connections":1024,
 *  "breaker_ms":60000,         its first pause
 *  "log_level":"info", "log_rate":1000, "uid":0, "no_landlock":false,
 *  "congestion":"reno"}                                       (benches only)
 */
#ifndef LLM_BROKER_KEY_KEY_CONFIG_H
#define LLM_BROKER_KEY_KEY_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/ipc.h"
#include "common/json_field.h"
#include "common/log.h"
#include "egress-proxy/endpoint.h"
#include "egress-proxy/host_policy.h"
#include "llm-broker/lane.h"

#define KEY_CONFIG_PROVIDERS_MAX 16U
#define KEY_CONFIG_CIDRS_MAX 64U
#define KEY_CONFIG_HEADER_MAX 63U
#define KEY_CONFIG_FORMAT_MAX 127U
#define KEY_CONFIG_RESOLVER_MAX 512U

/* Every range a provider may resolve into is listed under this one name, so
 * that literal and single-label hosts are judged like others. */
#define KEY_CONFIG_JUDGED "provider.invalid"

struct key_config_provider {
	char name[LANE_PROVIDER_MAX];
	/* "api.openai.com", "10.0.0.7", "fd00::7": what the certificate must
	 * be for; and as in a Host field, with the port unless it is 443 */
	char host[DOMAIN_NAME_MAX + 1];
	char authority[DOMAIN_NAME_MAX + 9];
	struct endpoint endpoint;
	bool tls, has_key;
	char header[KEY_CONFIG_HEADER_MAX + 1];
	char before[KEY_CONFIG_FORMAT_MAX + 1]; /* of the key: "Bearer " */
	char after[KEY_CONFIG_FORMAT_MAX + 1];
	struct host_policy *policy; /* its addresses; owned */
	int ca_index;               /* of the message's descriptors; -1 */
};

struct key_config {
	struct key_config_provider providers[KEY_CONFIG_PROVIDERS_MAX];
	size_t provider_count;
	char resolver[KEY_CONFIG_RESOLVER_MAX];
	char congestion[16];
	struct endpoint upstream_proxy; /* port 0: none */
	int64_t lookup_timeout_ms, connect_timeout_ms, key_wait_ms;
	int64_t idle_timeout_ms, max_idle, max_connections;
	int64_t breaker_ms, log_rate, uid, ca_index;
	enum log_level log_level;
	bool no_landlock;
};

/* Fill from options; fault gets the first thing wrong. key_config_clear in
 * either case. */
void key_config_read(const json_t *options, struct key_config *config_r,
    struct json_fault *fault);
void key_config_clear(struct key_config *config);

#endif
