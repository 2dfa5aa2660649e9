/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm_ceiling.h with the host's side from the configuration. Used by
 * llm_plan.c.
 */
#ifndef SUPERVISOR_POLICY_LLM_POLICY_H
#define SUPERVISOR_POLICY_LLM_POLICY_H

#include "supervisor/policy/config.h"
#include "supervisor/policy/llm_ceiling.h"

/* As llm_ceiling_compute: both results are NULL when there is no LLM. */
enum result llm_policy_make(const struct config *config,
    const json_t *llm_access, int64_t max_iterations, const json_t *providers,
    json_t **grant_r, json_t **limits_r, struct json_fault *fault);

#endif
