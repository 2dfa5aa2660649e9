/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a tool out of an operator's words: text, or JSON where the
 * schema says so; what is given twice or is no NAME=VALUE.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/pack/pack_arguments.h"

#define SCHEMA                                                                 \
	"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},"   \
	"\"l\":{\"type\":\"array\"},\"s\":{\"type\":\"string\"},"              \
	"\"u\":{\"type\":[\"string\",\"null\"]},\"b\":{\"type\":\"boolean\"}}" \
	"}"

/* What comes of words, as compact JSON with sorted keys; or the fault. */
static void
test_pack_arguments_are(const char *input, const char *const *words,
    size_t count, enum result expected, const char *text)
{
	json_t *schema = json_loads(SCHEMA, 0, NULL), *made = NULL;
	json_t *given = input != NULL ? json_loads(input, 0, NULL) : NULL;
	struct json_fault fault = {""};
	char *dumped = NULL;

	assert_int_equal(
	    pack_arguments_make(given, words, count, schema, &made, &fault),
	    expected);
	if (expected == RESULT_OK) {
		dumped = json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS);
		assert_string_equal(dumped, text);
	} else {
		assert_null(made);
		assert_non_null(strstr(fault.text, text));
	}
	free(dumped);
	json_decref(made);
	json_decref(given);
	json_decref(schema);
}

static void
test_pack_arguments_good(void **state)
{
	static const char *const words[] = {"n=3", "l=[1,2]", "s=3", "u=null",
	    "x=true", "b=false", "e=", "q=a=b"};

	(void)state;
	test_pack_arguments_are(NULL, NULL, 0, RESULT_OK, "{}");
	test_pack_arguments_are(NULL, words, 8, RESULT_OK,
	    "{\"b\":false,\"e\":\"\",\"l\":[1,2],\"n\":3,\"q\":\"a=b\","
	    "\"s\":\"3\",\"u\":\"null\",\"x\":\"true\"}");
	test_pack_arguments_are(
	    "{\"n\":1,\"z\":{}}", words, 1, RESULT_OK, "{\"n\":3,\"z\":{}}");
}

static void
test_pack_arguments_bad(void **state)
{
	static const char *const rows[][2] = {
	    {"n", "must be NAME=VALUE"},
	    {"=3", "must be NAME=VALUE"},
	    {"", "must be NAME=VALUE"},
	    {"n=x", "type integer"},
	    {"n=", "type integer"},
	    {"l=[1", "type array"},
	    {"l={\"a\":1,\"a\":2}", "type array"},
	    {"s=\xff", "UTF-8"},
	};
	static const char *const twice[] = {"n=1", "n=1"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_pack_arguments_are(
		    NULL, &rows[i][0], 1, RESULT_BAD, rows[i][1]);
	test_pack_arguments_are(NULL, twice, 2, RESULT_BAD, "given twice");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pack_arguments_good),
	    cmocka_unit_test(test_pack_arguments_bad),
	};

	return cmocka_run_group_tests_name("pack_arguments", tests, NULL, NULL);
}
