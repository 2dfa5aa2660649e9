/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several calls in one transaction, of several runs and models: what is held
 * back until the commit adds up to what single transactions give, is gone
 * after an abort, and is not trusted when another ledger wrote.
 */
#define BUDGET_INTERNAL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "supervisor/ledger/rate.h"
#include "tests/support/budget_case.h"
#include "tests/support/budget_one.h"

static const struct budget_amounts test_budget_batch_most = {
    {1, 10, 100, 50, 7}};
static const struct budget_amounts test_budget_batch_used = {
    {1, 10, 20, 5, BUDGET_UNKNOWN_COST}};

static void
test_budget_batch_begin(struct budget *budget)
{
	assert_int_equal(budget_begin(budget, BUDGET_CASE_NOON), RESULT_OK);
}

static void
test_budget_batch_reserve(struct budget *budget, struct budget_run *run,
    int64_t call, const char *model)
{
	struct budget_refusal refusal;

	assert_int_equal(budget_one_reserve(budget, run, call, "p", model,
			     &test_budget_batch_most, &refusal),
	    RESULT_OK);
}

static void
test_budget_batch_settle(
    struct budget *budget, struct budget_run *run, int64_t call)
{
	assert_int_equal(budget_one_settle(budget, run, call,
			     &test_budget_batch_used, call % 2 == 0, call == 3),
	    RESULT_OK);
}

/* Two runs of two agents, two models, reserve and settle mixed. */
static void
test_budget_batch_mixed(void **state)
{
	struct budget *budget = ((struct budget_case *)*state)->budget;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *a = budget_case_run(budget, "a", "one", &limits);
	struct budget_run *b = budget_case_run(budget, "b", "two", &limits);

	test_budget_batch_begin(budget);
	for (int64_t call = 1; call <= 4; call++) {
		test_budget_batch_reserve(
		    budget, a, call, call < 3 ? "m1" : "m2");
		test_budget_batch_reserve(budget, b, call, "m1");
		if (call > 1)
			test_budget_batch_settle(budget, a, call - 1);
	}
	assert_int_equal(budget_one_settle(budget, a, 99,
			     &test_budget_batch_used, true, false),
	    RESULT_NOT_FOUND);
	assert_int_equal(budget_commit(budget), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(budget, "SELECT count(*) FROM call"), 5);
	assert_int_equal(
	    budget_case_ask(budget, "SELECT open FROM run WHERE name = 'a'"),
	    1);
	/* three settled with 20, one reserved with 100 */
	assert_int_equal(budget_case_ask(budget,
			     "SELECT output_chars FROM run WHERE name = 'a'"),
	    160);
	assert_int_equal(
	    budget_case_ask(
		budget, "SELECT output_chars FROM charged WHERE package = ''"),
	    560);
	/* An unknown cost keeps what was reserved for it. */
	assert_int_equal(budget_case_ask(budget,
			     "SELECT cost FROM charged WHERE package = 'one'"),
	    28);
	assert_int_equal(
	    budget_case_ask(budget,
		"SELECT calls * 100 + served * 10 + estimated FROM usage"
		" WHERE model = 'm1'"),
	    210);
	assert_int_equal(
	    budget_case_ask(budget,
		"SELECT calls * 100 + served * 10 + estimated FROM usage"
		" WHERE model = 'm2'"),
	    101);
	budget_run_free(&a);
	budget_run_free(&b);
}

/* What an aborted transaction held is not there for the next one. */
static void
test_budget_batch_abort(void **state)
{
	struct budget *budget = ((struct budget_case *)*state)->budget;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run = budget_case_run(budget, "a", "one", &limits);

	test_budget_batch_begin(budget);
	test_budget_batch_reserve(budget, run, 1, "m1");
	assert_int_equal(budget_commit(budget), RESULT_OK);
	test_budget_batch_begin(budget);
	test_budget_batch_reserve(budget, run, 2, "m1");
	test_budget_batch_settle(budget, run, 1);
	budget_abort(budget);
	test_budget_batch_begin(budget);
	test_budget_batch_reserve(budget, run, 3, "m1");
	assert_int_equal(budget_commit(budget), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(budget, "SELECT output_chars FROM run"), 200);
	assert_int_equal(
	    budget_case_ask(budget, "SELECT count(*) FROM usage"), 0);
	budget_run_free(&run);
}

/* Two ledgers in turns: each sees what the other charged. */
static void
test_budget_batch_two(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *mine, *theirs;
	struct json_fault fault = {""};
	struct budget *other;

	assert_int_equal(budget_open(test->dir_fd, &other, &fault), RESULT_OK);
	mine = budget_case_run(test->budget, "a", "one", &limits);
	theirs = budget_case_run(other, "b", "one", &limits);
	for (int64_t call = 1; call <= 5; call++) {
		test_budget_batch_begin(test->budget);
		test_budget_batch_reserve(test->budget, mine, call, "m1");
		assert_int_equal(budget_commit(test->budget), RESULT_OK);
		test_budget_batch_begin(other);
		test_budget_batch_reserve(other, theirs, call, "m1");
		assert_int_equal(budget_commit(other), RESULT_OK);
	}
	assert_int_equal(
	    budget_case_ask(other,
		"SELECT output_chars FROM charged WHERE package = 'one'"),
	    1000);
	assert_int_equal(budget_case_ask(other,
			     "SELECT requests FROM charged WHERE package = ''"),
	    10);
	budget_run_free(&mine);
	budget_run_free(&theirs);
	budget_free(&other);
}

/* A run that closes in the batch in which it called. */
static void
test_budget_batch_close(void **state)
{
	struct budget *budget = ((struct budget_case *)*state)->budget;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run = budget_case_run(budget, "a", "one", &limits);
	struct budget_run *next = budget_case_run(budget, "b", "one", &limits);

	test_budget_batch_begin(budget);
	test_budget_batch_reserve(budget, run, 1, "m1");
	test_budget_batch_reserve(budget, run, 2, "m1");
	test_budget_batch_settle(budget, run, 2);
	assert_int_equal(budget_run_close(budget, run), RESULT_OK);
	test_budget_batch_reserve(budget, next, 1, "m1");
	assert_int_equal(budget_commit(budget), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(budget,
		"SELECT output_chars FROM charged WHERE package = 'one'"),
	    220);
	assert_int_equal(budget_case_ask(budget,
			     "SELECT calls * 1000 + output_chars FROM usage"),
	    2120);
	budget_run_free(&run);
	budget_run_free(&next);
}

/* Is the log of usage.db the one whose commits are one write (budget_wal.h),
 * also where another log was opened before: rate.c has one in the same
 * process. The database itself is written as SQLite's "unix" does it. */
static void
test_budget_batch_log(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct json_fault fault = {""};
	sqlite3_file *file, *log;
	struct budget_run *run;
	struct rate *rate;
	sqlite3 *handle;

	budget_free(&test->budget);
	assert_int_equal(rate_open(test->dir_fd, &rate, &fault), RESULT_OK);
	assert_int_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_OK);
	run = budget_case_run(test->budget, "a", "one", &limits);
	handle = budget_handle_borrow(test->budget);
	assert_int_equal(sqlite3_file_control(
			     handle, NULL, SQLITE_FCNTL_FILE_POINTER, &file),
	    SQLITE_OK);
	assert_int_equal(sqlite3_file_control(
			     handle, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log),
	    SQLITE_OK);
	assert_true(log->pMethods->xWrite != file->pMethods->xWrite);
	budget_run_free(&run);
	rate_free(&rate);
}

#define TEST_BUDGET_BATCH(name)          \
	cmocka_unit_test_setup_teardown( \
	    name, budget_case_setup, budget_case_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST_BUDGET_BATCH(test_budget_batch_mixed),
	    TEST_BUDGET_BATCH(test_budget_batch_abort),
	    TEST_BUDGET_BATCH(test_budget_batch_two),
	    TEST_BUDGET_BATCH(test_budget_batch_close),
	    TEST_BUDGET_BATCH(test_budget_batch_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
