/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command left in directories is counted: no link is followed, and
 * what cannot be looked at is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/init/init_below.h"
#include "tests/support/test_folder.h"

static char base[] = "/tmp/init_below.XXXXXX";
static int top = -1;

static void
file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

static int
setup(void **state)
{
	(void)state;
	if (test_folder_new(base) == NULL)
		return -1;
	top = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top >= 0 ? 0 : -1;
}

static void
names_that_are_no_directory(void **state)
{
	struct init_below below = {0};

	(void)state;
	assert_int_equal(mkdirat(top, "a", 0700), 0);
	assert_int_equal(mkdirat(top, "a/b", 0700), 0);
	assert_int_equal(mkdirat(top, "a/empty", 0700), 0);
	file(top, "a/1");
	file(top, "a/b/2");
	assert_int_equal(symlinkat("/", top, "a/b/out"), 0);
	assert_int_equal(symlinkat("..", top, "a/b/loop"), 0);
	assert_int_equal(mkfifoat(top, "a/b/pipe", 0600), 0);
	init_below_count(top, "a", &below);
	assert_int_equal(below.count, 5);
	assert_int_equal(below.names, 7);
	assert_false(below.cut);
	init_below_count(top, "a/empty", &below);
	assert_int_equal(below.count, 0);
	assert_int_equal(below.names, 7);
	assert_false(below.cut);
}

static void
what_is_not_looked_at(void **state)
{
	struct init_below below = {0};
	int dir = dup(top);

	(void)state;
	/* A link is no directory, and one that is not there is none. */
	assert_int_equal(symlinkat("a", top, "link"), 0);
	init_below_count(top, "link", &below);
	assert_true(below.cut && below.count == 0);
	init_below_count(top, "gone", &below);
	assert_true(below.cut && below.count == 0);
	/* Deeper than the bound: what is above is counted. */
	for (unsigned i = 0; i < INIT_BELOW_DEPTH_MAX + 2; i++) {
		int next;

		assert_int_equal(mkdirat(dir, "deep", 0700), 0);
		next = openat(dir, "deep", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		file(next, "f");
		(void)close(dir);
		dir = next;
	}
	(void)close(dir);
	init_below_count(top, "deep", &below);
	assert_true(below.cut);
	assert_int_equal(below.count, INIT_BELOW_DEPTH_MAX);
	/* The names of one run have an end, whatever the directory. */
	below.names = INIT_BELOW_NAMES_MAX - 1;
	init_below_count(top, "a", &below);
	assert_true(below.cut);
	assert_int_equal(below.names, INIT_BELOW_NAMES_MAX);
	/* Another file system is not entered. */
	memset(&below, 0, sizeof(below));
	init_below_count(top, "/proc/self", &below);
	assert_true(below.cut && below.names == 0);
}

static int
drop(int dir, const char *name)
{
	static const char *const names[] = {"deep/f", "a/b/2", "a/b/out",
	    "a/b/loop", "a/b/pipe", "a/1", "link"};
	int next = openat(dir, "deep", O_RDONLY | O_DIRECTORY);

	if (next >= 0) {
		(void)drop(next, "deep");
		(void)close(next);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(dir, names[i], 0);
	return unlinkat(dir, name, AT_REMOVEDIR);
}

static int
teardown(void **state)
{
	(void)state;
	(void)drop(top, "deep");
	(void)unlinkat(top, "a/b", AT_REMOVEDIR);
	(void)unlinkat(top, "a/empty", AT_REMOVEDIR);
	(void)unlinkat(top, "a", AT_REMOVEDIR);
	(void)close(top);
	return rmdir(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_that_are_no_directory),
	    cmocka_unit_test(what_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
