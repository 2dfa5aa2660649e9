/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents with long texts become the trees that jansson makes of them, and
 * what is odd is left to it. In the documents here "#" stands for 200 plain
 * characters.
 */
#define JSON_LONG_INTERNAL
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/json_long.h"

#define PLAIN 200U

static char *
test_json_long_expand(const char *document, size_t *len_r)
{
	char *text = test_malloc(strlen(document) * PLAIN + 1), *to = text;

	for (; *document != '\0'; document++) {
		size_t count = *document == '#' ? PLAIN : 1;

		memset(to, *document == '#' ? 'x' : *document, count);
		to += count;
	}
	*len_r = (size_t)(to - text);
	return text;
}

/* Read here and by jansson, from memory that is guarded behind its end. */
static void
test_json_long_check(const char *document, bool is_ours)
{
	size_t len;
	char *text = test_json_long_expand(document, &len);
	char *exact = test_malloc(len > 0 ? len : 1);
	json_error_t our_error = {0}, error = {0};
	json_t *tried, *ours, *theirs;

	memcpy(exact, text, len);
	tried = json_long_try(exact, len);
	ours = json_long_load(exact, len, &our_error);
	theirs = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if ((tried != NULL) != is_ours || (ours != NULL) != (theirs != NULL) ||
	    (theirs != NULL && !json_equal(ours, theirs)) ||
	    (tried != NULL && !json_equal(tried, theirs)))
		fail_msg("%s", document);
	if (theirs == NULL) {
		assert_int_equal(our_error.position, error.position);
		assert_string_equal(our_error.text, error.text);
	}
	json_decref(tried);
	json_decref(ours);
	json_decref(theirs);
	test_free(exact);
	test_free(text);
}

static void
test_json_long_taken(void **state)
{
	static const char *const documents[] = {
	    "{\"a\":\"#\"}",
	    "{\"a\":\"#\",\"b\":\"#\"}",
	    " { \"a\" : [ \"#\" , \"short\" , \"#\" ] , \"c\" : \"\" } ",
	    "[\"\",\"#\",[\"\",{\"\":\"\"}],\"#\"]",
	    "{\"short\":\"\",\"#\":\"#\",\"#y\" \t:\n1}",
	    "{\"a\":\"\\\"#\\\\\\/\\b\\f\\n\\r\\t\"}",
	    "{\"a\":\"#\\\\\",\"b\":\"#\\\\\\\\\"}",
	    "{\"a\":\"#\\\"\",\"b\":\"\\\"#\\\\\\\"\"}",
	    "{\"a\":\"#\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"}",
	    /* One that jansson reads beside one that it does not. */
	    "{\"a\":\"#\\u00e9\",\"b\":\"#\",\"c\":\"#\\ud83d\\ude00\"}",
	    "\"#\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		test_json_long_check(documents[i],
		    /* a bare text is no document to jansson */
		    documents[i][0] != '"');
}

static void
test_json_long_left(void **state)
{
	static const char *const documents[] = {
	    "",
	    "{}",
	    "{\"a\":\"short\"}",
	    "{\"#\":1}",
	    "{\"a\":\"#\\u00e9\"}",
	    "{\"a\":\"#\\u0000\"}",
	    "{\"a\":\"#\",\"b\":\"\\u0000\"}",
	    "{\"a\":\"#\\x\"}",
	    "{\"a\":\"#\\x\",\"b\":\"#\"}",
	    "{\"a\":\"#\n\"}",
	    "{\"a\":\"#\n\",\"b\":\"#\"}",
	    "{\"a\":\"#\x01\"}",
	    "{\"a\":\"#\xff\"}",
	    "{\"a\":\"#\xc3\"}",
	    "{\"a\":\"#\xc0\x80\"}",
	    "{\"a\":\"#\xed\xa0\x80\"}",
	    "{\"a\":\"#\\",
	    "{\"a\":\"#\\\"",
	    "{\"a\":\"#",
	    "{\"a\":\"#\"",
	    "{\"a\":\"#\"}}",
	    "{\"a\":\"#\"}x",
	    "{\"a\":\"#\"\"#\"}",
	    "{\"a\":\"#\",}",
	    "{\"a\":\"#\",\"a\":\"#\"}",
	    "{\"a\":\"#\",\"\\u0061\":\"#\"}",
	    "{\"#\":\"#\",\"#\":1}",
	    "{\"a\":1 \"#\"}",
	    "{\"#\"}",
	    "{\"a\":'\"#\"'}",
	    "{\"a\":\\\"#\"}",
	    "{\"a\":\"\\u\"#\"}",
	    "\"#\":",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		test_json_long_check(documents[i], false);
}

/* A NUL is a byte like any other to what reads lengths. */
static void
test_json_long_nul(void **state)
{
	char document[PLAIN + 16] = "{\"a\":\"";
	size_t len = strlen(document);
	json_error_t error;

	(void)state;
	memset(document + len, 'x', PLAIN);
	memcpy(document + len + PLAIN, "\"}", 2);
	document[len + PLAIN / 2] = '\0';
	assert_null(json_long_load(document, len + PLAIN + 2, &error));
	document[len + PLAIN / 2] = 'x';
	document[len + PLAIN + 2] = '\0';
	assert_null(json_long_load(document, len + PLAIN + 3, &error));
}

/* Every length around the bound and around words of eight bytes, an escape
 * at every place in it. */
static void
test_json_long_lengths(void **state)
{
	char document[2 * JSON_LONG_MIN + 16];

	(void)state;
	for (size_t len = JSON_LONG_MIN - 2; len < 2 * JSON_LONG_MIN; len++)
		for (size_t at = 0; at + 1 < len; at++) {
			memcpy(document, "[\"", 2);
			memset(document + 2, 'y', len);
			memcpy(document + 2 + at, "\\n", 2);
			memcpy(document + 2 + len, "\"]", 3);
			test_json_long_check(document, len >= JSON_LONG_MIN);
		}
}

/* More long texts than one piece of the list, and of jansson's reads. */
static void
test_json_long_many(void **state)
{
	char document[16384] = "[";
	size_t len = 1;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		const char *one = i % 3 == 0   ? "\"#\","
				  : i % 3 == 1 ? "{\"a\":\"\\n#\"},"
					       : "\"b\",1,";

		memcpy(document + len, one, strlen(one));
		len += strlen(one);
	}
	memcpy(document + len, "null]", 6);
	test_json_long_check(document, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_long_taken),
	    cmocka_unit_test(test_json_long_left),
	    cmocka_unit_test(test_json_long_nul),
	    cmocka_unit_test(test_json_long_lengths),
	    cmocka_unit_test(test_json_long_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
