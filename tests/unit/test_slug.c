/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of slugs, and slugs made from package names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/package/slug.h"

static void
test_slug_rule(void **state)
{
	static const char *const good[] = {
	    "abc", "a1b", "server-everything", "0ab", "a-b-c"};
	static const char *const bad[] = {"", "ab", "-ab", "ab-", "a--b", "Abc",
	    "a_b", "a.b", "a/b", "../x", "a b", "abc\n", "\xc3\xbc\xc3\xbc",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(slug_is_valid(good[i]));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(slug_is_valid(bad[i]));
}

static void
test_slug_from_names(void **state)
{
	static const char *const rows[][2] = {
	    {"@modelcontextprotocol/server-everything", "server-everything"},
	    {"Mcp_Server.Time", "mcp-server-time"},
	    {"a", "mcp-a"},
	    {"ab", "mcp-ab"},
	    {"--x--y--", "x-y"},
	    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	     "a",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	};
	char slug[SLUG_MAX + 1];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(slug_derive(rows[i][0], slug));
		assert_string_equal(slug, rows[i][1]);
	}
	assert_false(slug_derive("", slug));
	assert_false(slug_derive("@scope/", slug));
	assert_false(slug_derive("___", slug));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_slug_rule),
	    cmocka_unit_test(test_slug_from_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
