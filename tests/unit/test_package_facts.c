/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of package-lock.json, package.json and pip's report: what is taken
 * from a good one, and which fault a bad one is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "supervisor/unpack/package_facts.h"

#define TEST_FACTS_SUM "sha512-aaaa/bbb+c=="

static json_t *
test_facts_json(const char *text)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	if (json_field_parse(text, strlen(text), &value, &fault) != RESULT_OK)
		fail_msg("%s: %s", text, fault.text);
	return value;
}

static enum result
test_facts_lock(const char *text, json_t **list_r, struct json_fault *fault)
{
	json_t *lock = test_facts_json(text);
	enum result result =
	    package_facts_npm_lock(lock, "top", "1.0.0", list_r, fault);

	json_decref(lock);
	return result;
}

static void
test_facts_npm_good(void **state)
{
	struct json_fault fault = {""};
	json_t *list = NULL;

	(void)state;
	assert_int_equal(
	    test_facts_lock(
		"{\"packages\":{\"\":{\"name\":\"x\"},"
		"\"node_modules/top\":{\"version\":\"1.0.0\",\"integrity\":"
		"\"" TEST_FACTS_SUM "\"},"
		"\"node_modules/top/node_modules/@s/b\":{\"version\":"
		"\"2.0.0\",\"integrity\":\"" TEST_FACTS_SUM "\"},"
		"\"node_modules/inner\":{\"version\":\"3.0.0\",\"inBundle\":"
		"true}}}",
		&list, &fault),
	    RESULT_OK);
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(
	    json_string_value(json_object_get(json_array_get(list, 0), "name")),
	    "@s/b");
	assert_string_equal(json_string_value(json_object_get(
				json_array_get(list, 1), "integrity")),
	    "bundled");
	json_decref(list);
}

static void
test_facts_npm_bad(void **state)
{
	static const char *const rows[][2] = {
	    {"{}", "no packages"},
	    {"{\"packages\":[]}", "no packages"},
	    {"{\"packages\":{}}", "is not top@1.0.0"},
	    {"{\"packages\":{\"node_modules/top\":{\"version\":\"2.0.0\"}}}",
		"is not top@1.0.0"},
	    {"{\"packages\":{\"node_modules/top\":{\"version\":\"1.0.0\"}}}",
		"integrity"},
	    {"{\"packages\":{\"node_modules/top\":{\"version\":\"1.0.0\","
	     "\"integrity\":\"sha1-aaaa\"}}}",
		"integrity"},
	    {"{\"packages\":{\"node_modules/top\":{\"version\":\"1.0.0\","
	     "\"integrity\":\"" TEST_FACTS_SUM "\"},\"src/local\":{"
	     "\"version\":\"1.0.0\"}}}",
		"usable name"},
	    {"{\"packages\":{\"node_modules/top\":{\"version\":\"1.0.0\","
	     "\"integrity\":\"" TEST_FACTS_SUM "\"},\"node_modules/a\\u001b\""
	     ":{\"version\":\"1.0.0\"}}}",
		"usable name"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};
		json_t *list = NULL;

		assert_int_not_equal(
		    test_facts_lock(rows[i][0], &list, &fault), RESULT_OK);
		assert_null(list);
		if (strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: %s", rows[i][0], fault.text);
	}
}

static void
test_facts_entry(void **state)
{
	static const char *const rows[][3] = {
	    {"{\"bin\":\"cli.js\"}", "@s/x", "cli.js"},
	    {"{\"bin\":{\"other\":\"o.js\"}}", "x", "o.js"},
	    {"{\"bin\":{\"a\":\"a.js\",\"x\":\"x.js\"}}", "@s/x", "x.js"},
	    {"{\"bin\":{\"z\":\"z.js\",\"mcp-x\":\"m.js\"}}", "x", "m.js"},
	    {"{\"bin\":{\"c\":\"c.js\",\"b\":\"b.js\"}}", "x", "b.js"},
	    {"{\"bin\":{}}", "x", NULL},
	    {"{\"bin\":7}", "x", NULL},
	    {"{\"main\":\"m.js\"}", "x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *manifest = test_facts_json(rows[i][0]);
		struct json_fault fault = {""};
		const char *path = NULL;
		enum result result = package_facts_npm_entry(
		    manifest, rows[i][1], 0, &path, &fault);

		if (rows[i][2] == NULL)
			assert_int_equal(result, RESULT_NOT_FOUND);
		else
			assert_string_equal(path, rows[i][2]);
		json_decref(manifest);
	}
}

#define TEST_FACTS_HEX \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
test_facts_pip(void **state)
{
	static const char item[] =
	    "{\"install\":[{\"metadata\":{\"name\":\"Plain_MCP\",\"version\":"
	    "\"1.0\"},\"download_info\":{\"archive_info\":{\"hashes\":{"
	    "\"sha256\":\"" TEST_FACTS_HEX "\"}}}}]}";
	static const char no_hash[] =
	    "{\"install\":[{\"metadata\":{\"name\":\"plain-mcp\",\"version\":"
	    "\"1.0\"},\"download_info\":{\"dir_info\":{}}}]}";
	struct json_fault fault = {""};
	json_t *report = test_facts_json(item), *list = NULL;

	(void)state;
	assert_int_equal(
	    package_facts_pip_report(report, "plain-mcp", "1.0", &list, &fault),
	    RESULT_OK);
	assert_string_equal(json_string_value(json_object_get(
				json_array_get(list, 0), "integrity")),
	    "sha256:" TEST_FACTS_HEX);
	json_decref(list);
	list = NULL;
	assert_int_equal(
	    package_facts_pip_report(report, "plain-mcp", "2.0", &list, &fault),
	    RESULT_MISMATCH);
	json_decref(report);
	report = test_facts_json(no_hash);
	assert_int_equal(
	    package_facts_pip_report(report, "plain-mcp", "1.0", &list, &fault),
	    RESULT_BAD);
	json_decref(report);
	assert_null(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_facts_npm_good),
	    cmocka_unit_test(test_facts_npm_bad),
	    cmocka_unit_test(test_facts_entry),
	    cmocka_unit_test(test_facts_pip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
