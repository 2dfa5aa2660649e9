/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of the configuration that concern LLM providers: names of
 * models, prices, private upstreams. Used by config_value.c (check, print),
 * config_narrow.c and llm_policy.c. Pure.
 *
 * A model is "model" (of every provider), "provider/model" (the first slash
 * divides) or "provider/" and an asterisk (every model of it).
 */
#ifndef SUPERVISOR_POLICY_CONFIG_LLM_H
#define SUPERVISOR_POLICY_CONFIG_LLM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"

#define CONFIG_LLM_PROVIDER_MAX 31U
#define CONFIG_LLM_MODEL_MAX 200U
/* provider, slash, model and NUL */
#define CONFIG_LLM_NAME_MAX (CONFIG_LLM_PROVIDER_MAX + CONFIG_LLM_MODEL_MAX + 2)

struct config_llm_model {
	char provider[CONFIG_LLM_PROVIDER_MAX + 1]; /* "": every */
	char model[CONFIG_LLM_MODEL_MAX + 1];       /* "*": every */
};

/* [a-z0-9][a-z0-9_-]*, at most 31 bytes. */
bool config_llm_is_provider(const char *name);
/* False: not a model's name. */
bool config_llm_model_parse(const char *text, struct config_llm_model *model_r);
/* What both allow, as text; false: nothing. */
bool config_llm_meet(
    const char *a, const char *b, char text_r[CONFIG_LLM_NAME_MAX]);
/* The list of what both lists allow; caller owns it. */
json_t *config_llm_meet_lists(const json_t *a, const json_t *b);

/* {"openai/gpt-4o-mini":{"input":0.15,"output":0.60}}, dollars for a million
 * tokens; the normal form has micro-dollars. */
enum result config_llm_prices(const json_t *raw, const char *where,
    json_t **value_r, struct json_fault *fault);
/* From the normal form, as it would be typed; caller owns it. */
json_t *config_llm_prices_typed(const json_t *value);

/* {"local":{"host":"10.1.2.3"?,"port":8443?,"cidrs":["10.1.2.0/24"]?,
 * "ca":"/etc/ca.pem"?,"tls":false?}} */
enum result config_llm_upstream(const json_t *raw, const char *where,
    json_t **value_r, struct json_fault *fault);

#endif
