/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of usage.db mean: reserving, settling, runs that come, go
 * and die. Called by ledger_budget.c. It must never let a call pass whose
 * amounts do not fit every scope, nor give back what a dead run reserved.
 */
#define BUDGET_INTERNAL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ledger/budget.h"
#include "supervisor/ledger/budget_alive.h"
#include "supervisor/ledger/budget_db.h"
#include "supervisor/ledger/budget_held.h"
#include "supervisor/ledger/budget_sums.h"
#include "supervisor/ledger/budget_usage.h"
#include "supervisor/ledger/budget_vfs.h"

#define BUDGET_PACKAGE_MAX 65U
#define BUDGET_CHARGED_DAYS 8 /* after which sums are forgotten */
#define BUDGET_USAGE_DAYS 400

struct budget {
	struct budget_db db;
	struct budget_alive alive;
	struct budget_held held;
	int64_t now_s, day; /* of this transaction */
};

struct budget_run {
	struct budget *budget;
	int64_t number;
	char package[BUDGET_PACKAGE_MAX];
	struct budget_limits limits;
};

enum result
budget_prepare(void)
{
	return budget_vfs_register();
}

enum result
budget_open(int dir_fd, struct budget **budget_r, struct json_fault *fault)
{
	struct budget *budget = calloc(1, sizeof(*budget));
	enum result result;

	*budget_r = NULL;
	if (budget == NULL)
		return RESULT_NO_MEMORY;
	budget->alive.hold_fd = budget->alive.look_fd = -1;
	budget->held.db = &budget->db;
	result = budget_db_open(&budget->db, dir_fd, BUDGET_FILE, fault);
	if (result == RESULT_OK)
		result =
		    budget_alive_open(&budget->alive, dir_fd, BUDGET_LOCK_FILE);
	if (result == RESULT_OK)
		*budget_r = budget;
	else {
		json_field_fault(
		    fault, BUDGET_LOCK_FILE ": %s", result_text(result));
		budget_free(&budget);
	}
	return result;
}

enum result
budget_renew(struct budget *budget, int dir_fd, struct json_fault *fault)
{
	budget_held_forget(&budget->held);
	budget_db_close(&budget->db);
	return budget_db_open(&budget->db, dir_fd, BUDGET_FILE, fault);
}

void
budget_free(struct budget **budget)
{
	struct budget *gone = *budget;

	*budget = NULL;
	if (gone == NULL)
		return;
	budget_db_close(&gone->db);
	budget_alive_close(&gone->alive);
	free(gone);
}

struct sqlite3 *
budget_handle_borrow(struct budget *budget)
{
	return budget->db.handle;
}

const char *
budget_detail(const struct budget *budget)
{
	return sqlite3_errmsg(budget->db.handle);
}

enum result
budget_begin(struct budget *budget, int64_t now_s)
{
	struct budget_query query =
	    budget_db_query(&budget->db, BUDGET_DB_BEGIN);
	enum result result;

	budget->now_s = now_s > 0 ? now_s : 0;
	budget->day = budget->now_s / BUDGET_FIT_DAY_S;
	result = budget_db_run(&query);
	if (result != RESULT_OK)
		return result;
	result = budget_held_begin(&budget->held);
	if (result != RESULT_OK)
		budget_abort(budget);
	return result == RESULT_NEED_MORE ? RESULT_INTERNAL : result;
}

enum result
budget_commit(struct budget *budget)
{
	struct budget_query query =
	    budget_db_query(&budget->db, BUDGET_DB_COMMIT);
	enum result result = budget_held_write(&budget->held);

	if (result == RESULT_OK)
		result = budget_db_run(&query);
	if (result != RESULT_OK)
		budget_abort(budget);
	else
		budget_held_committed(&budget->held);
	return result;
}

void
budget_abort(struct budget *budget)
{
	budget_held_forget(&budget->held);
	if (sqlite3_get_autocommit(budget->db.handle) == 0)
		(void)sqlite3_exec(
		    budget->db.handle, "ROLLBACK", NULL, NULL, NULL);
}

/* How many calls are open in a scope, those of dead runs among them. */
static enum result
budget_open_calls(struct budget *budget, const struct budget_run *run,
    enum budget_scope scope, int64_t *open_r)
{
	struct budget_query query = budget_db_query(
	    &budget->db, scope == BUDGET_AGENT_DAY ? BUDGET_DB_OPEN_AGENT
						   : BUDGET_DB_OPEN_HOST);
	enum result result = budget_held_write(&budget->held);

	if (result != RESULT_OK)
		return result;
	if (scope == BUDGET_AGENT_DAY)
		budget_db_text(&query, run->package);
	result = budget_db_row(&query);
	if (result == RESULT_OK)
		*open_r = budget_db_read_number(&query);
	budget_db_end(&query);
	return result == RESULT_NOT_FOUND ? RESULT_INTERNAL : result;
}

static enum result budget_sweep(struct budget *budget);

/* *calls: less, when there is no room for so many. */
static enum result
budget_room_in(struct budget *budget, const struct budget_run *run,
    enum budget_scope scope, int64_t *calls, struct budget_refusal *refusal_r)
{
	int64_t limit = run->limits.concurrent[scope], open = 0;
	enum result result;

	if (limit == BUDGET_NO_LIMIT)
		return RESULT_OK;
	result = budget_open_calls(budget, run, scope, &open);
	if (result == RESULT_OK && open >= limit) {
		result = budget_sweep(budget);
		if (result == RESULT_OK)
			result = budget_open_calls(budget, run, scope, &open);
	}
	if (result != RESULT_OK)
		return result;
	if (open >= limit)
		return budget_fit_refuse_open(scope, limit, open, refusal_r);
	*calls = budget_fit_open(limit, open, *calls);
	return RESULT_OK;
}

static enum result
budget_room(struct budget *budget, const struct budget_run *run,
    const struct budget_sums *sums, int64_t *calls,
    struct budget_refusal *refusal_r)
{
	int64_t limit = run->limits.concurrent[BUDGET_RUN];
	enum result result;

	if (limit == BUDGET_NO_LIMIT || limit > BUDGET_OPEN_MAX)
		limit = BUDGET_OPEN_MAX;
	if (sums->open >= limit)
		return budget_fit_refuse_open(
		    BUDGET_RUN, limit, sums->open, refusal_r);
	*calls = budget_fit_open(limit, sums->open, *calls);
	result =
	    budget_room_in(budget, run, BUDGET_AGENT_DAY, calls, refusal_r);
	if (result == RESULT_OK)
		result = budget_room_in(
		    budget, run, BUDGET_HOST_DAY, calls, refusal_r);
	return result;
}

static struct budget_amounts
budget_times(const struct budget_amounts *amounts, int64_t calls)
{
	struct budget_amounts all = *amounts;
	unsigned i;

	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		if (i != BUDGET_COST || all.values[i] != BUDGET_UNKNOWN_COST)
			all.values[i] *= calls;
	return all;
}

static enum result
budget_call_new(struct budget *budget, const struct budget_run *run,
    const struct budget_wish *wish, const struct budget_amounts *all)
{
	struct budget_query query =
	    budget_db_query(&budget->db, BUDGET_DB_CALL_NEW);

	budget_db_number(&query, run->number);
	budget_db_number(&query, wish->call);
	budget_db_number(&query, budget->day);
	budget_db_text(&query, wish->provider);
	budget_db_text(&query, wish->model);
	budget_sums_put_amounts(&query, all);
	budget_db_number(&query, wish->calls);
	return budget_db_run(&query);
}

enum result
budget_reserve(struct budget *budget, const struct budget_run *run,
    struct budget_wish *wish, struct budget_refusal *refusal_r)
{
	struct budget_amounts all;
	struct budget_sums *sums;
	enum result result;

	result = budget_held_sums(
	    &budget->held, run->number, run->package, budget->day, &sums);
	if (result == RESULT_OK)
		result = budget_fit_amounts(
		    &run->limits, sums, &wish->most, budget->now_s, refusal_r);
	if (result == RESULT_OK)
		result =
		    budget_room(budget, run, sums, &wish->calls, refusal_r);
	if (result != RESULT_OK)
		return result;
	wish->calls =
	    budget_fit_calls(&run->limits, sums, &wish->most, wish->calls);
	all = budget_times(&wish->most, wish->calls);
	result = budget_call_new(budget, run, wish, &all);
	if (result != RESULT_OK)
		return result;
	budget_sums_charge(sums, (int)wish->calls, &all, NULL);
	budget_held_change(&budget->held);
	return RESULT_OK;
}

static enum result
budget_call_get(struct budget *budget, const struct budget_run *run,
    int64_t call, struct budget_usage *usage_r,
    struct budget_amounts *reserved_r)
{
	struct budget_query query =
	    budget_db_query(&budget->db, BUDGET_DB_CALL_GET);
	enum result result;

	budget_db_number(&query, run->number);
	budget_db_number(&query, call);
	result = budget_db_row(&query);
	if (result == RESULT_OK)
		budget_usage_of_call(&query, usage_r, reserved_r);
	budget_db_end(&query);
	return result;
}

/* What is left of its row: of calls, each of which reserved the same. */
static enum result
budget_call_keep(struct budget *budget, const struct budget_run *run,
    int64_t call, const struct budget_amounts *each, int64_t calls)
{
	struct budget_amounts rest = budget_times(each, calls);
	struct budget_query query = budget_db_query(
	    &budget->db, calls > 0 ? BUDGET_DB_CALL_SET : BUDGET_DB_CALL_DROP);

	budget_db_number(&query, run->number);
	budget_db_number(&query, call);
	if (calls > 0) {
		budget_sums_put_amounts(&query, &rest);
		budget_db_number(&query, calls);
	}
	return budget_db_run(&query);
}

/* Some calls out of their row. usage_r: of those that were made;
 * *reserved_r: what all of them had reserved. (Two statements: a DELETE that
 * returns what it deleted makes a table for that each time.) */
static enum result
budget_call_take(struct budget *budget, const struct budget_run *run,
    const struct budget_done *done, struct budget_usage *usage_r,
    struct budget_amounts *reserved_r)
{
	int64_t over = done->calls + done->unused, *values = reserved_r->values;
	enum result result =
	    budget_call_get(budget, run, done->call, usage_r, reserved_r);
	unsigned i;

	if (result == RESULT_OK && over > usage_r->calls)
		result = RESULT_NOT_FOUND;
	if (result != RESULT_OK)
		return result;
	for (i = 0; i < BUDGET_AMOUNT_COUNT; i++)
		if (i != BUDGET_COST || values[i] != BUDGET_UNKNOWN_COST)
			values[i] /= usage_r->calls;
	result = budget_call_keep(
	    budget, run, done->call, reserved_r, usage_r->calls - over);
	usage_r->calls = done->calls;
	return result;
}

enum result
budget_settle(struct budget *budget, const struct budget_run *run,
    const struct budget_done *done)
{
	struct budget_amounts reserved, made, used = done->used;
	struct budget_usage usage;
	struct budget_sums *sums;
	enum result result;

	result = budget_call_take(budget, run, done, &usage, &reserved);
	if (result != RESULT_OK)
		return result;
	made = budget_times(&reserved, done->calls);
	reserved = budget_times(&reserved, done->calls + done->unused);
	if (used.values[BUDGET_COST] == BUDGET_UNKNOWN_COST)
		used.values[BUDGET_COST] = made.values[BUDGET_COST];
	budget_usage_put_amounts(&usage, &used);
	usage.served = done->served;
	usage.estimated = done->estimated;
	result = budget_held_sums(
	    &budget->held, run->number, run->package, usage.day, &sums);
	if (result != RESULT_OK)
		return result;
	budget_sums_charge(
	    sums, -(int)(done->calls + done->unused), &used, &reserved);
	budget_held_change(&budget->held);
	return done->calls > 0
		   ? budget_held_use(&budget->held, run->package, &usage)
		   : RESULT_OK;
}

/* What a run has reserved is taken as used: the sums hold it already. */
static enum result
budget_bury(struct budget *budget, int64_t number, const char *package)
{
	struct budget_query calls =
	    budget_db_query(&budget->db, BUDGET_DB_CALLS);
	struct budget_query drop;
	struct budget_amounts reserved;
	struct budget_usage usage;
	enum result result;

	budget_db_number(&calls, number);
	while ((result = budget_db_row(&calls)) == RESULT_OK) {
		budget_usage_of_call(&calls, &usage, &reserved);
		usage.estimated = usage.calls;
		result = budget_held_use(&budget->held, package, &usage);
		if (result != RESULT_OK)
			break;
	}
	budget_db_end(&calls);
	if (result != RESULT_NOT_FOUND)
		return result;
	drop = budget_db_query(&budget->db, BUDGET_DB_CALLS_DROP);
	budget_db_number(&drop, number);
	result = budget_db_run(&drop);
	if (result != RESULT_OK)
		return result;
	drop = budget_db_query(&budget->db, BUDGET_DB_RUN_DROP);
	budget_db_number(&drop, number);
	return budget_db_run(&drop);
}

/* Bury every run that nobody holds. */
static enum result
budget_sweep(struct budget *budget)
{
	char package[BUDGET_PACKAGE_MAX];
	struct budget_query query;
	enum result result;
	int64_t number = 0;

	for (;;) {
		query = budget_db_query(&budget->db, BUDGET_DB_RUNS);
		budget_db_number(&query, number);
		result = budget_db_row(&query);
		if (result == RESULT_OK) {
			number = budget_db_read_number(&query);
			(void)snprintf(package, sizeof(package), "%s",
			    budget_db_read_text(&query));
		}
		budget_db_end(&query);
		if (result == RESULT_OK &&
		    !budget_alive_is_held(&budget->alive, number))
			result = budget_bury(budget, number, package);
		if (result != RESULT_OK)
			return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	}
}

static enum result
budget_forget(
    struct budget *budget, enum budget_statement which, int64_t before)
{
	struct budget_query query = budget_db_query(&budget->db, which);

	budget_db_number(&query, before);
	return budget_db_run(&query);
}

static enum result
budget_run_new(struct budget *budget, const char *name, struct budget_run *run)
{
	struct budget_query query =
	    budget_db_query(&budget->db, BUDGET_DB_RUN_NEW);
	enum result result;

	budget_db_text(&query, name);
	budget_db_text(&query, run->package);
	result = budget_db_run(&query);
	if (result != RESULT_OK)
		return result;
	run->number = sqlite3_last_insert_rowid(budget->db.handle);
	result = budget_alive_take(&budget->alive, run->number);
	if (result == RESULT_OK)
		run->budget = budget;
	return result == RESULT_EXISTS ? RESULT_INTERNAL : result;
}

enum result
budget_run_open(struct budget *budget, const char *name, const char *package,
    const struct budget_limits *limits, struct budget_run **run_r)
{
	struct budget_run *run = calloc(1, sizeof(*run));
	enum result result;

	*run_r = NULL;
	if (run == NULL)
		return RESULT_NO_MEMORY;
	run->limits = *limits;
	(void)snprintf(run->package, sizeof(run->package), "%s", package);
	result = budget_sweep(budget);
	if (result == RESULT_OK)
		result = budget_forget(budget, BUDGET_DB_FORGET_CHARGED,
		    budget->day - BUDGET_CHARGED_DAYS);
	if (result == RESULT_OK)
		result = budget_forget(budget, BUDGET_DB_FORGET_USAGE,
		    budget->day - BUDGET_USAGE_DAYS);
	if (result == RESULT_OK)
		result = budget_run_new(budget, name, run);
	if (result == RESULT_OK)
		*run_r = run;
	else
		budget_run_free(&run);
	return result;
}

enum result
budget_run_close(struct budget *budget, struct budget_run *run)
{
	enum result result = budget_held_write(&budget->held);

	if (result != RESULT_OK)
		return result;
	budget->held.has_sums = false; /* its row goes */
	return budget_bury(budget, run->number, run->package);
}

void
budget_run_free(struct budget_run **run)
{
	struct budget_run *gone = *run;

	*run = NULL;
	if (gone == NULL)
		return;
	if (gone->budget != NULL)
		budget_alive_drop(&gone->budget->alive, gone->number);
	free(gone);
}

enum result
budget_report(struct budget *budget, const struct budget_report_query *query,
    json_t **rows_r)
{
	static const enum budget_statement statements[] = {
	    [BUDGET_BY_DAY] = BUDGET_DB_BY_DAY,
	    [BUDGET_BY_AGENT] = BUDGET_DB_BY_AGENT,
	    [BUDGET_BY_PROVIDER] = BUDGET_DB_BY_PROVIDER,
	    [BUDGET_BY_MODEL] = BUDGET_DB_BY_MODEL,
	};
	enum result result = budget_sweep(budget);

	*rows_r = NULL;
	if (result == RESULT_OK)
		result = budget_held_write(&budget->held);
	if (result != RESULT_OK)
		return result;
	return budget_usage_report(&budget->db, statements[query->by],
	    query->since_day, BUDGET_REPORT_ROWS, query->offset, rows_r);
}
