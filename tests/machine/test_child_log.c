/* SPDX-License-Identifier: Apache-2.0 */
/* i11_everything_is_bounded: a log that is full is rotated while its process
 * runs, and the process gets the new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/child_log.h"
#include "supervisor/policy/log_files.h"
#include "tests/support/test_folder.h"

#define TEST_NAME "agentnode-gate"

struct test_child_log {
	struct event_base *base;
	enum result answer; /* of the process */
	unsigned calls;
	struct stat given;
};

static enum result
test_child_log_replace(int fd, void *context)
{
	struct test_child_log *test = context;

	test->calls++;
	assert_int_equal(fstat(fd, &test->given), 0);
	event_loop_stop(test->base);
	return test->answer;
}

static int
test_child_log_remove(
    const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void
test_child_log_rotates(void **state)
{
	char home[] = "/tmp/agentnode-test-XXXXXX", path[128];
	struct test_child_log test = {.answer = RESULT_NEED_MORE};
	struct json_fault fault = {""};
	struct child_log *log;
	struct stat before, aside;
	int fd;

	(void)state;
	assert_non_null(test_folder_new(home));
	assert_int_equal(setenv("AGENTNODE_HOME", home, 1), 0);
	assert_int_equal(event_loop_new(&test.base), RESULT_OK);
	assert_int_equal(
	    log_files_open(home, TEST_NAME, &fd, &fault), RESULT_OK);
	assert_int_equal(child_log_new(test.base, fd, TEST_NAME,
			     test_child_log_replace, &test, &log),
	    RESULT_OK);
	assert_int_equal(ftruncate(fd, LOG_FILES_SIZE_MAX), 0);
	assert_int_equal(fstat(fd, &before), 0);
	/* A process that cannot take it now is asked again. */
	assert_int_equal(event_loop_run(test.base), RESULT_OK);
	test.answer = RESULT_OK;
	assert_int_equal(event_loop_run(test.base), RESULT_OK);
	assert_int_equal(test.calls, 2);
	assert_int_not_equal(test.given.st_ino, before.st_ino);
	assert_int_equal(test.given.st_size, 0);
	(void)snprintf(
	    path, sizeof(path), "%s/log/" TEST_NAME ".jsonl.1", home);
	assert_int_equal(stat(path, &aside), 0);
	assert_int_equal(aside.st_ino, before.st_ino);
	child_log_free(&log);
	fd_close(&fd);
	event_base_free(test.base);
	assert_int_equal(
	    nftw(home, test_child_log_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_child_log_rotates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
