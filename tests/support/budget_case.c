/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of budgets share; see the header.
 */
#include "tests/support/budget_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/budget_one.h"
#include "tests/support/test_folder.h"

int
budget_case_setup(void **state)
{
	struct budget_case *test = calloc(1, sizeof(*test));
	struct json_fault fault = {""};

	assert_int_equal(budget_prepare(), RESULT_OK);
	snprintf(test->path, sizeof(test->path), "/tmp/test_budget_XXXXXX");
	assert_non_null(test_folder_new(test->path));
	test->dir_fd = open(test->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(
	    budget_open(test->dir_fd, &test->budget, &fault), RESULT_OK);
	*state = test;
	return 0;
}

static int
budget_case_remove(
    const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

int
budget_case_teardown(void **state)
{
	struct budget_case *test = *state;
	int result;

	budget_free(&test->budget);
	close(test->dir_fd);
	result = nftw(test->path, budget_case_remove, 8, FTW_DEPTH | FTW_PHYS);
	free(test);
	return result;
}

struct budget_limits
budget_case_no_limits(void)
{
	struct budget_limits limits;
	struct json_fault fault = {""};
	json_t *empty = json_object();

	budget_limits_read(empty, "limits", &limits, &fault);
	assert_string_equal(fault.text, "");
	json_decref(empty);
	return limits;
}

struct budget_run *
budget_case_run(struct budget *budget, const char *name, const char *package,
    const struct budget_limits *limits)
{
	struct budget_run *run;

	assert_int_equal(budget_begin(budget, BUDGET_CASE_NOON), RESULT_OK);
	assert_int_equal(
	    budget_run_open(budget, name, package, limits, &run), RESULT_OK);
	assert_int_equal(budget_commit(budget), RESULT_OK);
	return run;
}

struct budget_amounts
budget_case_amounts(int64_t requests, int64_t input, int64_t output,
    int64_t tokens, int64_t cost)
{
	struct budget_amounts amounts = {
	    {requests, input, output, tokens, cost}};

	return amounts;
}

enum result
budget_case_reserve_at(struct budget *budget, struct budget_run *run,
    int64_t now, int64_t call, struct budget_amounts most,
    struct budget_refusal *refusal)
{
	enum result result;

	memset(refusal, 0, sizeof(*refusal));
	assert_int_equal(budget_begin(budget, now), RESULT_OK);
	result = budget_one_reserve(
	    budget, run, call, "openai", "gpt-4o-mini", &most, refusal);
	assert_int_equal(budget_commit(budget), RESULT_OK);
	return result;
}

enum result
budget_case_settle(struct budget *budget, struct budget_run *run, int64_t call,
    struct budget_amounts used)
{
	enum result result;

	assert_int_equal(budget_begin(budget, BUDGET_CASE_NOON), RESULT_OK);
	result = budget_one_settle(budget, run, call, &used, true, false);
	assert_int_equal(budget_commit(budget), RESULT_OK);
	return result;
}

int64_t
budget_case_ask(struct budget *budget, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(budget_handle_borrow(budget), sql,
			     -1, &statement, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}
