/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares. Called by budget.c; pure. It must never let an amount pass whose
 * price is unknown where money is limited.
 */
#include <stdbool.h>
#include <string.h>

#include "supervisor/ledger/budget_fit.h"

static bool
budget_fit_scope(const int64_t *limits, const struct budget_amounts *sum,
    const struct budget_amounts *most, struct budget_refusal *refusal_r)
{
	unsigned i;

	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++) {
		/* What costs nothing is never too dear. */
		if (limits[i] == BUDGET_NO_LIMIT || most->values[i] == 0)
			continue;
		if (most->values[i] != BUDGET_UNKNOWN_COST &&
		    most->values[i] <= limits[i] - sum->values[i])
			continue;
		refusal_r->amount =
		    most->values[i] == BUDGET_UNKNOWN_COST
			? "price"
			: budget_limits_amount_text((enum budget_amount)i);
		refusal_r->limit = limits[i];
		refusal_r->used = sum->values[i];
		refusal_r->alone = most->values[i];
		return false;
	}
	return true;
}

/* Tomorrow helps where the day's sum is in the way, not the call alone. */
static void
budget_fit_wait(struct budget_refusal *refusal, int64_t now_s)
{
	refusal->retry_after_s = 0;
	if (refusal->scope != BUDGET_RUN &&
	    refusal->alone != BUDGET_UNKNOWN_COST &&
	    refusal->alone <= refusal->limit)
		refusal->retry_after_s =
		    BUDGET_FIT_DAY_S - now_s % BUDGET_FIT_DAY_S;
}

enum result
budget_fit_amounts(const struct budget_limits *limits,
    const struct budget_sums *sums, const struct budget_amounts *most,
    int64_t now_s, struct budget_refusal *refusal_r)
{
	unsigned scope;

	for (scope = 0; scope < BUDGET_SCOPE_COUNT; scope++)
		if (!budget_fit_scope(limits->values[scope],
			&sums->scopes[scope], most, refusal_r)) {
			refusal_r->scope = (enum budget_scope)scope;
			budget_fit_wait(refusal_r, now_s);
			return RESULT_REFUSED;
		}
	return RESULT_OK;
}

static int64_t
budget_fit_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t
budget_fit_calls(const struct budget_limits *limits,
    const struct budget_sums *sums, const struct budget_amounts *most,
    int64_t calls)
{
	const int64_t *limit, *sum;
	unsigned scope, i;

	for (scope = 0; scope < BUDGET_SCOPE_COUNT; scope++) {
		limit = limits->values[scope];
		sum = sums->scopes[scope].values;
		for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
			if (limit[i] != BUDGET_NO_LIMIT && most->values[i] > 0)
				calls = budget_fit_least(calls,
				    (limit[i] - sum[i]) / BUDGET_FIT_AHEAD /
					most->values[i]);
	}
	return calls > 1 ? calls : 1;
}

int64_t
budget_fit_open(int64_t limit, int64_t open, int64_t calls)
{
	calls = budget_fit_least(calls, (limit - open) / BUDGET_FIT_AHEAD);
	return calls > 1 ? calls : 1;
}

enum result
budget_fit_refuse_open(enum budget_scope scope, int64_t limit, int64_t open,
    struct budget_refusal *refusal_r)
{
	refusal_r->scope = scope;
	refusal_r->amount = "concurrent";
	refusal_r->limit = limit;
	refusal_r->used = open;
	refusal_r->retry_after_s = limit > 0 ? 1 : 0;
	return RESULT_REFUSED;
}
