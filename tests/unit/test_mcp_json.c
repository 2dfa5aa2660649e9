/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict JSON checker: one table of texts and the fault each must get,
 * and the bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/mcp_json.h"

static const struct mcp_hash_key test_mcp_json_key = {1, 2};

struct test_mcp_json_row {
	const char *text;
	size_t len; /* 0: strlen */
	enum mcp_json_fault fault;
};

static const struct test_mcp_json_row test_mcp_json_rows[] = {
    {"{}", 0, MCP_JSON_OK},
    {" [ 1 , -0.5e+3 , \"a\" , true , false , null ] ", 0, MCP_JSON_OK},
    {"{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}", 0, MCP_JSON_OK},
    {"\"\\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"", 0, MCP_JSON_OK},
    {"\"\xf0\x9f\x98\x80\xe2\x80\xa8\"", 0, MCP_JSON_OK},
    {"\"half \\ud83d in a value\"", 0, MCP_JSON_OK},
    {"\"\\u0000\"", 0, MCP_JSON_OK},
    {"0", 0, MCP_JSON_OK},
    {"", 0, MCP_JSON_EMPTY},
    {" \t ", 0, MCP_JSON_EMPTY},
    {"hello", 0, MCP_JSON_SYNTAX},
    {"{}{}", 0, MCP_JSON_SYNTAX},
    {"{} x", 0, MCP_JSON_SYNTAX},
    {"{\"a\":1,}", 0, MCP_JSON_SYNTAX},
    {"[1,]", 0, MCP_JSON_SYNTAX},
    {"[1 2]", 0, MCP_JSON_SYNTAX},
    {"[1}", 0, MCP_JSON_SYNTAX},
    {"{\"a\" 1}", 0, MCP_JSON_SYNTAX},
    {"{a:1}", 0, MCP_JSON_SYNTAX},
    {"{'a':1}", 0, MCP_JSON_SYNTAX},
    {"{\"a\":1", 0, MCP_JSON_SYNTAX},
    {"\"abc", 0, MCP_JSON_SYNTAX},
    {"01", 0, MCP_JSON_SYNTAX},
    {"1.", 0, MCP_JSON_SYNTAX},
    {"1e", 0, MCP_JSON_SYNTAX},
    {"+1", 0, MCP_JSON_SYNTAX},
    {".5", 0, MCP_JSON_SYNTAX},
    {"NaN", 0, MCP_JSON_SYNTAX},
    {"Infinity", 0, MCP_JSON_SYNTAX},
    {"nul", 0, MCP_JSON_SYNTAX},
    {"[1/*x*/]", 0, MCP_JSON_SYNTAX},
    {"\xef\xbb\xbf{}", 0, MCP_JSON_SYNTAX},
    {"{}\r", 0, MCP_JSON_CONTROL},
    {"{\r}", 0, MCP_JSON_CONTROL},
    {"[\n]", 0, MCP_JSON_CONTROL},
    {"\"a\rb\"", 0, MCP_JSON_CONTROL},
    {"\"a\nb\"", 0, MCP_JSON_CONTROL},
    {"{\"a\0b\":1}", 9, MCP_JSON_CONTROL},
    {"{}\0", 3, MCP_JSON_CONTROL},
    {"\"\x80\"", 0, MCP_JSON_UTF8},
    {"\"\xc0\xaf\"", 0, MCP_JSON_UTF8},
    {"\"\xe0\x80\xaf\"", 0, MCP_JSON_UTF8},
    {"\"\xed\xa0\x80\"", 0, MCP_JSON_UTF8},
    {"\"\xf4\x90\x80\x80\"", 0, MCP_JSON_UTF8},
    {"\"\xf5\x80\x80\x80\"", 0, MCP_JSON_UTF8},
    {"\"\xe2\x82\"", 0, MCP_JSON_UTF8},
    {"\"\\x41\"", 0, MCP_JSON_ESCAPE},
    {"\"\\u12g4\"", 0, MCP_JSON_ESCAPE},
    {"\"\\u12", 0, MCP_JSON_ESCAPE},
    {"\"\\", 0, MCP_JSON_ESCAPE},
    {"{\"a\\u0000\":1}", 0, MCP_JSON_BAD_KEY},
    {"{\"\\ud83d\":1}", 0, MCP_JSON_BAD_KEY},
    {"{\"\\ude00\":1}", 0, MCP_JSON_BAD_KEY},
    {"{\"\\ud83d\\u0041\":1}", 0, MCP_JSON_BAD_KEY},
    {"{\"a\":1,\"a\":2}", 0, MCP_JSON_DUPLICATE},
    {"{\"a\":1,\"\\u0061\":2}", 0, MCP_JSON_DUPLICATE},
    {"{\"/\":1,\"\\/\":2}", 0, MCP_JSON_DUPLICATE},
    {"{\"\xc3\xa9\":1,\"\\u00e9\":2}", 0, MCP_JSON_DUPLICATE},
    {"{\"\xf0\x9f\x98\x80\":1,\"\\uD83D\\uDE00\":2}", 0, MCP_JSON_DUPLICATE},
    {"{\"\\n\":1,\"\\u000a\":2}", 0, MCP_JSON_DUPLICATE},
    {"[[{\"x\":[{\"b\":0,\"c\":1,\"b\":2}]}]]", 0, MCP_JSON_DUPLICATE},
};

static void
test_mcp_json_table(void **state)
{
	struct mcp_json json;
	size_t i, position;

	(void)state;
	mcp_json_init(&json, &test_mcp_json_key);
	for (i = 0;
	     i < sizeof(test_mcp_json_rows) / sizeof(test_mcp_json_rows[0]);
	     i++) {
		const struct test_mcp_json_row *row = &test_mcp_json_rows[i];
		enum mcp_json_fault fault = mcp_json_check(&json, row->text,
		    row->len == 0 ? strlen(row->text) : row->len, &position);

		if (fault != row->fault)
			fail_msg("row %zu (%s): %s at %zu", i, row->text,
			    mcp_json_fault_text(fault), position);
	}
	mcp_json_free(&json);
}

static enum mcp_json_fault
test_mcp_json_nested(unsigned depth, char open, char close)
{
	struct mcp_json json;
	char text[1024];
	size_t position;
	enum mcp_json_fault fault;

	memset(text, open, depth);
	memset(text + depth, close, depth);
	mcp_json_init(&json, &test_mcp_json_key);
	fault = mcp_json_check(&json, text, 2 * depth, &position);
	mcp_json_free(&json);
	return fault;
}

static void
test_mcp_json_depth(void **state)
{
	(void)state;
	assert_int_equal(
	    test_mcp_json_nested(MCP_JSON_DEPTH_MAX, '[', ']'), MCP_JSON_OK);
	assert_int_equal(test_mcp_json_nested(MCP_JSON_DEPTH_MAX + 1, '[', ']'),
	    MCP_JSON_DEEP);
}

/* count distinct keys, the last one perhaps a second time. */
static enum mcp_json_fault
test_mcp_json_wide(unsigned count, bool repeat)
{
	struct mcp_json json;
	char *text = malloc((size_t)count * 16 + 64);
	size_t position, len = 0;
	enum mcp_json_fault fault;
	unsigned i;

	assert_non_null(text);
	text[len++] = '{';
	for (i = 0; i < count; i++)
		len += (size_t)sprintf(
		    text + len, "%s\"k%u\":0", i == 0 ? "" : ",", i);
	if (repeat)
		len += (size_t)sprintf(text + len, ",\"k0\":0");
	text[len++] = '}';
	mcp_json_init(&json, &test_mcp_json_key);
	fault = mcp_json_check(&json, text, len, &position);
	mcp_json_free(&json);
	free(text);
	return fault;
}

static void
test_mcp_json_many_keys(void **state)
{
	(void)state;
	assert_int_equal(test_mcp_json_wide(5000, false), MCP_JSON_OK);
	assert_int_equal(test_mcp_json_wide(5000, true), MCP_JSON_DUPLICATE);
	assert_int_equal(
	    test_mcp_json_wide(MCP_JSON_KEYS_MAX, false), MCP_JSON_OK);
	assert_int_equal(test_mcp_json_wide(MCP_JSON_KEYS_MAX + 1, false),
	    MCP_JSON_MANY_KEYS);
}

/* The reference vector of SipHash-2-4: key 00..0f, bytes 00..0e. */
static void
test_mcp_json_hash(void **state)
{
	struct mcp_hash_key key = {
	    0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
	uint8_t bytes[15];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_true(
	    mcp_hash_of(&key, bytes, sizeof(bytes)) == 0xa129ca6149be45e5ULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mcp_json_table),
	    cmocka_unit_test(test_mcp_json_depth),
	    cmocka_unit_test(test_mcp_json_many_keys),
	    cmocka_unit_test(test_mcp_json_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
