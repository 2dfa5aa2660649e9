/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant of a living run after the configuration changed: what it has and
 * what a run would get now, both, and nothing else. So a run only ever loses.
 * Objects as llm-broker/grant.h has them. Used by agent_run_policy.c. Pure.
 */
#ifndef SUPERVISOR_POLICY_LLM_NARROW_H
#define SUPERVISOR_POLICY_LLM_NARROW_H

#include <jansson.h>
#include <stdbool.h>

/* The narrower grant; the caller owns it, NULL: no memory. Prices and the
 * ledger stay as held says; call_llm's choice stays while it is granted, then
 * it is the new one, if the run may have that. */
json_t *llm_narrow_grant(const json_t *held, const json_t *now);

/* The budgets of now (budget_limits.h) take something away that the grant
 * above does not: tokens, money, sums of a day. The ledger holds a run to
 * what it began with, so the run cannot go on. */
bool llm_narrow_ends(const json_t *held_limits, const json_t *now_limits);

#endif
