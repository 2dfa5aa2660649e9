/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reservation of one call, and its settlement, in one line each; for tests
 * and benches of budgets that need no more. Reservations of several calls
 * are test_budget_ahead.c's.
 */
#ifndef TESTS_SUPPORT_BUDGET_ONE_H
#define TESTS_SUPPORT_BUDGET_ONE_H

#include "supervisor/ledger/budget.h"

static inline enum result
budget_one_reserve(struct budget *budget, const struct budget_run *run,
    int64_t call, const char *provider, const char *model,
    const struct budget_amounts *most, struct budget_refusal *refusal_r)
{
	struct budget_wish wish = {call, provider, model, *most, 1};

	return budget_reserve(budget, run, &wish, refusal_r);
}

static inline enum result
budget_one_settle(struct budget *budget, const struct budget_run *run,
    int64_t call, const struct budget_amounts *used, bool served,
    bool estimated)
{
	const struct budget_done done = {
	    call, 1, 0, served ? 1 : 0, estimated ? 1 : 0, *used};

	return budget_settle(budget, run, &done);
}

#endif
