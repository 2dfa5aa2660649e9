/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds back rows that the next call of a batch would write again. Called by
 * budget.c inside a transaction. It must never keep what a transaction that
 * failed had changed, nor trust sums that another process could have changed.
 */
#include "supervisor/ledger/budget_held.h"

#include <stdio.h>
#include <string.h>

enum result
budget_held_begin(struct budget_held *held)
{
	struct budget_query query =
	    budget_db_query(held->db, BUDGET_DB_DATA_VERSION);
	enum result result = budget_db_row(&query);
	int64_t version =
	    result == RESULT_OK ? budget_db_read_number(&query) : 0;

	budget_db_end(&query);
	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_INTERNAL : result;
	if (version != held->version)
		held->has_sums = false;
	held->version = version;
	return RESULT_OK;
}

void
budget_held_forget(struct budget_held *held)
{
	held->has_sums = held->is_changed = false;
	held->usage.calls = 0;
}

static enum result
budget_held_write_sums(struct budget_held *held)
{
	enum result result;

	if (!held->is_changed)
		return RESULT_OK;
	result = budget_sums_set(
	    held->db, held->run, held->package, held->day, &held->sums);
	held->is_changed = false;
	held->has_sums = result == RESULT_OK;
	return result;
}

static enum result
budget_held_write_usage(struct budget_held *held)
{
	enum result result;

	if (held->usage.calls == 0)
		return RESULT_OK;
	result = budget_usage_add(held->db, held->usage_package, &held->usage);
	held->usage.calls = 0;
	return result;
}

enum result
budget_held_write(struct budget_held *held)
{
	enum result result = budget_held_write_sums(held);

	return result == RESULT_OK ? budget_held_write_usage(held) : result;
}

enum result
budget_held_sums(struct budget_held *held, int64_t run, const char *package,
    int64_t day, struct budget_sums **sums_r)
{
	enum result result;

	*sums_r = &held->sums;
	if (held->has_sums && held->run == run && held->day == day)
		return RESULT_OK;
	result = budget_held_write_sums(held);
	held->has_sums = false;
	if (result == RESULT_OK)
		result =
		    budget_sums_get(held->db, run, package, day, &held->sums);
	if (result != RESULT_OK)
		return result;
	held->run = run;
	held->day = day;
	(void)snprintf(held->package, sizeof(held->package), "%s", package);
	held->has_sums = true;
	return RESULT_OK;
}

void
budget_held_change(struct budget_held *held)
{
	held->is_changed = true;
}

enum result
budget_held_use(struct budget_held *held, const char *package,
    const struct budget_usage *usage)
{
	enum result result = RESULT_OK;

	if (held->usage.calls > 0 &&
	    strcmp(held->usage_package, package) == 0 &&
	    budget_usage_join(&held->usage, usage))
		return RESULT_OK;
	result = budget_held_write_usage(held);
	held->usage = *usage;
	(void)snprintf(
	    held->usage_package, sizeof(held->usage_package), "%s", package);
	return result;
}
