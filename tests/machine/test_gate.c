/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts against the gate's state machine with a clock of their own: what
 * each side says, what each side then gets, in which state the gate is. No
 * descriptor, no process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/gate.h"

#define V "{\"jsonrpc\":\"2.0\","
#define TEST_GATE_GRACE 2000U

struct test_gate {
	struct gate gate;
	uint64_t now;
};

static const struct mcp_hash_key test_gate_key = {5, 6};
static const char *const test_gate_allowed[] = {"echo", "add"};

static void
test_gate_step(struct test_gate *test, enum gate_event_kind kind,
    enum gate_stream stream, const char *bytes, size_t len)
{
	struct gate_event event = {.kind = kind,
	    .stream = stream,
	    .bytes = bytes,
	    .len = len,
	    .text = bytes,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

static void
test_gate_open(struct test_gate *test, struct gate_options options)
{
	size_t i;

	memset(test, 0, sizeof(*test));
	test->now = 1000;
	if (options.line_max == 0)
		options.line_max = 4096;
	options.grace_ms = TEST_GATE_GRACE;
	options.policy.package = "demo";
	options.policy.resources = options.policy.prompts = true;
	assert_int_equal(
	    gate_init(&test->gate, &options, &test_gate_key), RESULT_OK);
	for (i = 0; i < GATE_STREAM_COUNT; i++)
		test->gate.present[i] = true;
	test_gate_step(test, GATE_EVENT_START, GATE_STREAM_COUNT, NULL, 0);
}

static struct gate_options
test_gate_mcp(void)
{
	struct gate_options options = {.mode = GATE_MCP};

	options.policy.community = true;
	return options;
}

static void
test_gate_say(struct test_gate *test, enum gate_stream stream, const char *text)
{
	size_t at, part, len = strlen(text);

	for (at = 0; at < len; at += part) {
		assert_true(gate_wants(&test->gate, stream));
		part = len - at < MCP_LINE_CHUNK ? len - at : MCP_LINE_CHUNK;
		test_gate_step(test, GATE_EVENT_BYTES, stream, text + at, part);
	}
}

/* Take what is waiting for an output and compare it. */
static void
test_gate_expect(
    struct test_gate *test, enum gate_stream stream, const char *text)
{
	struct buffer *out = gate_output(&test->gate, stream);
	char *got = malloc(out->len + 1);

	assert_non_null(got);
	memcpy(got, buffer_bytes_borrow(out), out->len);
	got[out->len] = '\0';
	buffer_clear(out);
	assert_string_equal(got, text);
	free(got);
	test_gate_step(test, GATE_EVENT_ROOM, stream, NULL, 0);
}

/* The same, but only that it holds each of some parts. */
static void
test_gate_expect_part(
    struct test_gate *test, enum gate_stream stream, const char *part)
{
	struct buffer *out = gate_output(&test->gate, stream);

	if (memmem(buffer_bytes_borrow(out), out->len, part, strlen(part)) ==
	    NULL)
		fail_msg("no %s in %.*s", part, (int)out->len,
		    (const char *)buffer_bytes_borrow(out));
}

static void
test_gate_drop(struct test_gate *test, enum gate_stream stream)
{
	buffer_clear(gate_output(&test->gate, stream));
	test_gate_step(test, GATE_EVENT_ROOM, stream, NULL, 0);
}

static void
test_gate_end(struct test_gate *test, enum gate_stream stream)
{
	test_gate_step(test, GATE_EVENT_EOF, stream, NULL, 0);
}

static void
test_gate_time(struct test_gate *test, uint64_t ms)
{
	test->now += ms;
	test_gate_step(test, GATE_EVENT_TIME, GATE_STREAM_COUNT, NULL, 0);
}

/* --- byte-exact passing ------------------------------------------------- */

static void
test_gate_passes_exactly(void **state)
{
	static const char call[] =
	    V " \"id\" : \"\\u0031\", \"method\":\"tools/call\",\"params\":"
	      "{\"arguments\":{\"x\":1.0e0,\"y\":\"\\/\"}, \"name\":\"echo\","
	      "\"_meta\":{\"progressToken\":7}}}\r\n";
	static const char progress[] =
	    V "\"method\":\"notifications/progress\",\"params\":"
	      "{\"progressToken\":7,\"progress\":1}}\n";
	static const char answer[] = "\t{ \"result\":{\"content\":[ ]},"
				     "\"id\":\"1\",\"jsonrpc\":\"2.0\"} \n";
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_CLIENT_IN, call);
	test_gate_expect(&test, GATE_WORK_IN, call);
	test_gate_say(&test, GATE_WORK_OUT, progress);
	test_gate_expect(&test, GATE_CLIENT_OUT, progress);
	test_gate_say(&test, GATE_WORK_OUT, answer);
	test_gate_expect(&test, GATE_CLIENT_OUT, answer);
	/* Not twice. */
	test_gate_say(&test, GATE_WORK_OUT, answer);
	test_gate_expect(&test, GATE_CLIENT_OUT, "");
	assert_int_equal(test.gate.session.counts.dropped, 1);
	gate_free(&test.gate);
}

static void
test_gate_initialize(void **state)
{
	static const char said[] =
	    V "\"id\":0,\"method\":\"initialize\",\"params\":"
	      "{\"capabilities\":{\"sampling\":{},\"experimental\":{\"x\":1},"
	      " \"roots\":{\"listChanged\":true},\"elicitation\":{}},"
	      "\"clientInfo\":{\"name\":\"c\"}}}\n";
	static const char got[] =
	    V "\"id\":0,\"method\":\"initialize\",\"params\":"
	      "{\"capabilities\":{\"experimental\":{\"x\":1}},"
	      "\"clientInfo\":{\"name\":\"c\"}}}\n";
	struct gate_options options = test_gate_mcp();
	struct test_gate test;

	(void)state;
	test_gate_open(&test, options);
	test_gate_say(&test, GATE_CLIENT_IN, said);
	test_gate_expect(&test, GATE_WORK_IN, got);
	gate_free(&test.gate);
	options.policy.community = false;
	test_gate_open(&test, options);
	test_gate_say(&test, GATE_CLIENT_IN, said);
	test_gate_expect(&test, GATE_WORK_IN, said);
	gate_free(&test.gate);
}

/* --- refusals ----------------------------------------------------------- */

static void
test_gate_noise(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_WORK_OUT,
	    "Server started\n{\"level\":\"info\"}\n\n[]\n"
	    "{\"jsonrpc\":\"2.0\",\"result\":{}}\n" V
	    "\"id\":5,\"result\":{}}\n" V "\"id\":null,\"error\":{}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT, "");
	assert_int_equal(test.gate.session.counts.noise, 4);
	gate_free(&test.gate);
}

static void
test_gate_server_asks(void **state)
{
	static const char ping[] = V "\"id\":\"p\",\"method\":\"ping\"}\n";
	static const char pong[] = V "\"id\":\"p\",\"result\":{}}\n";
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":9,\"method\":\"sampling/createMessage\"}\n" V
	      "\"id\":10,\"method\":\"roots/list\"}\n");
	test_gate_expect_part(
	    &test, GATE_WORK_IN, "\"id\":9,\"error\":{\"code\":-32601");
	test_gate_expect_part(
	    &test, GATE_WORK_IN, "\"reason\":\"capability_off\"");
	test_gate_expect(&test, GATE_CLIENT_OUT, "");
	test_gate_drop(&test, GATE_WORK_IN);
	/* A client cannot answer what was never asked. */
	test_gate_say(&test, GATE_CLIENT_IN, pong);
	test_gate_expect(&test, GATE_WORK_IN, "");
	test_gate_say(&test, GATE_WORK_OUT, ping);
	test_gate_expect(&test, GATE_CLIENT_OUT, ping);
	test_gate_say(&test, GATE_CLIENT_IN, pong);
	test_gate_expect(&test, GATE_WORK_IN, pong);
	gate_free(&test.gate);
}

static void
test_gate_tools(void **state)
{
	struct gate_options options = test_gate_mcp();
	struct test_gate test;

	(void)state;
	options.policy.has_tools = true;
	options.policy.tools = test_gate_allowed;
	options.policy.tool_count = 2;
	test_gate_open(&test, options);
	test_gate_say(&test, GATE_CLIENT_IN,
	    V "\"id\":1,\"method\":\"tools/call\",\"params\":"
	      "{\"name\":\"shell\"}}\n");
	test_gate_expect(&test, GATE_WORK_IN, "");
	test_gate_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":1,\"error\":{\"code\":-32602,\"message\":"
	      "\"agentnode: tool \\\"shell\\\" is not in the allowlist of "
	      "demo; to allow it, install demo again with --tool shell\","
	      "\"data\":{\"reason\":\"tool_not_allowed\"}}}\n");
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"tools/list\"}\n");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":1,\"result\":{\"tools\":[{\"name\":\"shell\"}, "
	      "{\"name\":\"echo\"},{\"name\":\"ech\\u006f\",\"x\":1},"
	      "{\"name\":\"add\"} ,{\"name\":\"add\\u200b\"},"
	      "{\"title\":\"t\"},{\"name\":\"add\",\"Name\":\"shell\"}],"
	      "\"nextCursor\":\"c\"}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\"},"
	      "{\"name\":\"add\"}],\"nextCursor\":\"c\"}}\n");
	/* The same name on another page is a second tool. */
	test_gate_say(&test, GATE_CLIENT_IN,
	    V "\"id\":2,\"method\":\"tools/list\",\"params\":"
	      "{\"cursor\":\"c\"}}\n");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":2,\"result\":{\"tools\":[{\"name\":\"echo\"}]}}\n");
	test_gate_expect(
	    &test, GATE_CLIENT_OUT, V "\"id\":2,\"result\":{\"tools\":[]}}\n");
	/* A fresh listing starts anew. */
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":3,\"method\":\"tools/list\"}\n");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"echo\"}]}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"echo\"}]}}\n");
	gate_free(&test.gate);
}

static void
test_gate_tool_list_lookalike(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"tools/list\"}\n");
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":1,\"result\":{\"tools\":[],\"Tools\":"
	      "[{\"name\":\"shell\"}]}}\n");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":1,\"error\":{\"code\":-32603");
	gate_free(&test.gate);
}

static void
test_gate_batch(void **state)
{
	static const char good[] =
	    "[" V "\"id\":1,\"method\":\"ping\"}," V
	    "\"method\":\"notifications/initialized\"}]\n";
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_CLIENT_IN, good);
	test_gate_expect(&test, GATE_WORK_IN, good);
	test_gate_say(&test, GATE_CLIENT_IN,
	    "[" V "\"id\":2,\"method\":\"ping\"}," V
	    "\"id\":3,\"method\":\"evil/x\"}," V "\"method\":\"nope\"}]\n");
	test_gate_expect(&test, GATE_WORK_IN, "");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "[{\"jsonrpc\":\"2.0\",\"id\":2");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"reason\":\"batch_denied\"}}},{");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"reason\":\"method_not_allowed\"}}}]");
	test_gate_drop(&test, GATE_CLIENT_OUT);
	/* Two requests of one id, and one answered twice. */
	test_gate_say(&test, GATE_CLIENT_IN,
	    "[" V "\"id\":4,\"method\":\"ping\"}," V
	    "\"id\":4,\"method\":\"ping\"}]\n");
	test_gate_expect(&test, GATE_WORK_IN, "");
	test_gate_drop(&test, GATE_CLIENT_OUT);
	test_gate_say(&test, GATE_WORK_OUT,
	    "[" V "\"id\":1,\"result\":{}}," V "\"id\":1,\"result\":{}}]\n");
	test_gate_expect_part(&test, GATE_CLIENT_OUT, "\"id\":1,\"error\"");
	gate_free(&test.gate);
}

static void
test_gate_id_in_use(void **state)
{
	static const char ask[] = V "\"id\":1,\"method\":\"ping\"}\n";
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_CLIENT_IN, ask);
	test_gate_expect(&test, GATE_WORK_IN, ask);
	test_gate_say(&test, GATE_CLIENT_IN, ask);
	test_gate_expect(&test, GATE_WORK_IN, "");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"reason\":\"id_in_use\"");
	gate_free(&test.gate);
}

static void
test_gate_refused_answer(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	test_gate_say(
	    &test, GATE_WORK_OUT, V "\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n");
	test_gate_expect_part(&test, GATE_CLIENT_OUT,
	    "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"agentnode: "
	    "the server's answer was refused: a duplicate key at byte 4");
	gate_free(&test.gate);
}

static void
test_gate_client_garbage(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_CLIENT_IN, "hello\n");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":null,\"error\":{\"code\":-32600");
	test_gate_drop(&test, GATE_CLIENT_OUT);
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":6,\"method\":\"ping\",\"x\":1}\n");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":6,\"error\":{\"code\":-32600");
	test_gate_expect(&test, GATE_WORK_IN, "");
	gate_free(&test.gate);
}

static void
test_gate_too_long(void **state)
{
	static char big[300000];
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	memset(big, ' ', sizeof(big) - 1);
	test_gate_say(&test, GATE_CLIENT_IN,
	    V "\"id\":1,\"method\":\"ping\"}\n" V
	      "\"id\":2,\"method\":\"ping\"}\n");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT, "{\"result\":{\"x\":[\"");
	test_gate_say(&test, GATE_WORK_OUT, big);
	test_gate_say(&test, GATE_WORK_OUT,
	    "\"]},\"jsonrpc\":\"2.0\",\"id\":2}\n" V
	    "\"id\":1,\"result\":{}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":2,\"error\":{\"code\":-32603,\"message\":\"agentnode: "
	      "a message longer than mcp.line_max (4096 bytes) was "
	      "dropped\",\"data\":{\"reason\":\"line_too_long\"}}}\n" V
	      "\"id\":1,\"result\":{}}\n");
	/* The client's own. */
	test_gate_say(&test, GATE_CLIENT_IN, V "\"id\":3,\"method\":\"x");
	test_gate_say(&test, GATE_CLIENT_IN, big);
	test_gate_say(&test, GATE_CLIENT_IN, "\"}\n");
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":3,\"error\":{\"code\":-32603");
	gate_free(&test.gate);
}

/* --- backpressure ------------------------------------------------------- */

static void
test_gate_backpressure(void **state)
{
	static char note[2048];
	struct test_gate test;
	struct buffer *out;
	size_t count = 0;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	snprintf(note, sizeof(note),
	    V "\"method\":\"notifications/message\",\"params\":"
	      "{\"data\":\"%01000d\"}}\n",
	    1);
	out = gate_output(&test.gate, GATE_CLIENT_OUT);
	while (gate_wants(&test.gate, GATE_WORK_OUT) && count < 10000) {
		test_gate_say(&test, GATE_WORK_OUT, note);
		count++;
	}
	assert_true(out->len <= MCP_SESSION_LOW + 2 * sizeof(note));
	/* The client may go on talking to the server. */
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	test_gate_expect_part(&test, GATE_WORK_IN, "ping");
	test_gate_drop(&test, GATE_CLIENT_OUT);
	assert_true(gate_wants(&test.gate, GATE_WORK_OUT));
	/* A server that floods refused requests and reads nothing. */
	count = 0;
	while (gate_wants(&test.gate, GATE_WORK_OUT) && count < 100000) {
		test_gate_say(&test, GATE_WORK_OUT,
		    V "\"id\":1,\"method\":\"roots/list\"}\n");
		count++;
	}
	assert_true(count < 100000);
	assert_true(gate_output(&test.gate, GATE_WORK_IN)->len <
		    MCP_SESSION_LOW + 4096 + MCP_SESSION_RESERVE);
	gate_free(&test.gate);
}

/* --- ends --------------------------------------------------------------- */

static void
test_gate_client_leaves(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}");
	test_gate_end(&test, GATE_CLIENT_IN);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	assert_true(gate_finished(&test.gate, GATE_WORK_IN));
	test_gate_expect(
	    &test, GATE_WORK_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	test_gate_say(&test, GATE_WORK_OUT, V "\"id\":1,\"result\":{}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT, V "\"id\":1,\"result\":{}}\n");
	test_gate_time(&test, TEST_GATE_GRACE - 1);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	test_gate_time(&test, 1);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_CLIENT_CLOSED);
	gate_free(&test.gate);
}

static void
test_gate_client_breaks(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_step(&test, GATE_EVENT_BROKEN, GATE_CLIENT_OUT, NULL, 0);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	test_gate_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_server_dies(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(&test, GATE_CLIENT_IN,
	    V "\"id\":1,\"method\":\"ping\"}\n" V
	      "\"id\":\"b\",\"method\":\"ping\"}\n" V
	      "\"id\":3,\"method\":\"ping\"}\n" V
	      "\"method\":\"notifications/cancelled\",\"params\":"
	      "{\"requestId\":3}}\n");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT, V "\"id\":1,\"result\":{\"part\":");
	test_gate_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	test_gate_step(
	    &test, GATE_EVENT_ENDED, GATE_STREAM_COUNT, " (exit 3)", 0);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":1,\"error\":{\"code\":-32603");
	test_gate_expect_part(&test, GATE_CLIENT_OUT,
	    "\"id\":\"b\",\"error\":{\"code\":-32000,\"message\":"
	    "\"agentnode: server ended (exit 3)\"");
	assert_null(memmem(
	    buffer_bytes_borrow(gate_output(&test.gate, GATE_CLIENT_OUT)),
	    gate_output(&test.gate, GATE_CLIENT_OUT)->len, "\"id\":3", 6));
	test_gate_end(&test, GATE_WORK_ERR);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	test_gate_drop(&test, GATE_CLIENT_OUT);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	gate_free(&test.gate);
}

static void
test_gate_server_stops_reading(void **state)
{
	struct test_gate test;

	(void)state;
	test_gate_open(&test, test_gate_mcp());
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	test_gate_step(&test, GATE_EVENT_BROKEN, GATE_WORK_IN, NULL, 0);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	test_gate_time(&test, GATE_END_WAIT_MS);
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":1,\"error\":{\"code\":-32000");
	test_gate_drop(&test, GATE_CLIENT_OUT);
	test_gate_time(&test, GATE_END_WAIT_MS);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_timeout(void **state)
{
	struct gate_options options = test_gate_mcp();
	struct test_gate test;

	(void)state;
	options.limits.request_ms = 30000;
	test_gate_open(&test, options);
	test_gate_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	test_gate_drop(&test, GATE_WORK_IN);
	assert_int_equal(
	    gate_next_ms(&test.gate, test.now), test.now + GATE_TICK_MS);
	test_gate_time(&test, 29999);
	test_gate_expect(&test, GATE_CLIENT_OUT, "");
	test_gate_time(&test, 1);
	test_gate_expect_part(
	    &test, GATE_CLIENT_OUT, "the server gave no answer within 30 s");
	test_gate_drop(&test, GATE_CLIENT_OUT);
	test_gate_expect(&test, GATE_WORK_IN,
	    V "\"method\":\"notifications/cancelled\",\"params\":"
	      "{\"requestId\":1,\"reason\":\"timeout\"}}\n");
	/* Too late. */
	test_gate_say(&test, GATE_WORK_OUT, V "\"id\":1,\"result\":{}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT, "");
	gate_free(&test.gate);
}

/* --- the other modes ---------------------------------------------------- */

static void
test_gate_text_mode(void **state)
{
	struct gate_options options = {.mode = GATE_TEXT, .output_max = 10};
	struct test_gate test;

	(void)state;
	test_gate_open(&test, options);
	test_gate_say(&test, GATE_CLIENT_IN, "in");
	test_gate_expect(&test, GATE_WORK_IN, "in");
	test_gate_end(&test, GATE_CLIENT_IN);
	assert_true(gate_finished(&test.gate, GATE_WORK_IN));
	assert_int_equal(test.gate.state, GATE_RELAYING);
	test_gate_say(&test, GATE_WORK_OUT, "a\x1b[2Jb\n");
	test_gate_expect(&test, GATE_CLIENT_OUT, "a\\x1b[2Jb\n");
	test_gate_say(&test, GATE_WORK_ERR, "oops\x07\n");
	test_gate_expect(&test, GATE_CLIENT_ERR, "oops\\x07\n");
	test_gate_say(&test, GATE_WORK_OUT, "123456");
	test_gate_expect(&test, GATE_CLIENT_OUT, "123");
	assert_int_equal(test.gate.reason, GATE_OUTPUT_LIMIT);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_raw_mode(void **state)
{
	struct gate_options options = {.mode = GATE_RAW};
	struct test_gate test;

	(void)state;
	test_gate_open(&test, options);
	test_gate_say(&test, GATE_WORK_OUT, "a\x1b[2J\xff\n");
	test_gate_expect(&test, GATE_CLIENT_OUT, "a\x1b[2J\xff\n");
	test_gate_end(&test, GATE_WORK_OUT);
	test_gate_end(&test, GATE_WORK_ERR);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	gate_free(&test.gate);
}

static void
test_gate_listing(void **state)
{
	struct gate_options options = {
	    .mode = GATE_TOOLS, .list_timeout_ms = 5000, .json = true};
	struct test_gate test;

	(void)state;
	options.policy.community = options.policy.has_tools = true;
	options.policy.tools = test_gate_allowed;
	options.policy.tool_count = 2;
	test_gate_open(&test, options);
	test_gate_expect_part(&test, GATE_WORK_IN, "\"initialize\"");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT,
	    "hello\n" V "\"id\":1,\"result\":{\"capabilities\":{}}}\n");
	test_gate_expect_part(&test, GATE_WORK_IN, "notifications/initialized");
	test_gate_expect_part(&test, GATE_WORK_IN, "\"tools/list\"");
	test_gate_drop(&test, GATE_WORK_IN);
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":2,\"result\":{\"tools\":[{\"name\":\"echo\","
	      "\"description\":\"a\\u001b[2J\\n\\\"b\\\"\"}],"
	      "\"nextCursor\":\"\\u0078\"}}\n");
	test_gate_expect_part(&test, GATE_WORK_IN, "\"cursor\":\"\\u0078\"");
	test_gate_say(&test, GATE_WORK_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"rm\"}]}}\n");
	test_gate_expect(&test, GATE_CLIENT_OUT,
	    "{\"tools\":[\n {\"name\":\"echo\",\"description\":"
	    "\"a?[2J \\\"b\\\"\",\"allowed\":true},\n {\"name\":\"rm\","
	    "\"description\":\"\",\"allowed\":false}\n]}\n");
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_LISTED);
	gate_free(&test.gate);
	/* A server that never answers. */
	test_gate_open(&test, options);
	test_gate_time(&test, 5000);
	assert_int_equal(test.gate.reason, GATE_LIST_FAILED);
	assert_string_equal(test.gate.listing.detail,
	    "the server gave no list of tools within 5 s");
	gate_free(&test.gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_passes_exactly),
	    cmocka_unit_test(test_gate_initialize),
	    cmocka_unit_test(test_gate_noise),
	    cmocka_unit_test(test_gate_server_asks),
	    cmocka_unit_test(test_gate_tools),
	    cmocka_unit_test(test_gate_tool_list_lookalike),
	    cmocka_unit_test(test_gate_batch),
	    cmocka_unit_test(test_gate_id_in_use),
	    cmocka_unit_test(test_gate_refused_answer),
	    cmocka_unit_test(test_gate_client_garbage),
	    cmocka_unit_test(test_gate_too_long),
	    cmocka_unit_test(test_gate_backpressure),
	    cmocka_unit_test(test_gate_client_leaves),
	    cmocka_unit_test(test_gate_client_breaks),
	    cmocka_unit_test(test_gate_server_dies),
	    cmocka_unit_test(test_gate_server_stops_reading),
	    cmocka_unit_test(test_gate_timeout),
	    cmocka_unit_test(test_gate_text_mode),
	    cmocka_unit_test(test_gate_raw_mode),
	    cmocka_unit_test(test_gate_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
