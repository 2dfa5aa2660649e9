/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line framing: any segmentation gives the same lines, a line over the cap
 * is skipped to its end and its id is known, the next line is in step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/mcp_line.h"

#define TEST_MCP_LINE_MAX 40U

/* Lines come out as "text|", skipped ones as "<len id>|". */
static void
test_mcp_line_drain(struct mcp_line *line, char *out)
{
	enum mcp_line_status status;
	const char *bytes;
	uint64_t len;

	while ((status = mcp_line_next(line, &bytes, &len)) !=
	       MCP_LINE_NEED_MORE) {
		if (status == MCP_LINE_READY)
			sprintf(out + strlen(out), "%.*s|", (int)len, bytes);
		else
			sprintf(out + strlen(out), "<%d %.*s>|", (int)len,
			    (int)line->peek.id_len, line->peek.id);
	}
}

static void
test_mcp_line_split(const char *text, size_t step, char *out)
{
	struct mcp_line line;
	size_t at, part, len = strlen(text);

	out[0] = '\0';
	mcp_line_init(&line, TEST_MCP_LINE_MAX);
	for (at = 0; at < len; at += part) {
		part = len - at < step ? len - at : step;
		assert_int_equal(
		    mcp_line_append(&line, text + at, part), RESULT_OK);
		test_mcp_line_drain(&line, out);
		assert_true(line.buffer.len <= TEST_MCP_LINE_MAX);
	}
	assert_int_equal(mcp_line_finish(&line), RESULT_OK);
	test_mcp_line_drain(&line, out);
	mcp_line_free(&line);
}

static void
test_mcp_line_segmentation(void **state)
{
	static const char text[] =
	    "one\n\ntwo\r\n"
	    "{\"result\":{\"id\":9,\"x\":\"}]\\\"\"},\"jsonrpc\":\"2.0\","
	    "\"id\": \"seven\" }\n"
	    "1234567890123456789012345678901234567890\n"
	    "12345678901234567890123456789012345678901\n"
	    "last";
	static const char expected[] =
	    "one||two\r|<61 \"seven\">|"
	    "1234567890123456789012345678901234567890|<41 >|last|";
	char out[512];
	size_t step;

	(void)state;
	for (step = 1; step < sizeof(text); step++) {
		test_mcp_line_split(text, step, out);
		assert_string_equal(out, expected);
	}
}

/* A long line costs no memory and the next one is in step. */
static void
test_mcp_line_endless(void **state)
{
	static char chunk[MCP_LINE_CHUNK];
	struct mcp_line line;
	const char *bytes;
	uint64_t len;
	int i;

	(void)state;
	memset(chunk, 'x', sizeof(chunk));
	mcp_line_init(&line, 1000);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(
		    mcp_line_append(&line, chunk, sizeof(chunk)), RESULT_OK);
		assert_int_equal(
		    mcp_line_next(&line, &bytes, &len), MCP_LINE_NEED_MORE);
		assert_true(line.buffer.capacity <= 1000);
	}
	assert_int_equal(mcp_line_append(&line, "\n{}\n", 4), RESULT_OK);
	assert_int_equal(mcp_line_next(&line, &bytes, &len), MCP_LINE_TOO_LONG);
	assert_true(len == 1000 * (uint64_t)sizeof(chunk));
	assert_int_equal(mcp_line_next(&line, &bytes, &len), MCP_LINE_READY);
	assert_memory_equal(bytes, "{}", 2);
	mcp_line_free(&line);
}

struct test_mcp_line_peek {
	const char *text, *id;
	int has_method;
};

static void
test_mcp_line_peeks(void **state)
{
	static const struct test_mcp_line_peek rows[] = {
	    {"{\"id\":12,\"method\":\"x\"}", "12", 1},
	    {"{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":\"a b\"}", "\"a b\"",
		0},
	    {"{\"x\":{\"id\":1},\"y\":[{\"id\":2}]}", "", 0},
	    {"{\"x\":\"id\",\"id\" :  -3 }", "-3", 0},
	    {"[{\"id\":1}]", "", 0},
	    {"noise {\"id\":1}", "", 0},
	    {"{\"method\":\"a\",\"id\":{\"id\":4}}", "{\"id\":4}", 1},
	    {"{\"id\":1,\"id\":2}", "2", 0},
	    {"{\"idd\":1,\"i\":2}", "", 0},
	    {"", "", 0},
	};
	struct mcp_peek peek;
	char id[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mcp_peek_start(&peek);
		mcp_peek_feed(&peek, rows[i].text, strlen(rows[i].text));
		snprintf(id, sizeof(id), "%.*s", (int)peek.id_len, peek.id);
		assert_string_equal(id, rows[i].id);
		assert_int_equal(peek.has_method, rows[i].has_method);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mcp_line_segmentation),
	    cmocka_unit_test(test_mcp_line_endless),
	    cmocka_unit_test(test_mcp_line_peeks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
