/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums that the limits of one run are held against. Used by budget.c
 * (rows) and budget_fit.c (comparison).
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_SUMS_H
#define SUPERVISOR_LEDGER_BUDGET_SUMS_H

#include "supervisor/ledger/budget_db.h"
#include "supervisor/ledger/budget_limits.h"

struct budget_sums {
	int64_t open; /* calls of the run */
	struct budget_amounts scopes[BUDGET_SCOPE_COUNT];
};

/* RESULT_MISMATCH: the run has no row, or a sum is below nothing. */
enum result budget_sums_get(struct budget_db *db, int64_t run,
    const char *package, int64_t day, struct budget_sums *sums_r);
enum result budget_sums_set(struct budget_db *db, int64_t run,
    const char *package, int64_t day, const struct budget_sums *sums);

/* In every scope: more, without less (NULL: nothing). An unknown cost
 * counts as nothing here. */
void budget_sums_charge(struct budget_sums *sums, int open,
    const struct budget_amounts *more, const struct budget_amounts *less);

/* Bind all amounts in their order. */
void budget_sums_put_amounts(
    struct budget_query *query, const struct budget_amounts *amounts);

#endif
