/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A usage.db in a folder of its own, and single steps on it, each in its own
 * transaction. For the tests of budgets; never part of an installed program.
 */
#ifndef TESTS_SUPPORT_BUDGET_CASE_H
#define TESTS_SUPPORT_BUDGET_CASE_H

#define BUDGET_INTERNAL
#include "supervisor/ledger/budget.h"

#define BUDGET_CASE_NOON (INT64_C(20000) * 86400 + 43200)

struct budget_case {
	char path[64];
	int dir_fd;
	struct budget *budget;
};

/* cmocka's fixtures: *state becomes the struct. */
int budget_case_setup(void **state);
int budget_case_teardown(void **state);

struct budget_limits budget_case_no_limits(void);
struct budget_amounts budget_case_amounts(int64_t requests, int64_t input,
    int64_t output, int64_t tokens, int64_t cost);

/* These fail the test when the transaction does. */
struct budget_run *budget_case_run(struct budget *budget, const char *name,
    const char *package, const struct budget_limits *limits);
enum result budget_case_reserve_at(struct budget *budget,
    struct budget_run *run, int64_t now, int64_t call,
    struct budget_amounts most, struct budget_refusal *refusal);
enum result budget_case_settle(struct budget *budget, struct budget_run *run,
    int64_t call, struct budget_amounts used);

/* The one number a query answers. */
int64_t budget_case_ask(struct budget *budget, const char *sql);

#endif
