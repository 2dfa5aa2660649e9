/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bodies our own reader takes, that it takes them as jansson does, and
 * that it leaves to jansson all that is odd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/json_tree.h"

static void
test_json_tree_taken(void **state)
{
	static const char *const bodies[] = {
	    "{}",
	    " \t\r\n{ } \n",
	    "{\"a\":[]}",
	    "{\"a\":{},\"b\":[{},[],[[]]]}",
	    "{\"model\":\"m\",\"stream\":true,\"n\":null,\"x\":false}",
	    "{\"n\":[0,-0,1,-1,123456789012345678,-123456789012345678]}",
	    "{\"r\":[0.5,-0.5,1e3,1E-3,1.25e+2,0e0,0.1]}",
	    "{\"t\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
	    "{\"u\":\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"}",
	    "{\"u\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"}",
	    "{\"k\\u0041\\n\":\"v\\n\",\"\":\"\"}",
	    "{\"a\\n\":\"\\nlonger than the name was\",\"b\":\"\\\\\"}",
	    "{\"a\" : [ 1 , 2 ] , \"b\" : { \"c\" : 3 } }",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		json_t *ours = json_tree_read(bodies[i], strlen(bodies[i]));
		json_t *theirs =
		    json_loads(bodies[i], JSON_REJECT_DUPLICATES, NULL);

		if (ours == NULL || theirs == NULL || !json_equal(ours, theirs))
			fail_msg("%s", bodies[i]);
		json_decref(ours);
		json_decref(theirs);
	}
}

static void
test_json_tree_left(void **state)
{
	static const char *const bodies[] = {
	    "",
	    " ",
	    "[]",
	    "1",
	    "{",
	    "{}}",
	    "{}x",
	    "{\"a\"}",
	    "{\"a\":}",
	    "{\"a\":1,}",
	    "{,\"a\":1}",
	    "{\"a\":1 \"b\":2}",
	    "{\"a\":[1,]}",
	    "{\"a\":[,1]}",
	    "{\"a\":[1 2]}",
	    "{\"a\":[1}",
	    "{\"a\":1]",
	    "{a:1}",
	    "{\"a\":'b'}",
	    "{\"a\":1,\"a\":2}",
	    "{\"a\":1,\"\\u0061\":2}",
	    "{\"a\":\"\\u0000\"}",
	    "{\"a\\u0000\":1}",
	    "{\"a\":\"\\ud83d\"}",
	    "{\"a\":\"\\ud83dx\\ude00\"}",
	    "{\"a\":\"\\ude00\"}",
	    "{\"a\":\"\\ud83d\\u0041\"}",
	    "{\"a\":\"\\u12\"}",
	    "{\"a\":\"\\u12g4\"}",
	    "{\"a\":\"\\x\"}",
	    "{\"a\":\"\\\"}",
	    "{\"a\":\"\n\"}",
	    "{\"a\":\"\x01\"}",
	    "{\"a\":\"\xff\"}",
	    "{\"a\":\"\xc3\"}",
	    "{\"a\":\"\xed\xa0\x80\"}",
	    "{\"\xc0\x80\":1}",
	    "{\"a\":01}",
	    "{\"a\":+1}",
	    "{\"a\":-}",
	    "{\"a\":1.}",
	    "{\"a\":.5}",
	    "{\"a\":1e}",
	    "{\"a\":1e+}",
	    "{\"a\":1.5.2}",
	    "{\"a\":1x}",
	    "{\"a\":1e999}",
	    "{\"a\":12345678901234567890}",
	    "{\"a\":NaN}",
	    "{\"a\":tru}",
	    "{\"a\":nul",
	    "{\"a\":truex}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		json_t *ours = json_tree_read(bodies[i], strlen(bodies[i]));

		if (ours != NULL)
			fail_msg("%s", bodies[i]);
	}
	assert_null(json_tree_read("{\"a\0\":1}", 8));
	assert_null(json_tree_read("{\"a\":\0}", 7));
	assert_null(json_tree_read("{}\0", 3));
}

static void
test_json_tree_deep(void **state)
{
	char body[5 + 2 * JSON_TREE_DEPTH_MAX + 2];

	(void)state;
	for (size_t depth = JSON_TREE_DEPTH_MAX - 1;
	     depth <= JSON_TREE_DEPTH_MAX; depth++) {
		size_t len = 5;
		json_t *ours;

		memcpy(body, "{\"a\":", len);
		memset(body + len, '[', depth);
		memset(body + len + depth, ']', depth);
		len += 2 * depth;
		body[len++] = '}';
		ours = json_tree_read(body, len);
		if (depth < JSON_TREE_DEPTH_MAX)
			assert_non_null(ours);
		else
			assert_null(ours);
		json_decref(ours);
	}
}

/* Never behind the end, wherever it is cut. */
static void
test_json_tree_cut(void **state)
{
	static const char body[] =
	    "{\"a\\u00e9\":[\"\\ud83d\\ude00\",-1.5e3,true,null],\"b\":\"c\"}";
	char *copy;

	(void)state;
	for (size_t len = 0; len < sizeof(body) - 1; len++) {
		copy = test_malloc(len + 1); /* cmocka guards both ends */
		memcpy(copy, body, len);
		assert_null(json_tree_read(copy, len));
		test_free(copy);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_tree_taken),
	    cmocka_unit_test(test_json_tree_left),
	    cmocka_unit_test(test_json_tree_deep),
	    cmocka_unit_test(test_json_tree_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
