/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a transaction changed and did not write yet: the sums of one run and
 * the usage of one model. A batch of calls is mostly of one run and model,
 * so they are read and written once per transaction, and not read at all
 * while nobody else wrote the file. Used by budget.c, which writes them
 * before it reads the tables in another way, and before it commits.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_HELD_H
#define SUPERVISOR_LEDGER_BUDGET_HELD_H

#include <stdbool.h>

#include "supervisor/ledger/budget_db.h"
#include "supervisor/ledger/budget_sums.h"
#include "supervisor/ledger/budget_usage.h"

#define BUDGET_HELD_PACKAGE_MAX 65U

struct budget_held {
	struct budget_db *db;
	/* sums: of this run, its agent and the host on this day */
	bool has_sums, is_changed;
	int64_t run, day;
	char package[BUDGET_HELD_PACKAGE_MAX];
	struct budget_sums sums;
	unsigned version; /* of the file, when they were read or written */
	/* usage: what is to be added; calls 0: nothing */
	struct budget_usage usage;
	char usage_package[BUDGET_HELD_PACKAGE_MAX];
};

/* A transaction began. Sums that another ledger may have changed since are
 * forgotten. */
enum result budget_held_begin(struct budget_held *held);
/* It was committed: what is held is what the file has. */
void budget_held_committed(struct budget_held *held);
/* Nothing of this transaction happened. */
void budget_held_forget(struct budget_held *held);

/* The sums of one run, to be read and changed (then say so) until the next
 * call of this file. Results as budget_sums_get. */
enum result budget_held_sums(struct budget_held *held, int64_t run,
    const char *package, int64_t day, struct budget_sums **sums_r);
void budget_held_change(struct budget_held *held);
enum result budget_held_use(struct budget_held *held, const char *package,
    const struct budget_usage *usage);

/* All of it into the tables. */
enum result budget_held_write(struct budget_held *held);

#endif
