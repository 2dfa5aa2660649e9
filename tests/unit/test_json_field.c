/* SPDX-License-Identifier: Apache-2.0 */
/* common/json_field: what is refused, and the sentence that says so. */
#include "common/json_field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *
test_json_field_value(const char *text)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	assert_int_equal(
	    json_field_parse(text, strlen(text), &value, &fault), RESULT_OK);
	assert_string_equal(fault.text, "");
	return value;
}

static void
test_json_field_refused(void **state)
{
	static const char *const texts[] = {"", " ", "{", "{}{}", "{} x",
	    "{\"a\":1,\"a\":2}", "{\"a\":01}", "[1,]", "{'a':1}", "nul",
	    "\"\\u0000\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
	    "99999999999999999999", "1e999", "\"\n\"", "[\"a\" \"b\"]",
	    "// c\n{}", "\xef\xbb\xbf{}", "{\"a\":{\"b\":1,\"b\":1}}"};
	struct json_fault fault;
	json_t *value;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fault.text[0] = '\0';
		assert_int_equal(json_field_parse(texts[i], strlen(texts[i]),
				     &value, &fault),
		    RESULT_BAD);
		assert_null(value);
		assert_true(strncmp(fault.text, "line ", 5) == 0);
	}
}

static void
test_json_field_depth(void **state)
{
	struct json_fault fault = {""};
	char text[2 * 20 + 1];
	json_t *value;

	(void)state;
	memset(text, '[', 16);
	memset(text + 16, ']', 16);
	assert_int_equal(json_field_parse(text, 32, &value, &fault), RESULT_OK);
	json_decref(value);
	memset(text, '[', 17);
	memset(text + 17, ']', 17);
	assert_int_equal(
	    json_field_parse(text, 34, &value, &fault), RESULT_BAD);
	assert_string_equal(fault.text, "nested deeper than 16 levels");
	/* brackets inside strings are not depth; escapes are seen */
	value = test_json_field_value("[\"[[[[[[[[[[[[[[[[[[[[\\\"[[[\\\\\"]");
	json_decref(value);
}

static void
test_json_field_reads(void **state)
{
	json_t *object = test_json_field_value(
	    "{\"t\":\"abc\",\"n\":7,\"b\":true,\"l\":[1,2],\"o\":{}}");
	struct json_fault fault = {""};
	const char *text = NULL;
	const json_t *list = NULL, *inner = NULL;
	int64_t number = 0, absent = 5;
	bool flag = false, off = true;

	(void)state;
	json_field_string(object, "x", "t", 3, &text, &fault);
	json_field_int(object, "x", "n", 7, 7, &number, &fault);
	json_field_bool(object, "x", "b", &flag, &fault);
	json_field_array(object, "x", "l", 2, &list, &fault);
	json_field_object(object, "x", "o", &inner, &fault);
	json_field_int_opt(object, "x", "none", 0, 1, &absent, &fault);
	json_field_bool_opt(object, "x", "none", &off, &fault);
	json_field_only(object, "x",
	    (const char *const[]){"t", "n", "b", "l", "o", NULL}, &fault);
	assert_string_equal(fault.text, "");
	assert_string_equal(text, "abc");
	assert_int_equal(number, 7);
	assert_true(flag && off);
	assert_int_equal(json_array_size(list), 2);
	assert_non_null(inner);
	assert_int_equal(absent, 5);
	json_decref(object);
}

static void
test_json_field_fault_text(
    const json_t *object, const char *key, int kind, const char *expected)
{
	struct json_fault fault = {""};
	const char *text = NULL;
	const json_t *value = NULL;
	int64_t number = 0;
	bool flag;

	if (kind == 's')
		json_field_string(object, "x", key, 2, &text, &fault);
	else if (kind == 'i')
		json_field_int(object, "x", key, 1, 5, &number, &fault);
	else if (kind == 'b')
		json_field_bool(object, "x", key, &flag, &fault);
	else if (kind == 'a')
		json_field_array(object, "x", key, 1, &value, &fault);
	else
		json_field_object(object, "x", key, &value, &fault);
	assert_string_equal(fault.text, expected);
	assert_null(text);
	assert_null(value);
	assert_int_equal(number, 0);
}

static void
test_json_field_faults(void **state)
{
	json_t *object = test_json_field_value(
	    "{\"t\":\"abc\",\"n\":7,\"r\":7.0,\"l\":[1,2],\"z\":null}");
	struct json_fault fault = {""};

	(void)state;
	test_json_field_fault_text(
	    object, "t", 's', "x.t has 3 bytes, at most 2 fit");
	test_json_field_fault_text(
	    object, "n", 's', "x.n is a whole number, it must be a text");
	test_json_field_fault_text(
	    object, "q", 's', "x.q is missing: a text is needed");
	test_json_field_fault_text(
	    object, "n", 'i', "x.n is 7, it must be 1 to 5");
	test_json_field_fault_text(object, "r", 'i',
	    "x.r is a number with a fraction, it must be a whole number");
	test_json_field_fault_text(
	    object, "z", 'b', "x.z is null, it must be true or false");
	test_json_field_fault_text(
	    object, "l", 'a', "x.l has 2 items, at most 1 fit");
	test_json_field_fault_text(
	    object, "l", 'o', "x.l is a list, it must be an object");
	json_field_only(object, "x",
	    (const char *const[]){"t", "n", "r", "l", NULL}, &fault);
	assert_string_equal(fault.text, "x.z is not known");
	/* only the first fault stays, and later reads do nothing */
	json_field_fault(&fault, "second");
	assert_string_equal(fault.text, "x.z is not known");
	json_decref(object);
}

static void
test_json_field_foreign_key(void **state)
{
	json_t *object = test_json_field_value("{\"\\u001b[31m\xc2\x9b\":1}");
	struct json_fault fault = {""};

	(void)state;
	json_field_only(object, "x", (const char *const[]){NULL}, &fault);
	assert_string_equal(fault.text, "x.\\u001b[31m\\u009b is not known");
	json_decref(object);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_field_refused),
	    cmocka_unit_test(test_json_field_depth),
	    cmocka_unit_test(test_json_field_reads),
	    cmocka_unit_test(test_json_field_faults),
	    cmocka_unit_test(test_json_field_foreign_key),
	};

	json_field_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
