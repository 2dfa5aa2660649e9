/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor's first message tells the proxy: the "options" object
 * of `config`. One table row per number in proxy_config.c; an unknown key,
 * a wrong type or a value out of range is an error with its path.
 *
 * {"resolver":"192.0.2.1:53,[2001:db8::1]:53",   required
 *  "upstream_proxy":"proxy.corp.example:3128",
 *  "max_tunnels":256, "head_timeout_ms":10000, "hello_timeout_ms":10000,
 *  "dial_timeout_ms":10000, "lookup_timeout_ms":5000,
 *  "idle_timeout_s":300, "total_timeout_s":28800,
 *  "rate_bytes":0, "max_bytes":0, "log_rate":1000,
 *  "log_level":"info", "uid":0, "no_landlock":false, "splice":true,
 *  "congestion":"reno"}                           (benches only)
 */
#ifndef EGRESS_PROXY_PROXY_CONFIG_H
#define EGRESS_PROXY_PROXY_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/json_field.h"
#include "common/log.h"
#include "egress-proxy/endpoint.h"

#define PROXY_CONFIG_RESOLVER_MAX 512U

struct proxy_config {
	char resolver[PROXY_CONFIG_RESOLVER_MAX];
	char congestion[16]; /* empty: the system's */

	struct endpoint upstream; /* the corporate proxy; port 0: none */

	int64_t max_tunnels; /* per sandbox */
	int64_t head_timeout_ms, hello_timeout_ms, dial_timeout_ms;
	int64_t lookup_timeout_ms;
	int64_t idle_timeout_s, total_timeout_s;
	int64_t rate_bytes, max_bytes; /* per sandbox, 0: no limit */
	int64_t log_rate;              /* lines of one kind per second */
	int64_t uid;                   /* 0: the default unprivileged one */
	enum log_level log_level;
	bool no_landlock; /* the host's named override */
	bool splice;      /* false: copy */
};

/* Fill from options; fault gets the first thing wrong. */
void proxy_config_read(const json_t *options, struct proxy_config *config_r,
    struct json_fault *fault);

#endif
