/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds to the table of usage. Called by budget.c. Names of models come from
 * agents: it must never let one agent make more than a bounded number of
 * rows in a day.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/ledger/budget_usage.h"

void
budget_usage_put_amounts(
    struct budget_usage *usage, const struct budget_amounts *amounts)
{
	bool unknown = amounts->values[BUDGET_COST] == BUDGET_UNKNOWN_COST;

	usage->amounts = *amounts;
	usage->unpriced = unknown ? usage->calls : 0;
	if (unknown)
		usage->amounts.values[BUDGET_COST] = 0;
}

bool
budget_usage_join(struct budget_usage *usage, const struct budget_usage *more)
{
	unsigned i;

	if (usage->day != more->day ||
	    strcmp(usage->provider, more->provider) != 0 ||
	    strcmp(usage->model, more->model) != 0)
		return false;
	usage->calls += more->calls;
	usage->served += more->served;
	usage->estimated += more->estimated;
	usage->unpriced += more->unpriced;
	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		usage->amounts.values[i] += more->amounts.values[i];
	return true;
}

void
budget_usage_of_call(struct budget_query *query, struct budget_usage *usage_r,
    struct budget_amounts *reserved_r)
{
	unsigned i;

	memset(usage_r, 0, sizeof(*usage_r));
	usage_r->day = budget_db_read_number(query);
	(void)snprintf(usage_r->provider, sizeof(usage_r->provider), "%s",
	    budget_db_read_text(query));
	(void)snprintf(usage_r->model, sizeof(usage_r->model), "%s",
	    budget_db_read_text(query));
	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		reserved_r->values[i] = budget_db_read_number(query);
	usage_r->calls = budget_db_read_number(query);
	budget_usage_put_amounts(usage_r, reserved_r);
}

static enum result
budget_usage_put(struct budget_db *db, enum budget_statement which,
    const char *package, const char *model, const struct budget_usage *usage)
{
	struct budget_query query = budget_db_query(db, which);
	unsigned i;

	budget_db_number(&query, usage->day);
	budget_db_text(&query, package);
	budget_db_text(&query, usage->provider);
	budget_db_text(&query, model);
	budget_db_number(&query, usage->served);
	budget_db_number(&query, usage->estimated);
	budget_db_number(&query, usage->unpriced);
	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		budget_db_number(&query, usage->amounts.values[i]);
	budget_db_number(&query, usage->calls);
	return budget_db_run(&query);
}

/* RESULT_NOT_FOUND: there is no row to add to. */
static enum result
budget_usage_add_to(struct budget_db *db, const char *package,
    const char *model, const struct budget_usage *usage)
{
	enum result result =
	    budget_usage_put(db, BUDGET_DB_USAGE_ADD, package, model, usage);

	if (result == RESULT_OK && sqlite3_changes(db->handle) == 0)
		return RESULT_NOT_FOUND;
	return result;
}

static enum result
budget_usage_is_full(struct budget_db *db, const char *package,
    const struct budget_usage *usage, bool *full_r)
{
	struct budget_query query = budget_db_query(db, BUDGET_DB_USAGE_COUNT);
	enum result result;

	budget_db_number(&query, usage->day);
	budget_db_text(&query, package);
	result = budget_db_row(&query);
	if (result == RESULT_OK)
		*full_r = budget_db_read_number(&query) >= BUDGET_USAGE_MODELS;
	budget_db_end(&query);
	return result;
}

enum result
budget_usage_add(
    struct budget_db *db, const char *package, const struct budget_usage *usage)
{
	const char *model = usage->model;
	enum result result;
	bool full = false;

	result = budget_usage_add_to(db, package, model, usage);
	if (result != RESULT_NOT_FOUND)
		return result;
	result = budget_usage_is_full(db, package, usage, &full);
	if (result != RESULT_OK)
		return result;
	if (full) {
		model = BUDGET_USAGE_OTHER;
		result = budget_usage_add_to(db, package, model, usage);
		if (result != RESULT_NOT_FOUND)
			return result;
	}
	return budget_usage_put(db, BUDGET_DB_USAGE_NEW, package, model, usage);
}

/* key, sums, and the provider where the statement gives one. */
static json_t *
budget_usage_row(struct budget_query *query)
{
	static const char *const names[] = {"calls", "served", "estimated",
	    "unpriced", "requests", "input_chars", "output_chars", "tokens",
	    "cost_microusd"};
	json_t *row = json_object();
	size_t i;
	int bad;

	if (sqlite3_column_type(query->statement, 0) == SQLITE_INTEGER)
		bad = json_object_set_new(
		    row, "key", json_integer(budget_db_read_number(query)));
	else
		bad = json_object_set_new(
		    row, "key", json_string(budget_db_read_text(query)));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		bad |= json_object_set_new(
		    row, names[i], json_integer(budget_db_read_number(query)));
	if (sqlite3_column_count(query->statement) > query->read)
		bad |= json_object_set_new(
		    row, "provider", json_string(budget_db_read_text(query)));
	if (bad == 0)
		return row;
	json_decref(row);
	return NULL;
}

enum result
budget_usage_report(struct budget_db *db, enum budget_statement which,
    int64_t since_day, int64_t limit, int64_t offset, json_t **rows_r)
{
	struct budget_query query = budget_db_query(db, which);
	enum result result;

	*rows_r = json_array();
	budget_db_number(&query, since_day);
	budget_db_number(&query, limit);
	budget_db_number(&query, offset);
	while ((result = budget_db_row(&query)) == RESULT_OK)
		if (json_array_append_new(*rows_r, budget_usage_row(&query)) !=
		    0) {
			result = RESULT_NO_MEMORY;
			break;
		}
	budget_db_end(&query);
	if (result == RESULT_NOT_FOUND)
		return RESULT_OK;
	json_decref(*rows_r);
	*rows_r = NULL;
	return result;
}
