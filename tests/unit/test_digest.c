/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON and its hashes, against what Python's json and hashlib
 * give for the same values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/json_field.h"
#include "supervisor/policy/digest.h"

struct test_digest_row {
	const char *json, *canonical;
};

static const struct test_digest_row test_digest_rows[] = {
    {"{}", "{}"},
    {"[ ]", "[]"},
    {"{\"b\": 1, \"a\": {\"d\": [1, 2], \"c\": null}}",
	"{\"a\":{\"c\":null,\"d\":[1,2]},\"b\":1}"},
    {"{\"a2\": 1, \"a\": 2, \"a\\u00fc\": 3}",
	"{\"a\":2,\"a2\":1,\"a\xc3\xbc\":3}"},
    {"[\"\\u001f\\u007f\\u2028\\/\\ud83d\\ude00\"]",
	"[\"\\u001f\x7f\xe2\x80\xa8/\xf0\x9f\x98\x80\"]"},
    {"[\"\\b\\f\\n\\r\\t\\\"\\\\\"]", "[\"\\b\\f\\n\\r\\t\\\"\\\\\"]"},
    {"[-9223372036854775808, true, false]",
	"[-9223372036854775808,true,false]"},
    {"[0.5, 1e-5, 0.0001, 123456789012345680.0, 1e16]",
	"[0.5,1e-05,0.0001,1.2345678901234568e+17,1e+16]"},
    {"[9999999999999998.0, -0.0, 1e22, 0.1, 3.0, 1.5e300]",
	"[9999999999999998.0,-0.0,1e+22,0.1,3.0,1.5e+300]"},
    {"[2.5e-8, 100.25, 1e100, 5e-324]", "[2.5e-08,100.25,1e+100,5e-324]"},
};

static json_t *
test_digest_parse(const char *text)
{
	struct json_fault fault = {""};
	json_t *value;

	assert_int_equal(
	    json_field_parse(text, strlen(text), &value, &fault), RESULT_OK);
	return value;
}

static void
test_digest_spelling(void **state)
{
	json_t *value;
	size_t i, len;
	char *text;

	(void)state;
	for (i = 0; i < sizeof(test_digest_rows) / sizeof(test_digest_rows[0]);
	     i++) {
		value = test_digest_parse(test_digest_rows[i].json);
		assert_int_equal(
		    digest_canonical(value, &text, &len), RESULT_OK);
		assert_string_equal(text, test_digest_rows[i].canonical);
		assert_int_equal(len, strlen(text));
		free(text);
		json_decref(value);
	}
}

static void
test_digest_hash(void **state)
{
	char hex[DIGEST_HEX + 1];
	json_t *value;

	(void)state;
	assert_int_equal(digest_sha256("", 0, hex), RESULT_OK);
	assert_string_equal(hex,
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_int_equal(digest_sha256("abc", 3, hex), RESULT_OK);
	assert_string_equal(hex,
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	value = test_digest_parse(
	    "{\"canonicalization_version\":1,\"entries\":[],\"kind\":"
	    "\"agentnode.lock.structure\",\"lockfile_version\":\"0.1\"}");
	assert_int_equal(digest_json(value, hex), RESULT_OK);
	assert_string_equal(hex,
	    "57eae92f23a97fd2292d317ea26c67a68464eee9b488f39652584804ca883d5d");
	json_decref(value);
	assert_true(digest_is_hex(hex));
	hex[3] = 'A';
	assert_false(digest_is_hex(hex));
	assert_false(digest_is_hex("57eae9"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_digest_spelling),
	    cmocka_unit_test(test_digest_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
