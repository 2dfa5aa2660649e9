/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads limits from messages. Called by ledger_budget.c. Pure:
 * it must never accept a key or a number it does not know.
 */
#include <stdio.h>

#include "supervisor/ledger/budget_limits.h"

#define BUDGET_LIMITS_PATH_MAX 96U

static const char *const budget_limits_scopes[] = {
    "run", "agent_day", "host_day", NULL};
static const char *const budget_limits_amounts[] = {
    "requests", "input_chars", "output_chars", "tokens", "cost_microusd", NULL};
static const char *const budget_limits_keys[] = {"requests", "input_chars",
    "output_chars", "tokens", "cost_microusd", "concurrent", NULL};

const char *
budget_limits_scope_text(enum budget_scope scope)
{
	return (unsigned)scope < BUDGET_SCOPE_COUNT
		   ? budget_limits_scopes[scope]
		   : "";
}

const char *
budget_limits_amount_text(enum budget_amount amount)
{
	return (unsigned)amount < BUDGET_AMOUNT_COUNT
		   ? budget_limits_amounts[amount]
		   : "";
}

static void
budget_limits_read_scope(const json_t *object, const char *path,
    enum budget_scope scope, struct budget_limits *limits_r,
    struct json_fault *fault)
{
	const json_t *limits =
	    json_object_get(object, budget_limits_scopes[scope]);
	char inner[BUDGET_LIMITS_PATH_MAX];
	unsigned i;

	limits_r->concurrent[scope] = BUDGET_NO_LIMIT;
	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		limits_r->values[scope][i] = BUDGET_NO_LIMIT;
	if (limits == NULL || fault->text[0] != '\0')
		return;
	(void)snprintf(
	    inner, sizeof(inner), "%s.%s", path, budget_limits_scopes[scope]);
	json_field_only(limits, inner, budget_limits_keys, fault);
	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		json_field_int_opt(limits, inner, budget_limits_amounts[i], 0,
		    BUDGET_LIMIT_MAX, &limits_r->values[scope][i], fault);
	json_field_int_opt(limits, inner, "concurrent", 0, BUDGET_LIMIT_MAX,
	    &limits_r->concurrent[scope], fault);
}

void
budget_limits_read(const json_t *object, const char *path,
    struct budget_limits *limits_r, struct json_fault *fault)
{
	unsigned scope;

	json_field_only(object, path, budget_limits_scopes, fault);
	for (scope = 0; scope < BUDGET_SCOPE_COUNT; scope++)
		budget_limits_read_scope(
		    object, path, (enum budget_scope)scope, limits_r, fault);
}
