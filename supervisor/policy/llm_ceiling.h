/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent may do with LLMs: the minimum of its manifest's llm_access,
 * the host's configuration (agent_sandbox.llm, llm) and the team policy,
 * which the configuration has in it already. Default deny; a manifest never
 * gets more than the host says. Pure; used by llm_policy.c.
 */
#ifndef SUPERVISOR_POLICY_LLM_CEILING_H
#define SUPERVISOR_POLICY_LLM_CEILING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

/* Of a grant (llm-broker/grant.h). */
#define LLM_CEILING_PROVIDERS_MAX 16U
#define LLM_CEILING_MODELS_MAX 64U

/* The host's side. NULL: unset, which is any model, no default, no limit,
 * no price. */
struct llm_ceiling_host {
	bool enabled;
	int64_t max_calls, max_input_chars, max_output_chars, concurrent;
	const json_t *allowed_models, *opt_in, *prices;
	const char *default_provider, *default_model;
	int64_t body_bytes, decoded_bytes, response_bytes;
	int64_t first_byte_ms, idle_ms, total_ms;
	/* {"run":{"tokens"?,"cost_microusd"?},"agent_day":{...},
	 * "host_day":{...}} with what is limited */
	const json_t *limits;
};

/* Pure. llm_access: {"enabled","max_calls"?,"max_input_chars"?,
 * "max_output_chars"?,"allowed_models"?} of a checked manifest;
 * max_iterations: 0 is none; providers: an object whose members are the
 * providers there are. *grant_r and *limits_r (of `grant` and
 * `budget_open`; the caller owns them) are NULL when there is no LLM.
 * RESULT_BAD: a fault says what is wrong with the manifest or that there
 * are too many providers. */
enum result llm_ceiling_compute(const struct llm_ceiling_host *host,
    const json_t *llm_access, int64_t max_iterations, const json_t *providers,
    json_t **grant_r, json_t **limits_r, struct json_fault *fault);

#endif
