/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordinary documents become the trees that jansson makes of them, and what is
 * odd is left to it. In the documents here "#" stands for 200 plain
 * characters.
 */
#define JSON_QUICK_INTERNAL
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/json_quick.h"

#define PLAIN 200U

static char *
test_json_quick_expand(const char *document, size_t *len_r)
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
test_json_quick_check(const char *document, bool is_ours)
{
	size_t len;
	char *text = test_json_quick_expand(document, &len);
	char *exact = test_malloc(len > 0 ? len : 1);
	json_error_t our_error = {0}, error = {0};
	json_t *tried, *ours, *theirs;

	memcpy(exact, text, len);
	tried = json_quick_try(exact, len);
	ours = json_quick_load(exact, len, &our_error);
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
test_json_quick_taken(void **state)
{
	static const char *const documents[] = {
	    "{}",
	    "[]",
	    " [ ] ",
	    "{\"a\":\"short\"}",
	    "{\"#\":1}",
	    "{\"a\":\"#\"}",
	    "{\"a\":\"#\",\"b\":\"#\"}",
	    "\t{ \"a\" : [ \"#\" , \"short\" ,\r\n\"#\" ] , \"c\" : \"\" } ",
	    "[\"\",\"#\",[\"\",{\"\":\"\"}],\"#\"]",
	    "{\"short\":\"\",\"#\":\"#\",\"#y\" \t:\n1}",
	    "{\"a\":\"\\\"#\\\\\\/\\b\\f\\n\\r\\t\"}",
	    "{\"a\":\"#\\\\\",\"b\":\"#\\\\\\\\\"}",
	    "{\"a\":\"#\\\"\",\"b\":\"\\\"#\\\\\\\"\"}",
	    "{\"a\":\"#\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"}",
	    "{\"\xc3\xa9\":\"\xe2\x82\xac\"}",
	    "{\"a\":\"#\\u00e9\",\"b\":\"#\",\"c\":\"#\\ud83d\\ude00\"}",
	    "{\"a\":\"\\\"\\u00e9\\n\",\"b\":\"\\n\"}",
	    "[true,false,null,[],{},[[]],{\"a\":{}}]",
	    "[0,-0,1,-1,12,123456789012345678,-999999999999999999]",
	    "[0.5,-0.0,1e5,1E-5,1.25e+3,-12.5]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		test_json_quick_check(documents[i], true);
}

static void
test_json_quick_left(void **state)
{
	static const char *const documents[] = {
	    "",
	    " ",
	    "\"#\"",
	    "1",
	    "true",
	    "{\"\\u0061\":1}",
	    "{\"\\n\":1}",
	    "[1234567890123456789]",
	    "[12345678901234567890]",
	    "[01]",
	    "[-]",
	    "[-01]",
	    "[+1]",
	    "[1.]",
	    "[.5]",
	    "[1e]",
	    "[1.5.5]",
	    "[1e5e5]",
	    "[1-1]",
	    "[1e999]",
	    "[0x1]",
	    "[truex]",
	    "[tru",
	    "[nulll]",
	    "[True]",
	    "[NaN]",
	    "[1 2]",
	    "[,1]",
	    "[1,]",
	    "[1}",
	    "{1:2}",
	    "{\"a\"}",
	    "{\"a\":}",
	    "{\"a\":1,}",
	    "{\"a\":1]",
	    "{\"a\" 1}",
	    "{,}",
	    "{\"a\":1\v}",
	    "\xef\xbb\xbf{}",
	    "{\"a\":\"#\\u0000\"}",
	    "{\"a\":\"#\",\"b\":\"\\u0000\"}",
	    "{\"a\":\"\\ud83d\"}",
	    "{\"a\":\"#\\x\"}",
	    "{\"a\":\"#\\x\",\"b\":\"#\"}",
	    "{\"a\":\"#\n\"}",
	    "{\"a\":\"\\n#\n\",\"b\":\"#\"}",
	    "{\"a\":\"#\x01\"}",
	    "{\"a\":\"#\xff\"}",
	    "{\"a\":\"#\xc3\"}",
	    "{\"a\":\"#\xc0\x80\"}",
	    "{\"a\":\"#\xed\xa0\x80\"}",
	    "{\"\xff\":1}",
	    "{\"a\":\"#\\",
	    "{\"a\":\"#\\\"",
	    "{\"a\":\"#",
	    "{\"a\":\"#\"",
	    "{\"a\":",
	    "{\"a",
	    "{",
	    "[",
	    "[1",
	    "{\"a\":\"#\"}}",
	    "{\"a\":\"#\"}x",
	    "{\"a\":\"#\"\"#\"}",
	    "{\"a\":\"#\",}",
	    "{\"a\":\"#\",\"a\":\"#\"}",
	    "{\"a\":1,\"b\":{\"c\":1,\"c\":1}}",
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
		test_json_quick_check(documents[i], false);
}

/* Deeper than that is jansson's. */
static void
test_json_quick_deep(void **state)
{
	char document[2 * JSON_QUICK_DEPTH_MAX + 8];

	(void)state;
	for (size_t depth = JSON_QUICK_DEPTH_MAX - 1;
	     depth <= JSON_QUICK_DEPTH_MAX + 1; depth++) {
		memset(document, '[', depth);
		memset(document + depth, ']', depth);
		document[2 * depth] = '\0';
		test_json_quick_check(document, depth <= JSON_QUICK_DEPTH_MAX);
	}
}

/* A NUL is a byte like any other to what reads lengths. */
static void
test_json_quick_nul(void **state)
{
	char document[PLAIN + 16] = "{\"a\":\"";
	size_t len = strlen(document);
	json_error_t error;

	(void)state;
	memset(document + len, 'x', PLAIN);
	memcpy(document + len + PLAIN, "\"}", 2);
	document[len + PLAIN / 2] = '\0';
	assert_null(json_quick_load(document, len + PLAIN + 2, &error));
	document[len + PLAIN / 2] = 'x';
	document[len + PLAIN + 2] = '\0';
	assert_null(json_quick_load(document, len + PLAIN + 3, &error));
}

/* Every length around words of eight bytes, an escape at every place in it.
 */
static void
test_json_quick_lengths(void **state)
{
	char document[64];

	(void)state;
	for (size_t len = 2; len < 40; len++)
		for (size_t at = 0; at + 1 < len; at++) {
			memcpy(document, "[\"", 2);
			memset(document + 2, 'y', len);
			memcpy(document + 2 + at, "\\n", 2);
			memcpy(document + 2 + len, "\"]", 3);
			test_json_quick_check(document, true);
		}
}

/* Many of all kinds. */
static void
test_json_quick_many(void **state)
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
	test_json_quick_check(document, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_quick_taken),
	    cmocka_unit_test(test_json_quick_left),
	    cmocka_unit_test(test_json_quick_deep),
	    cmocka_unit_test(test_json_quick_nul),
	    cmocka_unit_test(test_json_quick_lengths),
	    cmocka_unit_test(test_json_quick_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
