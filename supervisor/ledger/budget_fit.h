/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a call fit? Amounts against sums and limits, and what to say when it
 * does not. Used by budget.c. Pure.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_FIT_H
#define SUPERVISOR_LEDGER_BUDGET_FIT_H

#include <stdint.h>

#include "common/result.h"
#include "supervisor/ledger/budget_limits.h"
#include "supervisor/ledger/budget_sums.h"

#define BUDGET_FIT_DAY_S INT64_C(86400)
#define BUDGET_FIT_AHEAD 16 /* calls ahead take one such part of the rest */

struct budget_refusal {
	enum budget_scope scope;
	const char *amount;  /* "tokens", "concurrent", "price"; static */
	int64_t limit, used; /* used: with what others reserved */
	int64_t alone;       /* what this call wanted */
	/* To the next day (UTC) where that helps, 1 for `concurrent`, 0
	 * where waiting does not help: a run's budget, a call too large. */
	int64_t retry_after_s;
};

/* RESULT_OK or RESULT_REFUSED with the first amount that does not fit. */
enum result budget_fit_amounts(const struct budget_limits *limits,
    const struct budget_sums *sums, const struct budget_amounts *most,
    int64_t now_s, struct budget_refusal *refusal_r);
/* How many like it, of at most calls, may be reserved at one time: more than
 * this one take a sixteenth of what is left at most, so that nobody is in
 * the way of others who come to the limit. */
int64_t budget_fit_calls(const struct budget_limits *limits,
    const struct budget_sums *sums, const struct budget_amounts *most,
    int64_t calls);
/* The same of calls that are open. */
int64_t budget_fit_open(int64_t limit, int64_t open, int64_t calls);
/* RESULT_REFUSED: too many calls are open. */
enum result budget_fit_refuse_open(enum budget_scope scope, int64_t limit,
    int64_t open, struct budget_refusal *refusal_r);

#endif
