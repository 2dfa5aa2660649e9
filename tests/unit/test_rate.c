/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows against a plain list of times; several writers at once;
 * a clock that is set back; files that are not ours.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/ledger/budget.h"
#define RATE_INTERNAL
#include "supervisor/ledger/rate.h"
#include "tests/support/test_folder.h"

#define START INT64_C(1800000000000)

struct test_rate {
	char path[64];
	int dir_fd;
	struct rate *rate;
};

static int64_t test_rate_now = START;

static int64_t
test_rate_clock(void)
{
	return test_rate_now;
}

static int
test_rate_set_up(void **state)
{
	struct test_rate *test = calloc(1, sizeof(*test));
	struct json_fault fault = {""};

	*state = test;
	(void)snprintf(test->path, sizeof(test->path), "/tmp/rate.XXXXXX");
	test_rate_now = START;
	rate_set_clock(test_rate_clock);
	if (test_folder_new(test->path) == NULL ||
	    budget_prepare() != RESULT_OK)
		return -1;
	test->dir_fd = open(test->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return rate_open(test->dir_fd, &test->rate, &fault) == RESULT_OK ? 0
									 : -1;
}

static int
test_rate_tear_down(void **state)
{
	static const char *const names[] = {
	    "rate.db", "rate.db-wal", "rate.db-shm", "rate.db-journal"};
	struct test_rate *test = *state;

	rate_free(&test->rate);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(test->dir_fd, names[i], 0);
	(void)close(test->dir_fd);
	(void)rmdir(test->path);
	free(test);
	return 0;
}

/* --- the plain list ----------------------------------------------------- */

struct test_rate_list {
	int64_t at[20000];
	size_t count;
};

static size_t
test_rate_used(const struct test_rate_list *list, int64_t window)
{
	size_t used = 0;

	for (size_t i = 0; i < list->count; i++)
		used += list->at[i] > test_rate_now - window;
	return used;
}

static bool
test_rate_may(const struct test_rate_list *list, int64_t count,
    const struct rate_limits *limits)
{
	static const int64_t windows[] = {1000, 60000, 3600000};

	for (int i = 0; i < 3; i++) {
		if ((int64_t)test_rate_used(list, windows[i]) + count >
		    limits->most[i])
			return false;
	}
	return true;
}

static void
test_rate_as_the_list_says(void **state)
{
	struct test_rate *test = *state;
	struct rate_limits limits = {{4, 20, 70}};
	struct test_rate_list *list = calloc(1, sizeof(*list));
	struct rate_refusal refusal;
	unsigned allowed = 0, refused = 0;

	srand(7);
	for (int turn = 0; turn < 3000; turn++) {
		int64_t count = rand() % 10 == 0 ? 1 + rand() % 5 : 1;
		bool may;

		test_rate_now +=
		    rand() % 4 == 0 ? rand() % 40000 : rand() % 300;
		may = test_rate_may(list, count, &limits);
		assert_int_equal(
		    rate_take(test->rate, "pack", count, &limits, &refusal),
		    may ? RESULT_OK : RESULT_REFUSED);
		allowed += may;
		refused += !may;
		for (int64_t i = 0; may && i < count; i++)
			list->at[list->count++] = test_rate_now;
		if (may || refusal.retry_ms == 0)
			continue;
		/* Not a moment before, and then there is room there. */
		test_rate_now += refusal.retry_ms - 1;
		assert_false(test_rate_may(list, count, &limits));
		test_rate_now += 1;
	}
	assert_true(allowed > 200);
	assert_true(refused > 200);
	free(list);
}

static void
test_rate_each_window(void **state)
{
	static const struct {
		struct rate_limits limits;
		unsigned window;
		int64_t wait;
	} rows[] = {{{{10, 100, 1000}}, 0, 1000}, {{{20, 10, 1000}}, 1, 60000},
	    {{{20, 20, 10}}, 2, 3600000}};
	struct test_rate *test = *state;
	struct rate_refusal refusal;

	for (size_t i = 0; i < 3; i++) {
		const char *package = rate_window_text(rows[i].window);

		for (int call = 0; call < 10; call++)
			assert_int_equal(rate_take(test->rate, package, 1,
					     &rows[i].limits, &refusal),
			    RESULT_OK);
		assert_int_equal(rate_take(test->rate, package, 1,
				     &rows[i].limits, &refusal),
		    RESULT_REFUSED);
		assert_int_equal(refusal.window, rows[i].window);
		assert_int_equal(refusal.most, 10);
		assert_int_equal(refusal.retry_ms, rows[i].wait);
		/* Another package is not concerned. */
		assert_int_equal(
		    rate_take(test->rate, "other", 1,
			&(struct rate_limits){{99, 99, 99}}, &refusal),
		    RESULT_OK);
	}
}

static void
test_rate_all_or_none(void **state)
{
	struct rate_limits limits = {{5, 100, 1000}};
	struct test_rate *test = *state;
	struct rate_refusal refusal;

	assert_int_equal(
	    rate_take(test->rate, "p", 3, &limits, &refusal), RESULT_OK);
	assert_int_equal(
	    rate_take(test->rate, "p", 3, &limits, &refusal), RESULT_REFUSED);
	assert_int_equal(
	    rate_take(test->rate, "p", 2, &limits, &refusal), RESULT_OK);
	assert_int_equal(
	    rate_take(test->rate, "p", 6, &limits, &refusal), RESULT_REFUSED);
	assert_int_equal(refusal.retry_ms, 0);
}

static void
test_rate_clock_set_back(void **state)
{
	struct rate_limits limits = {{2, 100, 1000}};
	struct test_rate *test = *state;
	struct rate_refusal refusal;

	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    rate_take(test->rate, "p", 1, &limits, &refusal),
		    RESULT_OK);
	test_rate_now -= 86400000;
	assert_int_equal(
	    rate_take(test->rate, "p", 1, &limits, &refusal), RESULT_REFUSED);
	assert_int_equal(refusal.retry_ms, 1000);
	test_rate_now += 1000;
	assert_int_equal(
	    rate_take(test->rate, "p", 1, &limits, &refusal), RESULT_OK);
}

static int
test_rate_writer(const struct test_rate *test)
{
	struct rate_limits limits = {{50, 1000, 1000}};
	struct json_fault fault = {""};
	struct rate_refusal refusal;
	struct rate *rate;
	enum result result;
	int taken = 0;

	do
		result = rate_open(test->dir_fd, &rate, &fault);
	while (result == RESULT_NEED_MORE);
	if (result != RESULT_OK)
		return 200;
	for (int i = 0; i < 30; i++) {
		do
			result = rate_take(rate, "p", 1, &limits, &refusal);
		while (result == RESULT_NEED_MORE);
		if (result != RESULT_OK && result != RESULT_REFUSED)
			return 201;
		taken += result == RESULT_OK;
	}
	rate_free(&rate);
	return taken;
}

/* The clock stands still: 240 tries share one second. */
static void
test_rate_eight_writers(void **state)
{
	struct test_rate *test = *state;
	int status, sum = 0;
	pid_t pids[8];

	rate_free(&test->rate); /* SQLite's locks do not survive a fork */
	for (int i = 0; i < 8; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(test_rate_writer(test));
	}
	for (int i = 0; i < 8; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) < 200);
		sum += WEXITSTATUS(status);
	}
	assert_int_equal(sum, 50);
}

static void
test_rate_foreign_files(void **state)
{
	struct test_rate *test = *state;
	struct json_fault fault = {""};
	int fd;

	rate_free(&test->rate);
	assert_int_equal(fchmodat(test->dir_fd, RATE_FILE, 0644, 0), 0);
	assert_int_equal(
	    rate_open(test->dir_fd, &test->rate, &fault), RESULT_MISMATCH);
	assert_non_null(strstr(fault.text, "nobody else"));
	assert_int_equal(fchmodat(test->dir_fd, RATE_FILE, 0600, 0), 0);
	(void)unlinkat(test->dir_fd, "rate.db-wal", 0);
	(void)unlinkat(test->dir_fd, "rate.db-shm", 0);
	fd = openat(test->dir_fd, RATE_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC);
	for (int i = 0; i < 512; i++)
		assert_int_equal(write(fd, "no database at all ", 19), 19);
	(void)close(fd);
	assert_int_equal(
	    rate_open(test->dir_fd, &test->rate, &fault), RESULT_MISMATCH);
	assert_null(test->rate);
	(void)unlinkat(test->dir_fd, RATE_FILE, 0);
	assert_int_equal(symlinkat("/dev/null", test->dir_fd, RATE_FILE), 0);
	assert_int_equal(
	    rate_open(test->dir_fd, &test->rate, &fault), RESULT_SYSTEM);
}

#define ROW(test)                        \
	cmocka_unit_test_setup_teardown( \
	    test, test_rate_set_up, test_rate_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW(test_rate_as_the_list_says),
	    ROW(test_rate_each_window),
	    ROW(test_rate_all_or_none),
	    ROW(test_rate_clock_set_back),
	    ROW(test_rate_eight_writers),
	    ROW(test_rate_foreign_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
