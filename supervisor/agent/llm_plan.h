/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From manifest, configuration and provider files to what the LLM of a run
 * is told: the grant, the budgets, and the options of llm-broker and
 * llm-key. Decides nothing about amounts (llm_policy.h does). Used by
 * agent_plan and `auth test`.
 */
#ifndef SUPERVISOR_AGENT_LLM_PLAN_H
#define SUPERVISOR_AGENT_LLM_PLAN_H

#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/agent/agent_env.h"
#include "supervisor/agent/agent_package.h"
#include "supervisor/agent/llm_part.h"
#include "supervisor/policy/config.h"

void llm_plan_init(struct llm_part_plan *plan);

/* *granted_r is false when manifest, host or team say no: then there is
 * nothing in the plan. */
enum result llm_plan_make(const struct config *config, const char *home,
    const struct agent_package *package, struct llm_part_plan *plan_r,
    bool *granted_r, struct json_fault *fault);

/* The options of both processes for these providers (objects as in their
 * files, after llm.upstream), and the CA bundles they need. */
enum result llm_plan_options(const struct config *config,
    const json_t *providers, struct llm_part_plan *plan,
    struct json_fault *fault);

/* The variables that the SDKs of the granted providers read. */
enum result llm_plan_environment(
    const struct llm_part_plan *plan, struct agent_env *env);

/* Frees and closes what the plan owns; passphrase_fd is the caller's. */
void llm_plan_clear(struct llm_part_plan *plan);

#endif
