/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of usage.db over a file that remembers what was done with it: a
 * commit is one write, all of it before the last page is answered for, and
 * a fault of it is the fault of that page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/ledger/budget_wal.h"

#define PAGE 1024
#define FRAME (24 + PAGE)
#define FRAMES_MAX 40

static char test_budget_wal_disk[FRAMES_MAX * FRAME];
static char test_budget_wal_said[512]; /* a letter for each call */
static int test_budget_wal_code;       /* of the next write */
static struct sqlite3_file test_budget_wal_file;

static void
test_budget_wal_say(const char *what)
{
	strcat(test_budget_wal_said, what);
}

static int
test_budget_wal_on_write(
    sqlite3_file *file, const void *bytes, int amount, sqlite3_int64 offset)
{
	int code = test_budget_wal_code;

	assert_ptr_equal(file, &test_budget_wal_file);
	test_budget_wal_say("w");
	test_budget_wal_code = SQLITE_OK;
	if (code == SQLITE_OK)
		memcpy(test_budget_wal_disk + offset, bytes, (size_t)amount);
	return code;
}

static int
test_budget_wal_on_read(
    sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset)
{
	(void)file;
	test_budget_wal_say("r");
	memcpy(bytes, test_budget_wal_disk + offset, (size_t)amount);
	return SQLITE_OK;
}

static int
test_budget_wal_on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file;
	(void)size;
	test_budget_wal_say("t");
	return SQLITE_OK;
}

static int
test_budget_wal_on_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	test_budget_wal_say("s");
	return SQLITE_OK;
}

static int
test_budget_wal_on_size(sqlite3_file *file, sqlite3_int64 *size_r)
{
	(void)file;
	*size_r = 0;
	test_budget_wal_say("z");
	return SQLITE_OK;
}

static int
test_budget_wal_on_close(sqlite3_file *file)
{
	(void)file;
	test_budget_wal_say("c");
	return SQLITE_OK;
}

static const struct sqlite3_io_methods test_budget_wal_methods = {
    .xClose = test_budget_wal_on_close,
    .xRead = test_budget_wal_on_read,
    .xWrite = test_budget_wal_on_write,
    .xTruncate = test_budget_wal_on_truncate,
    .xSync = test_budget_wal_on_sync,
    .xFileSize = test_budget_wal_on_size,
};

static int
test_budget_wal_open(void **state)
{
	(void)state;
	memset(test_budget_wal_disk, 0, sizeof(test_budget_wal_disk));
	test_budget_wal_said[0] = '\0';
	test_budget_wal_code = SQLITE_OK;
	test_budget_wal_file.pMethods = &test_budget_wal_methods;
	budget_wal_take(&test_budget_wal_file);
	assert_ptr_not_equal(
	    test_budget_wal_file.pMethods, &test_budget_wal_methods);
	return 0;
}

static int
test_budget_wal_end(void **state)
{
	(void)state;
	return test_budget_wal_file.pMethods->xClose(&test_budget_wal_file);
}

static int
test_budget_wal_put(const void *bytes, int amount, sqlite3_int64 offset)
{
	return test_budget_wal_file.pMethods->xWrite(
	    &test_budget_wal_file, bytes, amount, offset);
}

/* A frame at a place; its page is full of mark. The result of the page. */
static int
test_budget_wal_frame(unsigned place, char mark, bool commit)
{
	char header[24] = {0, 0, 0, 9}, page[PAGE];

	header[6] = (char)(commit ? 1 : 0); /* 256 pages */
	memset(page, mark, sizeof(page));
	if (test_budget_wal_put(header, sizeof(header), place * FRAME) !=
	    SQLITE_OK)
		return SQLITE_ERROR;
	return test_budget_wal_put(page, PAGE, place * FRAME + 24);
}

static char
test_budget_wal_mark(unsigned place)
{
	return test_budget_wal_disk[place * FRAME + FRAME - 1];
}

static void
test_budget_wal_commit(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
		    test_budget_wal_frame(i, (char)('a' + i), false),
		    SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "");
	assert_int_equal(test_budget_wal_frame(3, 'd', true), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "w");
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(test_budget_wal_mark(i), 'a' + i);
	assert_int_equal(test_budget_wal_frame(4, 'e', true), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "ww");
	assert_int_equal(test_budget_wal_mark(4), 'e');
}

static void
test_budget_wal_fault(void **state)
{
	(void)state;
	assert_int_equal(test_budget_wal_frame(0, 'a', false), SQLITE_OK);
	test_budget_wal_code = SQLITE_FULL;
	assert_int_equal(test_budget_wal_frame(1, 'b', true), SQLITE_FULL);
	assert_int_equal(test_budget_wal_mark(0), 0);
	/* Nothing of it comes back. */
	assert_int_equal(test_budget_wal_frame(0, 'c', true), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "ww");
	assert_int_equal(test_budget_wal_mark(0), 'c');
	assert_int_equal(test_budget_wal_mark(1), 0);
}

/* What was given up is written before what takes its place; a fault of it is
 * told by the next. */
static void
test_budget_wal_again(void **state)
{
	(void)state;
	assert_int_equal(test_budget_wal_frame(0, 'a', false), SQLITE_OK);
	assert_int_equal(test_budget_wal_frame(1, 'b', false), SQLITE_OK);
	assert_int_equal(test_budget_wal_frame(0, 'c', true), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "ww");
	assert_int_equal(test_budget_wal_mark(0), 'c');
	assert_int_equal(test_budget_wal_mark(1), 'b');
	assert_int_equal(test_budget_wal_frame(5, 'd', false), SQLITE_OK);
	test_budget_wal_code = SQLITE_FULL;
	assert_int_equal(test_budget_wal_frame(0, 'e', true), SQLITE_ERROR);
}

/* A page that is written again in its place, and the header of the log. */
static void
test_budget_wal_other(void **state)
{
	char page[PAGE], header[32] = {1};

	(void)state;
	memset(page, 'x', sizeof(page));
	assert_int_equal(test_budget_wal_frame(0, 'a', false), SQLITE_OK);
	assert_int_equal(test_budget_wal_frame(1, 'b', false), SQLITE_OK);
	assert_int_equal(test_budget_wal_put(page, PAGE, 24), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "ww");
	assert_int_equal(test_budget_wal_mark(0), 'x');
	assert_int_equal(
	    test_budget_wal_put(header, sizeof(header), 0), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "www");
	assert_int_equal(test_budget_wal_disk[0], 1);
}

/* Nobody else sees a file without what is kept. */
static void
test_budget_wal_whole(void **state)
{
	const struct sqlite3_io_methods *methods =
	    test_budget_wal_file.pMethods;
	sqlite3_int64 size;
	char byte = 0;

	(void)state;
	assert_int_equal(test_budget_wal_frame(0, 'a', false), SQLITE_OK);
	assert_int_equal(
	    methods->xRead(&test_budget_wal_file, &byte, 1, FRAME - 1),
	    SQLITE_OK);
	assert_int_equal(byte, 'a');
	assert_int_equal(test_budget_wal_frame(1, 'b', false), SQLITE_OK);
	assert_int_equal(methods->xSync(&test_budget_wal_file, 2), SQLITE_OK);
	assert_int_equal(test_budget_wal_frame(2, 'c', false), SQLITE_OK);
	assert_int_equal(
	    methods->xFileSize(&test_budget_wal_file, &size), SQLITE_OK);
	assert_int_equal(test_budget_wal_frame(3, 'd', false), SQLITE_OK);
	assert_int_equal(
	    methods->xTruncate(&test_budget_wal_file, 0), SQLITE_OK);
	assert_string_equal(test_budget_wal_said, "wrwswzwt");
	assert_int_equal(test_budget_wal_frame(4, 'e', false), SQLITE_OK);
	test_budget_wal_code = SQLITE_FULL;
	assert_int_equal(methods->xSync(&test_budget_wal_file, 2), SQLITE_FULL);
	assert_string_equal(test_budget_wal_said, "wrwswzwtw");
}

/* More than there is room for. */
static void
test_budget_wal_large(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FRAMES_MAX; i++)
		assert_int_equal(test_budget_wal_frame(
				     i, (char)('0' + i), i == FRAMES_MAX - 1),
		    SQLITE_OK);
	/* A page whose header went without it goes alone. */
	assert_string_equal(test_budget_wal_said, "www");
	for (unsigned i = 0; i < FRAMES_MAX; i++)
		assert_int_equal(test_budget_wal_mark(i), '0' + i);
}

static void
test_budget_wal_second(void **state)
{
	struct sqlite3_file second = {&test_budget_wal_methods};

	(void)state;
	budget_wal_take(&second);
	assert_ptr_equal(second.pMethods, &test_budget_wal_methods);
}

int
main(void)
{
#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, test_budget_wal_open, test_budget_wal_end)
	const struct CMUnitTest tests[] = {
	    TEST(test_budget_wal_commit),
	    TEST(test_budget_wal_fault),
	    TEST(test_budget_wal_again),
	    TEST(test_budget_wal_other),
	    TEST(test_budget_wal_whole),
	    TEST(test_budget_wal_large),
	    TEST(test_budget_wal_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
