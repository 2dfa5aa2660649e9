/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor's first message tells the broker: the "options" object
 * of `config`. One table row per number in broker_config.c; an unknown key,
 * a wrong type or a value out of range is an error with its path.
 *
 * {"providers":[PROVIDER, ...],              required; provider.h
 *  "port":4100, "head_timeout_ms":10000, "request_timeout_ms":60000,
 *  "keep_alive_ms":60000, "lanes":1024, "log_rate":1000,
 *  "log_level":"info", "uid":0, "no_landlock":false}
 */
#ifndef LLM_BROKER_BROKER_CONFIG_H
#define LLM_BROKER_BROKER_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/log.h"
#include "llm-broker/provider.h"

#define BROKER_CONFIG_PROVIDERS_MAX 32U

struct broker_config {
	struct provider *providers[BROKER_CONFIG_PROVIDERS_MAX + 1];
	bool keyless[BROKER_CONFIG_PROVIDERS_MAX]; /* its "key" is null */
	int64_t port;                              /* the agent's Host has it */
	int64_t head_timeout_ms, request_timeout_ms, keep_alive_ms;
	int64_t lanes;    /* calls upstream at one time */
	int64_t log_rate; /* lines of one kind per second */
	int64_t uid;      /* 0: the default unprivileged one */
	enum log_level log_level;
	bool no_landlock; /* the host's named override */
};

/* Fill from options; fault gets the first thing wrong. */
void broker_config_read(const json_t *options, struct broker_config *config_r,
    struct json_fault *fault);
void broker_config_clear(struct broker_config *config);

#endif
