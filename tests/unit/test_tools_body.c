/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bodies of the tools port ask for, and which are refused as what; and
 * what is made of the result of a tool and of a list of tools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/tools_answer.h"

#define V "{\"jsonrpc\":\"2.0\","
#define RUN V "\"id\":1,\"method\":\"run_tool\",\"params\":"
#define CALL V "\"id\":1,\"method\":\"tools/call\",\"params\":"

static const struct mcp_hash_key test_tools_body_key = {7, 8};

static enum tools_fault
test_tools_body_read(
    enum tools_path path, const char *text, struct tools_body *body)
{
	struct mcp_json json;
	enum tools_fault fault;
	char *bytes = strdup(text);

	assert_non_null(bytes);
	mcp_json_init(&json, &test_tools_body_key);
	tools_body_flatten(bytes, strlen(bytes));
	fault = tools_body_read(&json, path, bytes, strlen(bytes), body);
	mcp_json_free(&json);
	free(bytes);
	return fault;
}

struct test_tools_body_row {
	enum tools_path path;
	const char *text;
	enum tools_fault fault;
};

static void
test_tools_body_table(void **state)
{
	static const struct test_tools_body_row rows[] = {
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\"}}", TOOLS_FAULT_NONE},
	    {TOOLS_PATH_RPC,
		RUN "{\"slug\":\"abc\",\"tool_name\":null,"
		    "\"arguments\":{\"x\":[1]}}}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_RPC, "\r\n" RUN "\n{\"slug\":\n\"abc\"}\r\n}\n",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"a\nbc\"}}", TOOLS_FAULT_JSON},
	    {TOOLS_PATH_RPC, "", TOOLS_FAULT_JSON},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"slug\":\"abd\"}}",
		TOOLS_FAULT_JSON},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"\\u0073lug\":\"abd\"}}",
		TOOLS_FAULT_JSON},
	    {TOOLS_PATH_RPC,
		RUN "{\"slug\":\"abc\",\"arguments\":{\"a\":1,\"a\":2}}}",
		TOOLS_FAULT_JSON},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\"}} x", TOOLS_FAULT_JSON},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"Slug\":\"abd\"}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"kwargs\":{}}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"../x\"}}", TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\\u0000\"}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":7}}", TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"tool_name\":\"a b\"}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"tool_name\":\"\"}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "{\"slug\":\"abc\",\"arguments\":[]}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "null}", TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_RPC, RUN "[]}", TOOLS_FAULT_MESSAGE},
	    {TOOLS_PATH_RPC, "[" RUN "{\"slug\":\"abc\"}}]",
		TOOLS_FAULT_MESSAGE},
	    {TOOLS_PATH_RPC,
		V "\"method\":\"run_tool\",\"params\":{\"slug\":\"abc\"}}",
		TOOLS_FAULT_MESSAGE},
	    {TOOLS_PATH_RPC, V "\"id\":1,\"result\":{}}", TOOLS_FAULT_MESSAGE},
	    {TOOLS_PATH_RPC, "{\"id\":1,\"method\":\"run_tool\"}",
		TOOLS_FAULT_MESSAGE},
	    {TOOLS_PATH_RPC, V "\"id\":1,\"method\":\"tools/call\"}",
		TOOLS_FAULT_UNKNOWN},
	    {TOOLS_PATH_MCP, RUN "{\"slug\":\"abc\"}}", TOOLS_FAULT_UNKNOWN},
	    {TOOLS_PATH_MCP, V "\"id\":1,\"method\":\"resources/list\"}",
		TOOLS_FAULT_UNKNOWN},
	    {TOOLS_PATH_MCP,
		V "\"id\":1,\"method\":\"sampling/createMessage\"}",
		TOOLS_FAULT_UNKNOWN},
	    {TOOLS_PATH_MCP, V "\"id\":1,\"method\":\"ping\"}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_MCP, V "\"method\":\"notifications/anything\"}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_MCP,
		V "\"id\":1,\"method\":\"tools/list\",\"params\":{}}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_MCP,
		V "\"id\":1,\"method\":\"tools/list\","
		  "\"params\":{\"cursor\":\"x\"}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP, V "\"id\":1,\"method\":\"initialize\"}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP, CALL "{\"name\":\"abc__tool\"}}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_MCP, CALL "{\"name\":\"tool\"}}", TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP, CALL "{\"name\":\"__tool\"}}", TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP, CALL "{\"name\":\"abc__\"}}", TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP, CALL "{\"name\":\"ABC__tool\"}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP, CALL "{\"name\":\"a__t\",\"Arguments\":{}}}",
		TOOLS_FAULT_PARAMS},
	    {TOOLS_PATH_MCP,
		"[" V "\"id\":1,\"method\":\"ping\"}," CALL
		"{\"name\":\"abc__tool\"}}]",
		TOOLS_FAULT_MESSAGE},
	    {TOOLS_PATH_RESULT, "{\"ok\":true,\"value\":null}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_RESULT, "{\"ok\":true}", TOOLS_FAULT_RESULT},
	    {TOOLS_PATH_RESULT, "{\"ok\":1,\"value\":2}", TOOLS_FAULT_RESULT},
	    {TOOLS_PATH_RESULT, "{\"ok\":null,\"value\":2}",
		TOOLS_FAULT_RESULT},
	    {TOOLS_PATH_RESULT, "{\"ok\":true,\"value\":2,\"x\":3}",
		TOOLS_FAULT_RESULT},
	    {TOOLS_PATH_RESULT, "{\"ok\":false,\"error\":\"E\"}",
		TOOLS_FAULT_NONE},
	    {TOOLS_PATH_RESULT, "{\"ok\":false,\"error\":{}}",
		TOOLS_FAULT_RESULT},
	    {TOOLS_PATH_RESULT, "[]", TOOLS_FAULT_RESULT},
	    {TOOLS_PATH_RESULT, "{\"ok\":true,\"value\":1,\"value\":2}",
		TOOLS_FAULT_JSON},
	};
	struct tools_body body;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum tools_fault got =
		    test_tools_body_read(rows[i].path, rows[i].text, &body);

		if (got != rows[i].fault)
			fail_msg("%s: expected %d, got %d", rows[i].text,
			    (int)rows[i].fault, (int)got);
	}
}

static void
test_tools_body_names(void **state)
{
	struct tools_body body;

	(void)state;
	assert_int_equal(test_tools_body_read(TOOLS_PATH_MCP,
			     CALL "{\"name\":\"a-b__get__all\"}}", &body),
	    TOOLS_FAULT_NONE);
	assert_string_equal(body.slug, "a-b");
	assert_string_equal(body.tool, "get__all");
	assert_int_equal(test_tools_body_read(TOOLS_PATH_MCP,
			     V "\"id\":1,\"method\":\"initialize\",\"params\":"
			       "{\"protocolVersion\":\"2025-06-18\"}}",
			     &body),
	    TOOLS_FAULT_NONE);
	assert_string_equal(body.version, "2025-06-18");
	assert_int_equal(test_tools_body_read(TOOLS_PATH_MCP,
			     V "\"id\":1,\"method\":\"initialize\",\"params\":"
			       "{\"protocolVersion\":\"1999-01-01\"}}",
			     &body),
	    TOOLS_FAULT_NONE);
	assert_string_equal(body.version, "2025-11-25");
}

/* A word of the agent's may reach the record of the run; text may not. */
static void
test_tools_body_codes(void **state)
{
	struct tools_body body;

	(void)state;
	test_tools_body_read(TOOLS_PATH_RESULT,
	    "{\"ok\":false,\"error\":\"E\",\"code\":\"step_failed\"}", &body);
	assert_string_equal(body.code, "step_failed");
	test_tools_body_read(TOOLS_PATH_RESULT,
	    "{\"ok\":false,\"error\":\"E\",\"code\":\"my secret\"}", &body);
	assert_string_equal(body.code, "agent_failed");
	test_tools_body_read(TOOLS_PATH_RESULT,
	    "{\"ok\":false,\"error\":\"E\",\"code\":17}", &body);
	assert_string_equal(body.code, "agent_failed");
}

/* --- answers ------------------------------------------------------------ */

static void
test_tools_body_expect(enum tools_path path, const char *mcp, const char *body)
{
	struct buffer out;
	struct tools_answer answer = {
	    .out = &out, .path = path, .id = {"\"i\"", 3}, .keep = true};
	char text[1024];
	const char *found;

	buffer_init(&out, 4096);
	assert_int_equal(
	    tools_answer_call(&answer, mcp_cursor_value(mcp, strlen(mcp))),
	    RESULT_OK);
	assert_true(out.len < sizeof(text));
	memcpy(text, buffer_bytes_borrow(&out), out.len);
	text[out.len] = '\0';
	found = strstr(text, "\r\n\r\n");
	assert_non_null(found);
	assert_string_equal(found + 4, body);
	(void)snprintf(
	    text, sizeof(text), "Content-Length: %zu\r\n", strlen(body));
	assert_non_null(
	    memmem(buffer_bytes_borrow(&out), out.len, text, strlen(text)));
	buffer_free(&out);
}

static void
test_tools_body_answers(void **state)
{
	(void)state;
	test_tools_body_expect(TOOLS_PATH_MCP, "{ \"content\":[ ] , \"x\":1.0}",
	    V "\"id\":\"i\",\"result\":{ \"content\":[ ] , \"x\":1.0}}");
	test_tools_body_expect(TOOLS_PATH_RPC,
	    "{\"content\":[{\"type\":\"text\",\"text\":\"a\\u00e9\"}]}",
	    V "\"id\":\"i\",\"result\":{\"success\":true,\"result\":"
	      "\"a\\u00e9\",\"error\":null,\"mode_used\":\"sandbox\"}}");
	test_tools_body_expect(TOOLS_PATH_RPC,
	    "{\"content\":[],\"structuredContent\":{\"n\":1}}",
	    V "\"id\":\"i\",\"result\":{\"success\":true,\"result\":{\"n\":1},"
	      "\"error\":null,\"mode_used\":\"sandbox\"}}");
	test_tools_body_expect(TOOLS_PATH_RPC,
	    "{\"content\":[{\"type\":\"image\",\"data\":\"\"}]}",
	    V "\"id\":\"i\",\"result\":{\"success\":true,\"result\":"
	      "[{\"type\":\"image\",\"data\":\"\"}],"
	      "\"error\":null,\"mode_used\":\"sandbox\"}}");
	test_tools_body_expect(TOOLS_PATH_RPC,
	    "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],"
	    "\"isError\":true}",
	    V "\"id\":\"i\",\"result\":{\"success\":false,\"result\":null,"
	      "\"error\":\"no\",\"mode_used\":\"sandbox\"}}");
	test_tools_body_expect(TOOLS_PATH_RPC,
	    "{\"content\":[],\"isError\":true}",
	    V "\"id\":\"i\",\"result\":{\"success\":false,\"result\":null,"
	      "\"error\":\"the tool failed\",\"mode_used\":\"sandbox\"}}");
}

static void
test_tools_body_is_call(void **state)
{
	static const char *const bad[] = {"{}", "[]", "\"x\"",
	    "{\"content\":{}}", "{\"content\":[],\"isError\":\"no\"}",
	    "{\"content\":[],\"structuredContent\":[]}",
	    "{\"content\":[],\"ISERROR\":true}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (tools_answer_is_call(
			mcp_cursor_value(bad[i], strlen(bad[i]))))
			fail_msg("%s is no result", bad[i]);
	}
	assert_false(tools_answer_is_call((struct mcp_span){NULL, 0}));
}

/* --- lists -------------------------------------------------------------- */

static void
test_tools_body_i109_listing(void **state)
{
	static const char list[] =
	    "{\"tools\":[{\"description\":\"d\",\"name\":\"a\",\"execution\":"
	    "{\"taskSupport\":\"required\"},\"inputSchema\":{ }},"
	    "{\"name\":\"hidden\"},{\"name\":\"a\",\"description\":\"twin\"},"
	    "{\"name\":\"b\\\"\"},{\"name\":\"b c\"},{\"NAME\":\"x\","
	    "\"name\":\"b\"},{\"name\":7},{}]}";
	const char *tools[] = {"a", "b\"", "b", "b c"};
	const struct tools_grant_package package = {
	    .slug = "p-q", .has_tools = true, .tools = tools, .tool_count = 4};
	struct tools_listing listing;

	(void)state;
	tools_listing_init(&listing);
	assert_true(tools_listing_is_wanted(&listing));
	tools_listing_asked(&listing);
	assert_false(tools_listing_is_wanted(&listing));
	assert_true(tools_listing_take(
	    &listing, &package, mcp_cursor_value(list, strlen(list))));
	assert_int_equal(listing.count, 2);
	assert_int_equal(listing.left_out, 6);
	buffer_append(&listing.text, "", 1);
	assert_string_equal((const char *)buffer_bytes_borrow(&listing.text),
	    "{\"name\":\"p-q__a\",\"description\":\"d\",\"inputSchema\":{ }},"
	    "{\"name\":\"p-q__b\\\"\"}");
	tools_listing_free(&listing);
}

static void
test_tools_body_listing_fails(void **state)
{
	static const char bad[] = "{\"tools\":[1]}";
	const struct tools_grant_package package = {.slug = "p"};
	struct tools_listing listing;

	(void)state;
	tools_listing_init(&listing);
	for (unsigned i = 0; i < TOOLS_LISTING_TRIES; i++) {
		assert_true(tools_listing_is_wanted(&listing));
		tools_listing_asked(&listing);
		assert_false(tools_listing_take(
		    &listing, &package, mcp_cursor_value(bad, strlen(bad))));
	}
	assert_false(tools_listing_is_wanted(&listing));
	assert_int_equal(listing.state, TOOLS_LISTING_FAILED);
	tools_listing_free(&listing);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tools_body_table),
	    cmocka_unit_test(test_tools_body_names),
	    cmocka_unit_test(test_tools_body_codes),
	    cmocka_unit_test(test_tools_body_answers),
	    cmocka_unit_test(test_tools_body_is_call),
	    cmocka_unit_test(test_tools_body_i109_listing),
	    cmocka_unit_test(test_tools_body_listing_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
