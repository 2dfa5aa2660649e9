/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations for several calls: how many are granted, that they are settled
 * in parts, what stays of them when their run dies, and a file of the version
 * that knew one call a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "supervisor/ledger/budget_usage.h"
#include "tests/support/budget_case.h"

static const struct budget_amounts test_budget_ahead_most = {
    {1, 10, 100, 50, 7}};

/* How many of calls are granted; 0: refused. */
static int64_t
test_budget_ahead_reserve(
    struct budget *budget, struct budget_run *run, int64_t call, int64_t calls)
{
	struct budget_wish wish = {
	    call, "p", "m", test_budget_ahead_most, calls};
	struct budget_refusal refusal;
	enum result result;

	assert_int_equal(budget_begin(budget, BUDGET_CASE_NOON), RESULT_OK);
	result = budget_reserve(budget, run, &wish, &refusal);
	assert_int_equal(budget_commit(budget), RESULT_OK);
	assert_true(result == RESULT_OK || result == RESULT_REFUSED);
	return result == RESULT_OK ? wish.calls : 0;
}

static enum result
test_budget_ahead_settle(struct budget *budget, struct budget_run *run,
    int64_t call, int64_t calls, int64_t unused, int64_t cost)
{
	const struct budget_done done = {call, calls, unused, calls, calls / 2,
	    {{calls, calls * 10, calls * 20, calls * 5, cost}}};
	enum result result;

	assert_int_equal(budget_begin(budget, BUDGET_CASE_NOON), RESULT_OK);
	result = budget_settle(budget, run, &done);
	assert_int_equal(budget_commit(budget), RESULT_OK);
	return result;
}

static int64_t
test_budget_ahead_ask(struct budget *budget, const char *column)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "SELECT %s", column);
	return budget_case_ask(budget, sql);
}

/* A sixteenth of what is left, in the scope and amount that has least. */
static void
test_budget_ahead_granted(void **state)
{
	struct budget *budget = ((struct budget_case *)*state)->budget;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run = budget_case_run(budget, "free", "a", &limits);

	assert_int_equal(test_budget_ahead_reserve(budget, run, 1, 64), 64);
	budget_run_free(&run);
	limits.values[BUDGET_HOST_DAY][BUDGET_REQUESTS] = 64 + 160;
	run = budget_case_run(budget, "host", "a", &limits);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 1, 64), 10);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 2, 64), 9);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 3, 1), 1);
	budget_run_free(&run);
	limits = budget_case_no_limits();
	limits.values[BUDGET_RUN][BUDGET_REQUESTS] = 20;
	run = budget_case_run(budget, "run", "a", &limits);
	for (int64_t call = 1; call <= 20; call++)
		assert_int_equal(
		    test_budget_ahead_reserve(budget, run, call, 64), 1);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 21, 64), 0);
	budget_run_free(&run);
	limits.values[BUDGET_RUN][BUDGET_REQUESTS] = BUDGET_NO_LIMIT;
	limits.values[BUDGET_AGENT_DAY][BUDGET_TOKENS] = 50 * 16 * 3 + 49;
	run = budget_case_run(budget, "tokens", "b", &limits);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 1, 64), 3);
	budget_run_free(&run);
}

static void
test_budget_ahead_concurrent(void **state)
{
	struct budget *budget = ((struct budget_case *)*state)->budget;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run;

	limits.concurrent[BUDGET_RUN] = 4;
	run = budget_case_run(budget, "four", "a", &limits);
	for (int64_t call = 1; call <= 4; call++)
		assert_int_equal(
		    test_budget_ahead_reserve(budget, run, call, 64), 1);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 5, 64), 0);
	budget_run_free(&run);
	limits = budget_case_no_limits();
	limits.concurrent[BUDGET_HOST_DAY] = 4 + 64;
	run = budget_case_run(budget, "host", "a", &limits);
	assert_int_equal(test_budget_ahead_reserve(budget, run, 1, 64), 4);
	budget_run_free(&run);
}

/* In parts, with what will not be called, down to nothing. */
static void
test_budget_ahead_settled(void **state)
{
	struct budget *budget = ((struct budget_case *)*state)->budget;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run = budget_case_run(budget, "r", "a", &limits);

	assert_int_equal(test_budget_ahead_reserve(budget, run, 1, 16), 16);
	assert_int_equal(test_budget_ahead_ask(budget, "open FROM run"), 16);
	assert_int_equal(
	    test_budget_ahead_ask(budget, "output_chars FROM run"), 1600);
	assert_int_equal(
	    test_budget_ahead_settle(budget, run, 1, 6, 0, 12), RESULT_OK);
	assert_int_equal(test_budget_ahead_ask(budget, "open FROM run"), 10);
	assert_int_equal(test_budget_ahead_ask(
			     budget, "calls * 100000 + output_chars FROM call"),
	    1001000);
	assert_int_equal(
	    test_budget_ahead_ask(budget, "output_chars FROM run"), 1120);
	assert_int_equal(
	    test_budget_ahead_ask(budget, "cost FROM run"), 70 + 12);
	/* An unknown cost keeps what was reserved for the two. */
	assert_int_equal(
	    test_budget_ahead_settle(budget, run, 1, 2, 3, BUDGET_UNKNOWN_COST),
	    RESULT_OK);
	assert_int_equal(
	    test_budget_ahead_ask(budget, "cost FROM run"), 35 + 12 + 14);
	assert_int_equal(test_budget_ahead_settle(budget, run, 1, 5, 1, 0),
	    RESULT_NOT_FOUND);
	assert_int_equal(
	    test_budget_ahead_settle(budget, run, 1, 0, 5, 0), RESULT_OK);
	assert_int_equal(
	    test_budget_ahead_ask(budget, "count(*) FROM call"), 0);
	assert_int_equal(test_budget_ahead_ask(budget, "open FROM run"), 0);
	assert_int_equal(test_budget_ahead_ask(budget, "requests FROM run"), 8);
	assert_int_equal(test_budget_ahead_ask(budget, "cost FROM run"), 26);
	assert_int_equal(test_budget_ahead_ask(budget,
			     "calls * 10000 + served * 100 + estimated * 10"
			     " + unpriced FROM usage"),
	    80840);
	assert_int_equal(test_budget_ahead_settle(budget, run, 1, 1, 0, 0),
	    RESULT_NOT_FOUND);
	budget_run_free(&run);
}

/* What nobody knows of any more stays charged, unused or not. */
static void
test_budget_ahead_dead(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct json_fault fault = {""};
	struct budget_run *run, *next;
	struct budget *other;

	assert_int_equal(budget_open(test->dir_fd, &other, &fault), RESULT_OK);
	run = budget_case_run(other, "r", "a", &limits);
	assert_int_equal(test_budget_ahead_reserve(other, run, 1, 8), 8);
	assert_int_equal(
	    test_budget_ahead_settle(other, run, 1, 3, 0, 0), RESULT_OK);
	budget_run_free(&run);
	budget_free(&other);
	next = budget_case_run(test->budget, "n", "a", &limits);
	assert_int_equal(
	    test_budget_ahead_ask(test->budget, "count(*) FROM call"), 0);
	assert_int_equal(test_budget_ahead_ask(test->budget,
			     "requests FROM charged WHERE package = ''"),
	    8);
	assert_int_equal(
	    test_budget_ahead_ask(test->budget,
		"calls * 10000 + served * 100 + estimated FROM usage"),
	    80306);
	budget_run_free(&next);
}

/* A file of version 1, with a call that its ledger left open. */
static void
test_budget_ahead_version(void **state)
{
	static const char older[] =
	    "DROP TABLE call; CREATE TABLE call(run INTEGER NOT NULL,"
	    " id INTEGER NOT NULL, day INTEGER NOT NULL, provider TEXT NOT"
	    " NULL, model TEXT NOT NULL, requests INTEGER NOT NULL DEFAULT 0,"
	    " input_chars INTEGER NOT NULL DEFAULT 0, output_chars INTEGER"
	    " NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, cost"
	    " INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(run, id)) WITHOUT"
	    " ROWID; INSERT INTO run(id, name, package, open, requests, tokens)"
	    " VALUES(9, 'old', 'a', 1, 3, 60);"
	    "INSERT INTO call VALUES(9, 1, 20000, 'p', 'm', 3, 0, 0, 60, -1);"
	    "PRAGMA user_version = 1";
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct json_fault fault = {""};
	struct budget_run *run;

	assert_int_equal(sqlite3_exec(budget_handle_borrow(test->budget), older,
			     NULL, NULL, NULL),
	    SQLITE_OK);
	budget_free(&test->budget);
	assert_int_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(test->budget, "PRAGMA user_version"), 2);
	assert_int_equal(
	    test_budget_ahead_ask(test->budget, "calls FROM call"), 1);
	run = budget_case_run(test->budget, "r", "a", &limits);
	assert_int_equal(
	    test_budget_ahead_ask(test->budget,
		"calls * 10000 + estimated * 1000 + unpriced * 100 + tokens"
		" FROM usage"),
	    11160);
	assert_int_equal(test_budget_ahead_reserve(test->budget, run, 1, 8), 8);
	budget_run_free(&run);
	budget_free(&test->budget);
	assert_int_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_OK);
}

#define TEST_BUDGET_AHEAD(name)          \
	cmocka_unit_test_setup_teardown( \
	    name, budget_case_setup, budget_case_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST_BUDGET_AHEAD(test_budget_ahead_granted),
	    TEST_BUDGET_AHEAD(test_budget_ahead_concurrent),
	    TEST_BUDGET_AHEAD(test_budget_ahead_settled),
	    TEST_BUDGET_AHEAD(test_budget_ahead_dead),
	    TEST_BUDGET_AHEAD(test_budget_ahead_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
