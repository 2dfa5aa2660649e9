/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads, changes and writes the sums of one run, its agent's day and the
 * host's day. Called by budget.c inside a transaction. It must never let a
 * sum overflow or fall below nothing.
 */
#include <string.h>

#include "supervisor/ledger/budget_sums.h"

void
budget_sums_put_amounts(
    struct budget_query *query, const struct budget_amounts *amounts)
{
	unsigned i;

	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		budget_db_number(query, amounts->values[i]);
}

/* False: a sum is below nothing, so somebody else wrote this file. */
static bool
budget_sums_take_amounts(
    struct budget_query *query, struct budget_amounts *amounts_r)
{
	bool sane = true;
	unsigned i;

	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++) {
		amounts_r->values[i] = budget_db_read_number(query);
		sane = sane && amounts_r->values[i] >= 0;
	}
	return sane;
}

static enum result
budget_sums_day_get(struct budget_db *db, int64_t day, const char *package,
    struct budget_amounts *amounts_r)
{
	struct budget_query query = budget_db_query(db, BUDGET_DB_CHARGED_GET);
	enum result result;

	memset(amounts_r, 0, sizeof(*amounts_r));
	budget_db_number(&query, day);
	budget_db_text(&query, package);
	result = budget_db_row(&query);
	if (result == RESULT_OK && !budget_sums_take_amounts(&query, amounts_r))
		result = RESULT_MISMATCH;
	budget_db_end(&query);
	return result == RESULT_NOT_FOUND ? RESULT_OK : result;
}

static enum result
budget_sums_day_put(struct budget_db *db, enum budget_statement which,
    int64_t day, const char *package, const struct budget_amounts *amounts)
{
	struct budget_query query = budget_db_query(db, which);

	budget_db_number(&query, day);
	budget_db_text(&query, package);
	budget_sums_put_amounts(&query, amounts);
	return budget_db_run(&query);
}

static enum result
budget_sums_day_set(struct budget_db *db, int64_t day, const char *package,
    const struct budget_amounts *amounts)
{
	enum result result = budget_sums_day_put(
	    db, BUDGET_DB_CHARGED_SET, day, package, amounts);

	if (result != RESULT_OK || sqlite3_changes(db->handle) > 0)
		return result;
	return budget_sums_day_put(
	    db, BUDGET_DB_CHARGED_NEW, day, package, amounts);
}

/* package "" is the host: no package has such a name. */
enum result
budget_sums_get(struct budget_db *db, int64_t run, const char *package,
    int64_t day, struct budget_sums *sums_r)
{
	struct budget_query query = budget_db_query(db, BUDGET_DB_RUN_GET);
	enum result result;

	budget_db_number(&query, run);
	result = budget_db_row(&query);
	if (result == RESULT_OK) {
		sums_r->open = budget_db_read_number(&query);
		if (!budget_sums_take_amounts(
			&query, &sums_r->scopes[BUDGET_RUN]))
			result = RESULT_MISMATCH;
	} else if (result == RESULT_NOT_FOUND)
		result = RESULT_MISMATCH; /* a living run always has a row */
	budget_db_end(&query);
	if (result == RESULT_OK)
		result = budget_sums_day_get(
		    db, day, package, &sums_r->scopes[BUDGET_AGENT_DAY]);
	if (result == RESULT_OK)
		result = budget_sums_day_get(
		    db, day, "", &sums_r->scopes[BUDGET_HOST_DAY]);
	return result;
}

enum result
budget_sums_set(struct budget_db *db, int64_t run, const char *package,
    int64_t day, const struct budget_sums *sums)
{
	struct budget_query query = budget_db_query(db, BUDGET_DB_RUN_SET);
	enum result result;

	budget_db_number(&query, run);
	budget_db_number(&query, sums->open);
	budget_sums_put_amounts(&query, &sums->scopes[BUDGET_RUN]);
	result = budget_db_run(&query);
	if (result == RESULT_OK)
		result = budget_sums_day_set(
		    db, day, package, &sums->scopes[BUDGET_AGENT_DAY]);
	if (result == RESULT_OK)
		result = budget_sums_day_set(
		    db, day, "", &sums->scopes[BUDGET_HOST_DAY]);
	return result;
}

/* Each amount is at most BUDGET_AMOUNT_MAX; a sum stops growing long before
 * it could overflow, and every limit is below that. */
static int64_t
budget_sums_add(int64_t sum, int64_t change)
{
	if (sum > INT64_MAX / 2 && change > 0)
		return sum;
	return sum + change > 0 ? sum + change : 0;
}

static int64_t
budget_sums_cost_of(const struct budget_amounts *amounts)
{
	int64_t cost = amounts->values[BUDGET_COST];

	return cost == BUDGET_UNKNOWN_COST ? 0 : cost;
}

void
budget_sums_charge(struct budget_sums *sums, int open,
    const struct budget_amounts *more, const struct budget_amounts *less)
{
	static const struct budget_amounts nothing;
	unsigned scope, i;
	int64_t *values;

	if (less == NULL)
		less = &nothing;
	sums->open = budget_sums_add(sums->open, open);
	for (scope = 0; scope < BUDGET_SCOPE_COUNT; scope++) {
		values = sums->scopes[scope].values;
		for (i = 0; i < BUDGET_COST; i++)
			values[i] = budget_sums_add(
			    values[i], more->values[i] - less->values[i]);
		values[BUDGET_COST] = budget_sums_add(values[BUDGET_COST],
		    budget_sums_cost_of(more) - budget_sums_cost_of(less));
	}
}
