/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of the configuration that concern Guard: answers for single
 * tools, rates, actions that agents have approved beforehand. Used by
 * config_value.c. Pure. What the numbers and words mean: guard.h.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_GUARD_H
#define SUPERVISOR_POLICY_CONFIG_GUARD_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"

#define CONFIG_GUARD_ITEMS_MAX 1024U
#define CONFIG_GUARD_TOOL_MAX 128U
#define CONFIG_GUARD_RATE_MAX 1000000

/* {"slug/tool":{"delete":"deny"}} */
enum result config_guard_overrides(const json_t *raw, const char *where,
    json_t **value_r, struct json_fault *fault);

/* {"slug" or "default":{"calls_per_minute"?:N,"calls_per_hour"?:N,
 * "burst_size"?:N}}, each 1 to CONFIG_GUARD_RATE_MAX */
enum result config_guard_rates(const json_t *raw, const char *where,
    json_t **value_r, struct json_fault *fault);

/* {"slug":{"pre_approved_actions":["delete"]}} */
enum result config_guard_agents(const json_t *raw, const char *where,
    json_t **value_r, struct json_fault *fault);

#endif
