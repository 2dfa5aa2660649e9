/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/key_table: who may be called, what is looked for, before and
 * after a key was told, replaced or lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/key_table.h"

#define FILES AGENTNODE_SOURCE_DIR "/config/providers/"

struct test_key_table {
	struct provider *providers[3];
	struct key_table *table;
};

static void
test_key_table_open(struct test_key_table *test)
{
	static const char *const files[] = {
	    FILES "openai.json", FILES "examples/ollama.json"};
	static const bool keyless[] = {false, true};
	struct json_fault fault = {""};

	memset(test, 0, sizeof(*test));
	for (size_t i = 0; i < 2; i++) {
		json_t *object = json_load_file(files[i], 0, NULL);

		assert_int_equal(
		    provider_load(object, "p", &test->providers[i], &fault),
		    RESULT_OK);
		json_decref(object);
	}
	assert_int_equal(
	    key_table_new((const struct provider *const *)test->providers,
		keyless, &test->table),
	    RESULT_OK);
}

static void
test_key_table_close(struct test_key_table *test)
{
	key_table_free(&test->table);
	provider_free(&test->providers[0]);
	provider_free(&test->providers[1]);
}

/* count patterns whose digests begin with mark. */
static void
test_key_table_tell(struct test_key_table *test, const char *provider,
    const char *status, unsigned mark, unsigned count, const char *wanted)
{
	struct json_fault fault = {""};
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++) {
		char digest[80];

		(void)snprintf(digest, sizeof(digest), "%02x%02x%060x",
		    mark & 255, i & 255, 0);
		json_array_append_new(list,
		    json_pack("{s:s,s:s,s:i,s:s,s:s}", "form", "raw", "prefix",
			"736b2d", "length", 51, "salt",
			"000102030405060708090a0b0c0d0e0f", "digest", digest));
	}
	key_table_set(test->table, provider, status, list, &fault);
	json_decref(list);
	if (wanted == NULL)
		assert_string_equal(fault.text, "");
	else
		assert_non_null(strstr(fault.text, wanted));
}

static const struct redact_set *
test_key_table_set(const struct test_key_table *test)
{
	return key_table_patterns_borrow(test->table, test->providers[0]);
}

static void
test_key_table_life(void **state)
{
	struct test_key_table test;

	(void)state;
	test_key_table_open(&test);
	/* nothing was said yet */
	assert_true(key_table_may_call(test.table, test.providers[0]));
	assert_null(test_key_table_set(&test));
	/* takes no key */
	assert_true(key_table_may_call(test.table, test.providers[1]));
	assert_int_equal(
	    key_table_patterns_borrow(test.table, test.providers[1])->count, 0);
	test_key_table_tell(&test, "openai", "found", 1, 5, NULL);
	assert_int_equal(test_key_table_set(&test)->count, 5);
	/* replaced: the old ones stay, once, however fast others follow */
	test_key_table_tell(&test, "openai", "found", 2, 5, NULL);
	assert_int_equal(test_key_table_set(&test)->count, 10);
	test_key_table_tell(&test, "openai", "found", 3, 14, NULL);
	assert_int_equal(test_key_table_set(&test)->count, 24);
	assert_int_equal(test_key_table_set(&test)->patterns[0].digest[0], 1);
	assert_int_equal(test_key_table_set(&test)->patterns[5].digest[0], 2);
	test_key_table_tell(&test, "openai", "found", 3, 14, NULL);
	assert_int_equal(test_key_table_set(&test)->count, 24);
	test_key_table_tell(&test, "openai", "missing", 0, 0, NULL);
	assert_false(key_table_may_call(test.table, test.providers[0]));
	assert_null(test_key_table_set(&test));
	test_key_table_tell(&test, "openai", "found", 4, 1, NULL);
	assert_int_equal(test_key_table_set(&test)->count, 25);
	assert_int_equal(test_key_table_set(&test)->patterns[0].digest[0], 1);
	key_table_clear(test.table);
	assert_false(key_table_may_call(test.table, test.providers[0]));
	assert_false(key_table_may_call(test.table, test.providers[1]));
	test_key_table_close(&test);
}

/* A key that could not be looked for beside the others is not used; one
 * that is looked for already is. */
static void
test_key_table_full(void **state)
{
	struct test_key_table test;

	(void)state;
	test_key_table_open(&test);
	for (unsigned mark = 1; mark <= 4; mark++)
		test_key_table_tell(
		    &test, "openai", "found", mark, mark < 4 ? 16 : 15, NULL);
	test_key_table_tell(&test, "openai", "found", 5, 2, "no room");
	assert_false(key_table_may_call(test.table, test.providers[0]));
	assert_null(test_key_table_set(&test));
	test_key_table_tell(&test, "openai", "found", 1, 16, NULL);
	assert_true(key_table_may_call(test.table, test.providers[0]));
	assert_int_equal(test_key_table_set(&test)->count, 63);
	test_key_table_tell(&test, "openai", "found", 5, 1, NULL);
	assert_int_equal(test_key_table_set(&test)->count, REDACT_SET_MAX);
	test_key_table_close(&test);
}

static void
test_key_table_faults(void **state)
{
	struct test_key_table test;

	(void)state;
	test_key_table_open(&test);
	test_key_table_tell(&test, "nobody", "found", 1, 1, "not configured");
	test_key_table_tell(&test, "openai", "found", 1, 0, "empty");
	assert_false(key_table_may_call(test.table, test.providers[0]));
	test_key_table_tell(&test, "openai", "found", 1, 17, "at most 16");
	assert_null(test_key_table_set(&test));
	assert_false(key_table_may_call(test.table, NULL));
	test_key_table_close(&test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_table_life),
	    cmocka_unit_test(test_key_table_full),
	    cmocka_unit_test(test_key_table_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
