/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC entries out of lines, the rules of the policy, and the cutting
 * of members and items: three tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/mcp_edit.h"
#include "supervisor/gate/mcp_message.h"
#include "supervisor/gate/mcp_pending.h"
#include "supervisor/gate/mcp_policy.h"
#include "supervisor/gate/mcp_tools.h"

static const struct mcp_hash_key test_mcp_message_key = {3, 4};
static struct mcp_message test_mcp_message_parsed;

static enum mcp_fault
test_mcp_message_parse(const char *text)
{
	static struct mcp_json json;
	enum mcp_json_fault fault;
	enum mcp_fault result;
	size_t position;

	mcp_json_init(&json, &test_mcp_message_key);
	result = mcp_message_parse(&json, text, strlen(text),
	    &test_mcp_message_parsed, &fault, &position);
	mcp_json_free(&json);
	return result;
}

#define V "\"jsonrpc\":\"2.0\""

struct test_mcp_message_row {
	const char *text;
	enum mcp_fault fault;
};

static const struct test_mcp_message_row test_mcp_message_rows[] = {
    {"{" V ",\"id\":1,\"method\":\"ping\"}", MCP_FAULT_NONE},
    {"{" V ",\"id\":1,\"method\":\"ping\"}\r", MCP_FAULT_NONE},
    {"{" V ",\"id\":\"x\",\"m\\u0065thod\":\"ping\",\"params\":{}}",
	MCP_FAULT_NONE},
    {"{" V ",\"method\":\"ping\",\"params\":null}", MCP_FAULT_NONE},
    {"{" V ",\"id\":0,\"result\":null}", MCP_FAULT_NONE},
    {"{" V ",\"id\":-1,\"error\":{\"code\":1}}", MCP_FAULT_NONE},
    {"{" V ",\"id\":9007199254740991,\"result\":{}}", MCP_FAULT_NONE},
    {"[{" V ",\"method\":\"a\"},{" V ",\"id\":1,\"result\":{}}]",
	MCP_FAULT_NONE},
    {"", MCP_FAULT_BLANK},
    {"\r", MCP_FAULT_BLANK},
    {"Server started", MCP_FAULT_JSON},
    {"{" V ",\"id\":1,\"id\":2,\"method\":\"ping\"}", MCP_FAULT_JSON},
    {"{" V ",\r\"id\":1,\"method\":\"ping\"}", MCP_FAULT_JSON},
    {"3", MCP_FAULT_NOT_OBJECT},
    {"\"x\"", MCP_FAULT_NOT_OBJECT},
    {"[1]", MCP_FAULT_NOT_OBJECT},
    {"[[{" V ",\"method\":\"a\"}]]", MCP_FAULT_NOT_OBJECT},
    {"[]", MCP_FAULT_BATCH_EMPTY},
    {"{}", MCP_FAULT_SHAPE},
    {"{\"id\":1,\"method\":\"ping\"}", MCP_FAULT_VERSION},
    {"{\"jsonrpc\":\"1.0\",\"method\":\"ping\"}", MCP_FAULT_VERSION},
    {"{\"jsonrpc\":2.0,\"method\":\"ping\"}", MCP_FAULT_VERSION},
    {"{" V ",\"Method\":\"ping\"}", MCP_FAULT_MEMBER},
    {"{" V ",\"method\":\"ping\",\"METHOD\":\"x\"}", MCP_FAULT_MEMBER},
    {"{" V ",\"method\":\"ping\",\"extra\":1}", MCP_FAULT_MEMBER},
    {"{" V ",\"id\":null,\"method\":\"ping\"}", MCP_FAULT_ID},
    {"{" V ",\"id\":1.0,\"method\":\"ping\"}", MCP_FAULT_ID},
    {"{" V ",\"id\":1e2,\"method\":\"ping\"}", MCP_FAULT_ID},
    {"{" V ",\"id\":-0,\"method\":\"ping\"}", MCP_FAULT_ID},
    {"{" V ",\"id\":9007199254740992,\"result\":{}}", MCP_FAULT_ID},
    {"{" V ",\"id\":{},\"method\":\"ping\"}", MCP_FAULT_ID},
    {"{" V ",\"id\":true,\"method\":\"ping\"}", MCP_FAULT_ID},
    {"{" V ",\"id\":\"\\ud800\",\"result\":{}}", MCP_FAULT_ID},
    {"{" V ",\"id\":null,\"error\":{}}", MCP_FAULT_ID},
    {"{" V ",\"result\":{}}", MCP_FAULT_ID},
    {"{" V ",\"method\":1}", MCP_FAULT_METHOD},
    {"{" V ",\"method\":\"\"}", MCP_FAULT_METHOD},
    {"{" V ",\"method\":\"a b\"}", MCP_FAULT_METHOD},
    {"{" V ",\"method\":\"ping\\u0000\"}", MCP_FAULT_METHOD},
    {"{" V ",\"method\":\"p\xd1\x96ng\"}", MCP_FAULT_METHOD},
    {"{" V ",\"method\":\"ping\",\"params\":[]}", MCP_FAULT_PARAMS},
    {"{" V ",\"method\":\"ping\",\"params\":true}", MCP_FAULT_PARAMS},
    {"{" V ",\"id\":1,\"method\":\"ping\",\"result\":{}}", MCP_FAULT_SHAPE},
    {"{" V ",\"id\":1,\"result\":{},\"error\":{}}", MCP_FAULT_SHAPE},
    {"{" V ",\"id\":1,\"error\":1}", MCP_FAULT_SHAPE},
    {"{" V ",\"id\":1}", MCP_FAULT_SHAPE},
    {"{" V ",\"id\":1,\"result\":{},\"params\":{}}", MCP_FAULT_SHAPE},
};

static void
test_mcp_message_table(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(test_mcp_message_rows) /
			    sizeof(test_mcp_message_rows[0]);
	     i++) {
		enum mcp_fault fault =
		    test_mcp_message_parse(test_mcp_message_rows[i].text);

		if (fault != test_mcp_message_rows[i].fault)
			fail_msg("row %zu (%s): %s", i,
			    test_mcp_message_rows[i].text,
			    mcp_message_fault_text(fault));
	}
}

static void
test_mcp_message_batch_limit(void **state)
{
	char text[8192];
	size_t i, len;

	(void)state;
	for (i = MCP_MESSAGE_BATCH_MAX; i <= MCP_MESSAGE_BATCH_MAX + 1; i++) {
		size_t k;

		len = (size_t)sprintf(text, "[");
		for (k = 0; k < i; k++)
			len += (size_t)sprintf(text + len,
			    "%s{" V ",\"method\":\"a\"}", k == 0 ? "" : ",");
		sprintf(text + len, "]");
		assert_int_equal(test_mcp_message_parse(text),
		    i > MCP_MESSAGE_BATCH_MAX ? MCP_FAULT_BATCH_LONG
					      : MCP_FAULT_NONE);
	}
}

/* --- policy ------------------------------------------------------------- */

struct test_mcp_message_rule {
	enum mcp_side from;
	const char *rest; /* after the version */
	enum mcp_denial community, trusted;
};

#define CALL(name) "\"id\":1,\"method\":\"tools/call\",\"params\":{" name "}"
#define ASK(name) "\"id\":1,\"method\":\"" name "\""
#define NOTE(name) "\"method\":\"" name "\""

static const struct test_mcp_message_rule test_mcp_message_rules[] = {
    {MCP_CLIENT, ASK("ping"), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT, NOTE("ping"), MCP_DENIED_METHOD, MCP_DENIED_METHOD},
    {MCP_CLIENT, ASK("tools/list"), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT, ASK("tools/List"), MCP_DENIED_METHOD, MCP_DENIED_METHOD},
    {MCP_CLIENT, ASK("server/exec"), MCP_DENIED_METHOD, MCP_DENIED_METHOD},
    {MCP_CLIENT, ASK("sampling/createMessage"), MCP_DENIED_METHOD,
	MCP_DENIED_METHOD},
    {MCP_SERVER, ASK("tools/call"), MCP_DENIED_METHOD, MCP_DENIED_METHOD},
    {MCP_SERVER, ASK("sampling/createMessage"), MCP_DENIED_REACH, MCP_ALLOWED},
    {MCP_SERVER, ASK("elicitation/create"), MCP_DENIED_REACH, MCP_ALLOWED},
    {MCP_SERVER, ASK("roots/list"), MCP_DENIED_REACH, MCP_ALLOWED},
    {MCP_SERVER, NOTE("notifications/elicitation/complete"), MCP_DENIED_REACH,
	MCP_ALLOWED},
    {MCP_CLIENT, NOTE("notifications/roots/list_changed"), MCP_DENIED_REACH,
	MCP_ALLOWED},
    {MCP_SERVER, NOTE("notifications/progress"), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_SERVER, ASK("ping"), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT, CALL("\"name\":\"echo\""), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT, CALL("\"name\":\"ech\\u006f\""), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT, CALL("\"name\":\"shell\""), MCP_DENIED_TOOL, MCP_DENIED_TOOL},
    {MCP_CLIENT, CALL("\"name\":\"Echo\""), MCP_DENIED_TOOL, MCP_DENIED_TOOL},
    {MCP_CLIENT, CALL("\"name\":\"echo \""), MCP_DENIED_TOOL_NAME,
	MCP_DENIED_TOOL_NAME},
    {MCP_CLIENT, CALL("\"name\":\"echo\\u0000\""), MCP_DENIED_TOOL_NAME,
	MCP_DENIED_TOOL_NAME},
    {MCP_CLIENT, CALL("\"name\":\"echo\",\"Name\":\"shell\""),
	MCP_DENIED_TOOL_NAME, MCP_DENIED_TOOL_NAME},
    {MCP_CLIENT, CALL("\"name\":[\"echo\"]"), MCP_DENIED_TOOL_NAME,
	MCP_DENIED_TOOL_NAME},
    {MCP_CLIENT, CALL(""), MCP_DENIED_TOOL_NAME, MCP_DENIED_TOOL_NAME},
    {MCP_CLIENT, ASK("tools/call"), MCP_DENIED_TOOL_NAME, MCP_DENIED_TOOL_NAME},
    {MCP_CLIENT, ASK("resources/read"), MCP_DENIED_RESOURCES,
	MCP_DENIED_RESOURCES},
    {MCP_CLIENT, ASK("prompts/get"), MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT, ASK("completion/complete"), MCP_DENIED_RESOURCES,
	MCP_DENIED_RESOURCES},
    {MCP_CLIENT, ASK("initialize"), MCP_DENIED_INITIALIZE,
	MCP_DENIED_INITIALIZE},
    {MCP_CLIENT, ASK("initialize") ",\"params\":{\"capabilities\":{}}",
	MCP_ALLOWED, MCP_ALLOWED},
    {MCP_CLIENT,
	ASK("initialize") ",\"params\":{\"capabilities\":{},"
			  "\"Capabilitie\\u017f\":{\"roots\":{}}}",
	MCP_DENIED_INITIALIZE, MCP_DENIED_INITIALIZE},
};

static void
test_mcp_message_policy(void **state)
{
	static const char *const tools[] = {"echo", "add"};
	struct mcp_policy policy = {.prompts = true,
	    .has_tools = true,
	    .tools = tools,
	    .tool_count = 2,
	    .package = "p"};
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(test_mcp_message_rules) /
			    sizeof(test_mcp_message_rules[0]);
	     i++) {
		const struct test_mcp_message_rule *row =
		    &test_mcp_message_rules[i];

		snprintf(text, sizeof(text), "{" V ",%s}", row->rest);
		assert_int_equal(test_mcp_message_parse(text), MCP_FAULT_NONE);
		policy.community = true;
		if (mcp_policy_judge(&policy, row->from, false,
			&test_mcp_message_parsed.entries[0]) != row->community)
			fail_msg("row %zu, community: %s", i, row->rest);
		policy.community = false;
		if (mcp_policy_judge(&policy, row->from, false,
			&test_mcp_message_parsed.entries[0]) != row->trusted)
			fail_msg("row %zu, trusted: %s", i, row->rest);
	}
}

/* --- edit --------------------------------------------------------------- */

/* Keeps what holds a 'k'. */
static bool
test_mcp_message_keep(struct mcp_span key, struct mcp_span value, void *context)
{
	(void)key;
	(void)context;
	return memchr(value.bytes, 'k', value.len) != NULL;
}

static void
test_mcp_message_edit(void **state)
{
	static const char *const rows[][2] = {
	    {"[ ]", "[ ]"},
	    {"[\"k\"]", "[\"k\"]"},
	    {"[\"c\"]", "[]"},
	    {"[ \"c\" , \"k\" , \"k\" ]", "[ \"k\" , \"k\" ]"},
	    {"[\"k1\",\"c\",\"k2\"]", "[\"k1\",\"k2\"]"},
	    {"[\"k1\", \"c\", \"c\"]", "[\"k1\"]"},
	    {"[\"c\",\"c\", \"k1\",\"c\",\"k2\",\"c\" ]", "[\"k1\",\"k2\" ]"},
	    {"[\"c\",\"c\",\"c\"]", "[]"},
	    {"{\"a\":\"c\",\"b\" : \"k\"}", "{\"b\" : \"k\"}"},
	    {"{\"a\":{\"c\":[1,2]},\"b\":\"k\",\"d\":0}", "{\"b\":\"k\"}"},
	    {"{\"a\":0}", "{}"},
	};
	struct mcp_edit edit;
	struct buffer out;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_init(&out, 256);
		mcp_edit_start(&edit, &out, rows[i][0], strlen(rows[i][0]));
		mcp_edit_filter(&edit,
		    mcp_cursor_value(rows[i][0], strlen(rows[i][0])),
		    test_mcp_message_keep, NULL);
		assert_int_equal(mcp_edit_finish(&edit), RESULT_OK);
		assert_int_equal(out.len, strlen(rows[i][1]));
		assert_memory_equal(
		    buffer_bytes_borrow(&out), rows[i][1], out.len);
		buffer_free(&out);
	}
}

/* --- pending ------------------------------------------------------------ */

static struct mcp_span
test_mcp_message_id(const char *text)
{
	return (struct mcp_span){text, strlen(text)};
}

static void
test_mcp_message_pending(void **state)
{
	struct mcp_pending pending;
	struct mcp_pending_row *row;
	char text[16];
	unsigned i;

	(void)state;
	assert_int_equal(
	    mcp_pending_init(&pending, &test_mcp_message_key), RESULT_OK);
	assert_int_equal(
	    mcp_pending_add(&pending, test_mcp_message_id("\"a\""), &row),
	    RESULT_OK);
	assert_int_equal(
	    mcp_pending_add(&pending, test_mcp_message_id("1"), &row),
	    RESULT_OK);
	assert_int_equal(
	    mcp_pending_add(&pending, test_mcp_message_id("\"\\u0061\""), &row),
	    RESULT_EXISTS);
	assert_null(mcp_pending_find(&pending, test_mcp_message_id("\"1\"")));
	row = mcp_pending_find(&pending, test_mcp_message_id("\"\\u0061\""));
	assert_non_null(row);
	mcp_pending_remove(&pending, row);
	assert_null(mcp_pending_find(&pending, test_mcp_message_id("\"a\"")));
	for (i = 0; i < MCP_PENDING_MAX - 1; i++) {
		snprintf(text, sizeof(text), "%u", i + 100);
		assert_int_equal(
		    mcp_pending_add(&pending, test_mcp_message_id(text), &row),
		    RESULT_OK);
	}
	assert_int_equal(
	    mcp_pending_add(&pending, test_mcp_message_id("7"), &row),
	    RESULT_TOO_LONG);
	assert_false(mcp_pending_has_room(&pending, 1));
	mcp_pending_find(&pending, test_mcp_message_id("100"))->cancelled =
	    true;
	assert_true(mcp_pending_has_room(&pending, 1));
	assert_int_equal(
	    mcp_pending_add(&pending, test_mcp_message_id("7"), &row),
	    RESULT_OK);
	assert_null(mcp_pending_find(&pending, test_mcp_message_id("100")));
	/* The last row, too: what takes its place must be found. */
	snprintf(text, sizeof(text), "%u", MCP_PENDING_MAX - 2 + 100);
	mcp_pending_find(&pending, test_mcp_message_id(text))->cancelled = true;
	assert_int_equal(
	    mcp_pending_add(&pending, test_mcp_message_id("8"), &row),
	    RESULT_OK);
	assert_ptr_equal(
	    mcp_pending_find(&pending, test_mcp_message_id("8")), row);
	mcp_pending_free(&pending);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mcp_message_table),
	    cmocka_unit_test(test_mcp_message_batch_limit),
	    cmocka_unit_test(test_mcp_message_policy),
	    cmocka_unit_test(test_mcp_message_edit),
	    cmocka_unit_test(test_mcp_message_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
