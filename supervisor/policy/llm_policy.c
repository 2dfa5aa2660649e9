/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of LLM grants, out of the configuration. Called by
 * llm_plan.c through llm_policy.h. It must never take a limit that is set
 * for none.
 */
#include <stdio.h>

#include "supervisor/policy/llm_policy.h"

/* Keys and what budgets call them. */
static const char *const llm_policy_host_amounts[][2] = {
    {"requests", "requests"},
    {"input_chars", "input_chars"},
    {"output_chars", "output_chars"},
    {"tokens", "tokens"},
    {"cost", "cost_microusd"},
};

/* Those of one scope that are set; names says which keys there are. */
static json_t *
llm_policy_host_scope(
    const struct config *config, const char *prefix, size_t first)
{
	json_t *object = json_object();
	char name[64];
	size_t i;

	for (i = first; i < 5; i++) {
		const json_t *value;

		(void)snprintf(name, sizeof(name), "%s.%s", prefix,
		    llm_policy_host_amounts[i][0]);
		value = config_json(config, name);
		if (value != NULL)
			(void)json_object_set(object,
			    llm_policy_host_amounts[i][1], (json_t *)value);
	}
	return object;
}

static struct llm_ceiling_host
llm_policy_host(const struct config *config, const json_t *limits)
{
	struct llm_ceiling_host host = {
	    .enabled = config_bool(config, "agent_sandbox.llm.enabled"),
	    .max_calls = config_int(config, "agent_sandbox.llm.max_calls"),
	    .max_input_chars =
		config_int(config, "agent_sandbox.llm.max_input_chars"),
	    .max_output_chars =
		config_int(config, "agent_sandbox.llm.max_output_chars"),
	    .concurrent = config_int(config, "llm.concurrent"),
	    .allowed_models =
		config_json(config, "agent_sandbox.llm.allowed_models"),
	    .opt_in = config_json(config, "llm.opt_in"),
	    .prices = config_json(config, "llm.prices"),
	    .default_provider = config_text(config, "llm.default_provider"),
	    .default_model = config_text(config, "llm.default_model"),
	    .body_bytes = config_int(config, "llm.body_max"),
	    .decoded_bytes = config_int(config, "llm.decoded_max"),
	    .response_bytes = config_int(config, "llm.response_max"),
	    .first_byte_ms = config_int(config, "llm.first_byte_timeout_ms"),
	    .idle_ms = config_int(config, "llm.idle_timeout_ms"),
	    .total_ms = config_int(config, "llm.total_timeout_ms"),
	    .limits = limits,
	};

	return host;
}

enum result
llm_policy_make(const struct config *config, const json_t *llm_access,
    int64_t max_iterations, const json_t *providers, json_t **grant_r,
    json_t **limits_r, struct json_fault *fault)
{
	json_t *limits = json_pack("{s:o, s:o, s:o}", "run",
	    llm_policy_host_scope(config, "llm.run", 3), "agent_day",
	    llm_policy_host_scope(config, "llm.agent_day", 0), "host_day",
	    llm_policy_host_scope(config, "llm.day", 0));
	struct llm_ceiling_host host = llm_policy_host(config, limits);
	enum result result;

	*grant_r = *limits_r = NULL;
	if (limits == NULL)
		return RESULT_NO_MEMORY;
	result = llm_ceiling_compute(&host, llm_access, max_iterations,
	    providers, grant_r, limits_r, fault);
	json_decref(limits);
	return result;
}
