/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and link targets of foreign trees: a table of what is allowed and
 * what is refused as which.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/tree_name.h"

struct test_name_row {
	const char *path;
	enum tree_name_verdict verdict;
};

static const struct test_name_row test_name_rows[] = {
    {"a", TREE_NAME_OK}, {"a/b/c.txt", TREE_NAME_OK}, {"...", TREE_NAME_OK},
    {"a/..b", TREE_NAME_OK}, {"back\\slash \"quote\"", TREE_NAME_OK},
    {"gr\xc3\xbc\xc3\x9f", TREE_NAME_OK}, {"\xf0\x9f\x98\x80", TREE_NAME_OK},
    {"-rf", TREE_NAME_OK}, {"", TREE_NAME_EMPTY}, {"a//b", TREE_NAME_EMPTY},
    {"a/", TREE_NAME_EMPTY}, {"/", TREE_NAME_ABSOLUTE},
    {"/etc/passwd", TREE_NAME_ABSOLUTE}, {".", TREE_NAME_DOTS},
    {"..", TREE_NAME_DOTS}, {"./a", TREE_NAME_DOTS}, {"a/./b", TREE_NAME_DOTS},
    {"a/../b", TREE_NAME_DOTS}, {"a/..", TREE_NAME_DOTS},
    {"a\nb", TREE_NAME_BYTES}, {"a\x1b[0m", TREE_NAME_BYTES},
    {"a\x7f", TREE_NAME_BYTES}, {"\xc2\x9b", TREE_NAME_BYTES}, /* C1 CSI */
    {"\xff", TREE_NAME_BYTES},                                 /* never UTF-8 */
    {"\xc0\xaf", TREE_NAME_BYTES},         /* overlong '/' */
    {"\xe0\x80\xaf", TREE_NAME_BYTES},     /* overlong '/' */
    {"\xed\xa0\x80", TREE_NAME_BYTES},     /* surrogate */
    {"\xf4\x90\x80\x80", TREE_NAME_BYTES}, /* beyond U+10FFFF */
    {"a\xc3", TREE_NAME_BYTES},            /* cut */
};

static void
test_name_table(void **state)
{
	(void)state;
	for (size_t i = 0;
	     i < sizeof(test_name_rows) / sizeof(test_name_rows[0]); i++) {
		const struct test_name_row *row = &test_name_rows[i];

		if (tree_name_check(row->path, strlen(row->path)) !=
		    row->verdict)
			fail_msg("\"%s\": want \"%s\", got \"%s\"", row->path,
			    tree_name_text(row->verdict),
			    tree_name_text(
				tree_name_check(row->path, strlen(row->path))));
	}
}

static void
test_name_bounds(void **state)
{
	char path[2 * TREE_STREAM_PATH_MAX];

	(void)state;
	memset(path, 'a', sizeof(path));
	assert_int_equal(
	    tree_name_check(path, TREE_NAME_PART_MAX), TREE_NAME_OK);
	assert_int_equal(
	    tree_name_check(path, TREE_NAME_PART_MAX + 1), TREE_NAME_LONG);
	for (size_t i = 1; i < sizeof(path); i += 2)
		path[i] = '/';
	assert_int_equal(
	    tree_name_check(path, 2 * TREE_STREAM_DEPTH_MAX - 1), TREE_NAME_OK);
	assert_int_equal(tree_name_check(path, 2 * TREE_STREAM_DEPTH_MAX + 1),
	    TREE_NAME_LONG);
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 200 == 199 ? '/' : 'a';
	assert_int_equal(
	    tree_name_check(path, TREE_STREAM_PATH_MAX), TREE_NAME_OK);
	assert_int_equal(
	    tree_name_check(path, TREE_STREAM_PATH_MAX + 1), TREE_NAME_LONG);
	/* A NUL inside is a control byte. */
	assert_int_equal(tree_name_check("a\0b", 3), TREE_NAME_BYTES);
}

struct test_name_link {
	const char *path, *target;
	enum tree_name_verdict verdict;
};

static const struct test_name_link test_name_links[] = {
    {"a", "b", TREE_NAME_OK},
    {"a", "./b", TREE_NAME_OK},
    {"a/b", "../c", TREE_NAME_OK},
    {"a/b", "..", TREE_NAME_OK},
    {"a/b/c", "../../d/e", TREE_NAME_OK},
    {"node_modules/.bin/x", "../x/cli.js", TREE_NAME_OK},
    {"a", "..", TREE_NAME_LEAVES},
    {"a", "../a", TREE_NAME_LEAVES},
    {"a/b", "../../c", TREE_NAME_LEAVES},
    {"a", "/etc/passwd", TREE_NAME_LEAVES},
    /* Behind a name ".." would apply to what that name links to. */
    {"a/b", "c/../../d", TREE_NAME_DOTS},
    {"a/b", "../c/..", TREE_NAME_DOTS},
    {"a", ".", TREE_NAME_DOTS},
    {"a", "b/", TREE_NAME_EMPTY},
    {"a", "../", TREE_NAME_LEAVES},
    {"a/b", "../", TREE_NAME_EMPTY},
    {"a", "b\n", TREE_NAME_BYTES},
    {"a", "", TREE_NAME_EMPTY},
};

static void
test_name_link_table(void **state)
{
	(void)state;
	for (size_t i = 0;
	     i < sizeof(test_name_links) / sizeof(test_name_links[0]); i++) {
		const struct test_name_link *row = &test_name_links[i];
		enum tree_name_verdict got = tree_name_check_link(
		    row->path, row->target, strlen(row->target));

		if (got != row->verdict)
			fail_msg("%s -> %s: want \"%s\", got \"%s\"", row->path,
			    row->target, tree_name_text(row->verdict),
			    tree_name_text(got));
	}
}

static void
test_name_trim(void **state)
{
	size_t len = 4;

	(void)state;
	assert_string_equal(tree_name_trim("././a", &len), "a");
	len = 4;
	assert_memory_equal(tree_name_trim("./a/", &len), "a", 1);
	assert_int_equal(len, 1);
	len = 2;
	(void)tree_name_trim("./", &len);
	assert_int_equal(len, 0);
	len = 1;
	assert_string_equal(tree_name_trim("/", &len), "/");
	assert_int_equal(len, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_name_table),
	    cmocka_unit_test(test_name_bounds),
	    cmocka_unit_test(test_name_link_table),
	    cmocka_unit_test(test_name_trim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
