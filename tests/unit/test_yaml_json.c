/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as JSON: what a good file becomes, and which fault a bad one is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/yaml_json.h"

static void
test_yaml_same(const char *yaml, const char *json)
{
	struct json_fault fault = {""};
	json_t *got = NULL, *want = NULL;

	if (yaml_json_parse(yaml, strlen(yaml), &got, &fault) != RESULT_OK)
		fail_msg("%s: %s", yaml, fault.text);
	assert_int_equal(
	    json_field_parse(json, strlen(json), &want, &fault), RESULT_OK);
	if (!json_equal(got, want))
		fail_msg("%s is not %s", yaml, json);
	json_decref(got);
	json_decref(want);
}

static void
test_yaml_good(void **state)
{
	(void)state;
	test_yaml_same("a: 1\nb: [x, true, null, ~, '2']\n",
	    "{\"a\":1,\"b\":[\"x\",true,null,null,\"2\"]}");
	test_yaml_same("version: 1.2.3\nn: no\nf: 1.0\nz: 007\nm: -4\n",
	    "{\"version\":\"1.2.3\",\"n\":\"no\",\"f\":\"1.0\",\"z\":\"007\","
	    "\"m\":-4}");
	test_yaml_same("t: |\n  one\n  two\ne: \"\"\n",
	    "{\"t\":\"one\\ntwo\\n\",\"e\":\"\"}");
	test_yaml_same("a: {b: {c: []}}", "{\"a\":{\"b\":{\"c\":[]}}}");
	test_yaml_same(
	    "n: 9999999999999999999\n", "{\"n\":\"9999999999999999999\"}");
}

static void
test_yaml_bad(const char *yaml, size_t len, const char *part)
{
	struct json_fault fault = {""};
	json_t *got = NULL;

	assert_int_equal(yaml_json_parse(yaml, len, &got, &fault), RESULT_BAD);
	assert_null(got);
	if (strstr(fault.text, part) == NULL)
		fail_msg("%s: '%s' does not say '%s'", yaml, fault.text, part);
}

static void
test_yaml_refused(void **state)
{
	static const char *const rows[][2] = {
	    {"a: &x 1\n", "line 1, column 4: anchors and tags"},
	    {"a: &x [1]\nb: *x\n", "anchors, tags"},
	    {"b: *x\n", "aliases"},
	    {"a: !!int 1\n", "anchors and tags"},
	    {"a: !evil {}\n", "anchors, tags"},
	    {"a: 1\nb: 2\na: 3\n", "line 3, column 1: the key is there"},
	    {"<<: {a: 1}\n", "merge keys"},
	    {"? [a]\n: 1\n", "no text"},
	    {"'': 1\n", "a key must be a plain text"},
	    {"a: 1\n---\nb: 2\n", "second document"},
	    {"", "no document"},
	    {"# nothing\n", "no document"},
	    {"a: [1\n", "line"},
	    {"a: \"\\0\"\n", "a text holds a NUL"},
	    {"\ta: 1\n", "line"},
	    {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "nested too deeply"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_yaml_bad(rows[i][0], strlen(rows[i][0]), rows[i][1]);
	test_yaml_bad("a: \xff\xfe\n", 7, "line");
}

static void
test_yaml_bounds(void **state)
{
	size_t len = YAML_JSON_BYTES_MAX + 1;
	char *bytes = malloc(len + 1);
	size_t i;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'a', len);
	bytes[len] = '\0';
	test_yaml_bad(bytes, len, "over 262144 bytes");
	for (i = 0; i + 2 < len; i += 2)
		memcpy(bytes + i, i == 0 ? "[1" : ",1", 2);
	bytes[i] = ']';
	test_yaml_bad(bytes, i, "too many values");
	free(bytes);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_yaml_good),
	    cmocka_unit_test(test_yaml_refused),
	    cmocka_unit_test(test_yaml_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
