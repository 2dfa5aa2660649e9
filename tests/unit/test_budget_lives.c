/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.db over time: runs that die, two ledgers, agents that name many
 * models, files that are not ours, what is forgotten, what is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/budget_case.h"
#include "tests/support/budget_one.h"

/* In a process of its own: open a run, reserve, and die without a word. */
static void
test_budget_lives_die(const struct budget_case *test)
{
	struct budget_limits limits = budget_case_no_limits();
	struct json_fault fault = {""};
	struct budget_refusal refusal;
	struct budget_run *run;
	struct budget *budget;

	if (budget_open(test->dir_fd, &budget, &fault) != RESULT_OK)
		_exit(1);
	run = budget_case_run(budget, "dead", "agent", &limits);
	if (budget_case_reserve_at(budget, run, BUDGET_CASE_NOON, 1,
		budget_case_amounts(1, 2, 3, 4, 5), &refusal) != RESULT_OK)
		_exit(1);
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

/* What a dead run reserved counts as used, is no longer open, and its name
 * is free. A living one is left alone. */
static void
test_budget_lives_dead_run(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 0, 0, 0, 0);
	struct budget_refusal refusal;
	struct budget_run *run, *twin;
	int status;
	pid_t pid;

	/* SQLite's own locks do not outlive a fork: the child opens anew. */
	budget_free(&test->budget);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		test_budget_lives_die(test);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	{
		struct json_fault fault = {""};

		assert_int_equal(
		    budget_open(test->dir_fd, &test->budget, &fault),
		    RESULT_OK);
	}
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT open FROM run"), 1);
	limits.concurrent[BUDGET_HOST_DAY] = 1;
	run = budget_case_run(test->budget, "dead", "agent", &limits);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT count(*) FROM run"), 1);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT count(*) FROM call"), 0);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT tokens FROM usage"), 4);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT estimated FROM usage"), 1);
	assert_int_equal(
	    budget_case_ask(test->budget,
		"SELECT tokens FROM charged WHERE package = 'agent'"),
	    4);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_begin(test->budget, BUDGET_CASE_NOON), 0);
	assert_int_equal(
	    budget_run_open(test->budget, "dead", "agent", &limits, &twin),
	    RESULT_EXISTS);
	assert_int_equal(budget_commit(test->budget), RESULT_OK);
	budget_run_free(&run);
}

/* A concurrent limit finds the dead by itself. */
static void
test_budget_lives_dead_in_the_way(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 0, 0, 0, 0);
	struct budget_refusal refusal;
	struct budget_run *run, *dead;

	limits.concurrent[BUDGET_AGENT_DAY] = 1;
	run = budget_case_run(test->budget, "r", "agent", &limits);
	dead = budget_case_run(test->budget, "d", "agent", &limits);
	assert_int_equal(budget_case_reserve_at(test->budget, dead,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_REFUSED);
	budget_run_free(&dead); /* its lock, not its row */
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	budget_run_free(&run);
}

/* Two open files are two ledgers: one writes at a time, both see all. */
static void
test_budget_lives_two(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 0, 0, 0, 0);
	struct json_fault fault = {""};
	struct budget_refusal refusal;
	struct budget_run *run, *other_run;
	struct budget *other;

	limits.values[BUDGET_HOST_DAY][BUDGET_REQUESTS] = 3;
	assert_int_equal(budget_open(test->dir_fd, &other, &fault), RESULT_OK);
	run = budget_case_run(test->budget, "r", "agent", &limits);
	other_run = budget_case_run(other, "o", "agent", &limits);
	assert_int_equal(budget_begin(test->budget, BUDGET_CASE_NOON), 0);
	assert_int_equal(
	    budget_begin(other, BUDGET_CASE_NOON), RESULT_NEED_MORE);
	assert_int_equal(
	    budget_one_reserve(test->budget, run, 1, "p", "m", &some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_commit(test->budget), RESULT_OK);
	assert_int_equal(budget_case_reserve_at(other, other_run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 2, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(other, other_run,
			     BUDGET_CASE_NOON, 2, some, &refusal),
	    RESULT_REFUSED);
	assert_int_equal(refusal.used, 3);
	budget_run_free(&run);
	budget_run_free(&other_run);
	budget_free(&other);
}

/* An agent that names many models makes a bounded number of rows. */
static void
test_budget_lives_many_models(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 1, 1, 1, 1);
	struct budget_refusal refusal;
	struct budget_run *run;
	char model[16];
	int i;

	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(budget_begin(test->budget, BUDGET_CASE_NOON), 0);
	for (i = 0; i < 300; i++) {
		snprintf(model, sizeof(model), "m%d", i);
		assert_int_equal(budget_one_reserve(test->budget, run, i,
				     "openai", model, &some, &refusal),
		    RESULT_OK);
		if (i % 2 == 0)
			assert_int_equal(budget_one_settle(test->budget, run, i,
					     &some, true, false),
			    RESULT_OK);
	}
	assert_int_equal(budget_run_close(test->budget, run), RESULT_OK);
	assert_int_equal(budget_commit(test->budget), RESULT_OK);
	budget_run_free(&run);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT count(*) FROM usage"), 65);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT sum(calls) FROM usage"), 300);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT sum(tokens) FROM usage"),
	    300);
}

static enum result
test_budget_lives_open_over(
    struct budget_case *test, const char *bytes, size_t len)
{
	struct json_fault fault = {""};
	enum result result;
	int fd;

	budget_free(&test->budget);
	unlinkat(test->dir_fd, "usage.db-wal", 0);
	unlinkat(test->dir_fd, "usage.db-shm", 0);
	fd = openat(test->dir_fd, BUDGET_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	result = budget_open(test->dir_fd, &test->budget, &fault);
	if (result != RESULT_OK)
		assert_non_null(strstr(fault.text, "usage"));
	return result;
}

/* Never the defaults, never a new file in the place of a broken one. */
static void
test_budget_lives_broken_files(void **state)
{
	struct budget_case *test = *state;
	struct json_fault fault = {""};
	char bytes[8192];

	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(
	    test_budget_lives_open_over(test, bytes, sizeof(bytes)),
	    RESULT_MISMATCH);
	assert_int_equal(
	    test_budget_lives_open_over(test, bytes, 100), RESULT_MISMATCH);
	/* Empty is new. */
	assert_int_equal(
	    test_budget_lives_open_over(test, bytes, 0), RESULT_OK);
	assert_int_equal(sqlite3_exec(budget_handle_borrow(test->budget),
			     "PRAGMA user_version = 3", NULL, NULL, NULL),
	    SQLITE_OK);
	budget_free(&test->budget);
	assert_int_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_MISMATCH);
	assert_non_null(strstr(fault.text, "version 3"));
	unlinkat(test->dir_fd, BUDGET_FILE, 0);
	assert_int_equal(
	    symlinkat("/etc/passwd", test->dir_fd, BUDGET_FILE), 0);
	assert_int_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_SYSTEM);
	unlinkat(test->dir_fd, BUDGET_FILE, 0);
	assert_int_equal(mkdirat(test->dir_fd, BUDGET_FILE, 0700), 0);
	assert_int_not_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_OK);
	unlinkat(test->dir_fd, BUDGET_FILE, AT_REMOVEDIR);
}

static void
test_budget_lives_forgets(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run;

	assert_int_equal(
	    sqlite3_exec(budget_handle_borrow(test->budget),
		"INSERT INTO charged(day, package) VALUES(19991, ''),"
		" (19992, '');"
		"INSERT INTO usage(day, package, provider, model)"
		" VALUES(19599, 'a', 'p', 'm'), (19600, 'a', 'p', 'm')",
		NULL, NULL, NULL),
	    SQLITE_OK);
	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT min(day) FROM charged"),
	    19992);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT min(day) FROM usage"), 19600);
	budget_run_free(&run);
}

static void
test_budget_lives_report(void **state)
{
	struct budget_case *test = *state;
	struct budget_report_query query = {20001, BUDGET_BY_MODEL, 0};
	json_t *rows;

	assert_int_equal(sqlite3_exec(budget_handle_borrow(test->budget),
			     "INSERT INTO usage VALUES"
			     "(20000,'a','openai','x', 9,9,9,9,9,9,9,9,9),"
			     "(20001,'a','openai','x', 3,2,1,0,3,10,20,30,40),"
			     "(20002,'b','openai','x', 1,1,0,0,1,1,1,1,1),"
			     "(20002,'b','gemini','x', 1,0,0,1,1,5,5,5,0)",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(budget_begin(test->budget, BUDGET_CASE_NOON), 0);
	assert_int_equal(budget_report(test->budget, &query, &rows), RESULT_OK);
	assert_int_equal(json_array_size(rows), 2);
	{
		json_t *row = json_array_get(rows, 1);

		assert_string_equal(
		    json_string_value(json_object_get(row, "provider")),
		    "openai");
		assert_int_equal(
		    json_integer_value(json_object_get(row, "calls")), 4);
		assert_int_equal(
		    json_integer_value(json_object_get(row, "tokens")), 31);
		assert_int_equal(
		    json_integer_value(json_object_get(row, "cost_microusd")),
		    41);
	}
	json_decref(rows);
	query = (struct budget_report_query){0, BUDGET_BY_DAY, 1};
	assert_int_equal(budget_report(test->budget, &query, &rows), RESULT_OK);
	assert_int_equal(json_array_size(rows), 2);
	assert_int_equal(
	    json_integer_value(json_object_get(json_array_get(rows, 0), "key")),
	    20001);
	json_decref(rows);
	assert_int_equal(budget_commit(test->budget), RESULT_OK);
}

int
main(void)
{
#define ROW(name)                        \
	cmocka_unit_test_setup_teardown( \
	    test_budget_lives_##name, budget_case_setup, budget_case_teardown)
	const struct CMUnitTest tests[] = {
	    ROW(dead_run),
	    ROW(dead_in_the_way),
	    ROW(two),
	    ROW(many_models),
	    ROW(broken_files),
	    ROW(forgets),
	    ROW(report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
