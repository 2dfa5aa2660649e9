/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders that tests make are gone at their end, however they end; what
 * a child of the test does changes nothing. Called by ctest. It must never
 * leave one itself.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/test_folder.h"

#define TEST_FOLDER_GONE_NAME "/tmp/test_folder_gone_XXXXXX"

static void
test_folder_gone_fill(const char *path)
{
	char inner[128];
	int fd;

	(void)snprintf(inner, sizeof(inner), "%s/a", path);
	assert_int_equal(mkdir(inner, 0700), 0);
	(void)snprintf(inner, sizeof(inner), "%s/a/b", path);
	fd = open(inner, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	(void)snprintf(inner, sizeof(inner), "%s/link", path);
	assert_int_equal(symlink("/etc", inner), 0);
}

/* A test program: makes a folder, tells its name, ends as a failed one. */
static void
test_folder_gone_program(int out)
{
	char path[] = TEST_FOLDER_GONE_NAME;
	pid_t child;

	if (test_folder_new(path) == NULL)
		_exit(1);
	test_folder_gone_fill(path);
	child = fork();
	if (child == 0)
		exit(0);
	(void)waitpid(child, NULL, 0);
	if (access(path, F_OK) != 0 ||
	    write(out, path, sizeof(path)) != sizeof(path))
		_exit(2);
	exit(3);
}

static void
test_folder_gone_ends(void **state)
{
	char path[sizeof(TEST_FOLDER_GONE_NAME)] = "";
	int ends[2], status = 0;
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		test_folder_gone_program(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_int_equal(read(ends[0], path, sizeof(path)), sizeof(path));
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access("/etc/passwd", F_OK), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_folder_gone_ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
