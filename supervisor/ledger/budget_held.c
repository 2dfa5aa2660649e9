/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds back rows that the next call of a batch would write again. Called by
 * budget.c inside a transaction. It must never keep what a transaction that
 * failed had changed, nor trust sums that another process could have changed.
 */
#include "supervisor/ledger/budget_held.h"

#include <stdio.h>
#include <string.h>

/* Of what this connection sees: it changes with every commit, of any
 * process. */
static enum result
budget_held_version(struct budget_held *held, unsigned *version_r)
{
	return budget_db_result(sqlite3_file_control(
	    held->db->handle, NULL, SQLITE_FCNTL_DATA_VERSION, version_r));
}

enum result
budget_held_begin(struct budget_held *held)
{
	unsigned version;
	enum result result = budget_held_version(held, &version);

	if (result != RESULT_OK)
		return result;
	if (version != held->version)
		held->has_sums = false;
	held->version = version;
	return RESULT_OK;
}

void
budget_held_committed(struct budget_held *held)
{
	if (budget_held_version(held, &held->version) != RESULT_OK)
		held->has_sums = false;
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
