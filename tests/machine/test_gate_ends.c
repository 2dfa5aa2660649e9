/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backpressure, every way a conversation ends, and the other modes of the
 * gate, as scripts with a clock of their own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gate_script.h"

static const char *const test_gate_ends_allowed[] = {"echo", "add"};

/* --- backpressure ------------------------------------------------------- */

static void
test_gate_ends_backpressure(void **state)
{
	static char note[2048];
	struct gate_script test;
	struct buffer *out;
	size_t count = 0;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	snprintf(note, sizeof(note),
	    V "\"method\":\"notifications/message\",\"params\":"
	      "{\"data\":\"%01000d\"}}\n",
	    1);
	out = gate_view_output(&test.gate, GATE_CLIENT_OUT);
	while (gate_view_wants(&test.gate, GATE_WORK_OUT) && count < 10000) {
		gate_script_say(&test, GATE_WORK_OUT, note);
		count++;
	}
	assert_true(out->len <= MCP_SESSION_LOW + 2 * sizeof(note));
	/* The client may go on talking to the server. */
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_expect_part(&test, GATE_WORK_IN, "ping");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	assert_true(gate_view_wants(&test.gate, GATE_WORK_OUT));
	/* A server that floods refused requests and reads nothing. */
	count = 0;
	while (gate_view_wants(&test.gate, GATE_WORK_OUT) && count < 100000) {
		gate_script_say(&test, GATE_WORK_OUT,
		    V "\"id\":1,\"method\":\"roots/list\"}\n");
		count++;
	}
	assert_true(count < 100000);
	assert_true(gate_view_output(&test.gate, GATE_WORK_IN)->len <
		    MCP_SESSION_LOW + 4096 + MCP_SESSION_RESERVE);
	gate_free(&test.gate);
}

/* --- ends --------------------------------------------------------------- */

static void
test_gate_ends_client_leaves(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}");
	gate_script_end(&test, GATE_CLIENT_IN);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	assert_true(gate_view_is_finished(&test.gate, GATE_WORK_IN));
	gate_script_expect(
	    &test, GATE_WORK_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":1,\"result\":{}}\n");
	gate_script_expect(
	    &test, GATE_CLIENT_OUT, V "\"id\":1,\"result\":{}}\n");
	gate_script_time(&test, GATE_SCRIPT_GRACE - 1);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	gate_script_time(&test, 1);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_CLIENT_CLOSED);
	gate_free(&test.gate);
}

static void
test_gate_ends_client_breaks(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_step(&test, GATE_EVENT_BROKEN, GATE_CLIENT_OUT, NULL, 0);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	gate_script_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_CLIENT_GONE);
	gate_script_step(
	    &test, GATE_EVENT_ENDED, GATE_STREAM_COUNT, " (exit 0)", 0);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_ends_server_dies(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_CLIENT_IN,
	    V "\"id\":1,\"method\":\"ping\"}\n" V
	      "\"id\":\"b\",\"method\":\"ping\"}\n" V
	      "\"id\":3,\"method\":\"ping\"}\n" V
	      "\"method\":\"notifications/cancelled\",\"params\":"
	      "{\"requestId\":3}}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(
	    &test, GATE_WORK_OUT, V "\"id\":1,\"result\":{\"part\":");
	gate_script_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	gate_script_step(
	    &test, GATE_EVENT_ENDED, GATE_STREAM_COUNT, " (exit 3)", 0);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":1,\"error\":{\"code\":-32603");
	gate_script_expect_part(&test, GATE_CLIENT_OUT,
	    "\"id\":\"b\",\"error\":{\"code\":-32000,\"message\":"
	    "\"agentnode: server ended (exit 3)\"");
	assert_null(memmem(
	    buffer_bytes_borrow(gate_view_output(&test.gate, GATE_CLIENT_OUT)),
	    gate_view_output(&test.gate, GATE_CLIENT_OUT)->len, "\"id\":3", 6));
	gate_script_end(&test, GATE_WORK_ERR);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	gate_script_drop(&test, GATE_CLIENT_OUT);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	gate_free(&test.gate);
}

static void
test_gate_ends_server_stops_reading(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_step(&test, GATE_EVENT_BROKEN, GATE_WORK_IN, NULL, 0);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	gate_script_time(&test, GATE_END_WAIT_MS);
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":1,\"error\":{\"code\":-32000");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_script_time(&test, GATE_END_WAIT_MS);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_ends_timeout(void **state)
{
	struct gate_options options = gate_script_mcp();
	struct gate_script test;

	(void)state;
	options.limits.request_ms = 30000;
	gate_script_open(&test, options);
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	assert_int_equal(
	    gate_view_next_ms(&test.gate, test.now), test.now + GATE_TICK_MS);
	gate_script_time(&test, 29999);
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	gate_script_time(&test, 1);
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "the server gave no answer within 30 s");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_script_expect(&test, GATE_WORK_IN,
	    V "\"method\":\"notifications/cancelled\",\"params\":"
	      "{\"requestId\":1,\"reason\":\"timeout\"}}\n");
	/* Too late. */
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":1,\"result\":{}}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	gate_free(&test.gate);
}

/* --- the other modes ---------------------------------------------------- */

static void
test_gate_ends_text_mode(void **state)
{
	struct gate_options options = {.mode = GATE_TEXT, .output_max = 10};
	struct gate_script test;

	(void)state;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_CLIENT_IN, "in");
	gate_script_expect(&test, GATE_WORK_IN, "in");
	gate_script_end(&test, GATE_CLIENT_IN);
	assert_true(gate_view_is_finished(&test.gate, GATE_WORK_IN));
	assert_int_equal(test.gate.state, GATE_RELAYING);
	gate_script_say(&test, GATE_WORK_OUT, "a\x1b[2Jb\n");
	gate_script_expect(&test, GATE_CLIENT_OUT, "a\\x1b[2Jb\n");
	gate_script_say(&test, GATE_WORK_ERR, "oops\x07\n");
	gate_script_expect(&test, GATE_CLIENT_ERR, "oops\\x07\n");
	gate_script_say(&test, GATE_WORK_OUT, "123456");
	gate_script_expect(&test, GATE_CLIENT_OUT, "123");
	assert_int_equal(test.gate.reason, GATE_OUTPUT_LIMIT);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_ends_raw_mode(void **state)
{
	struct gate_options options = {.mode = GATE_RAW};
	struct gate_script test;

	(void)state;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_WORK_OUT, "a\x1b[2J\xff\n");
	gate_script_expect(&test, GATE_CLIENT_OUT, "a\x1b[2J\xff\n");
	gate_script_end(&test, GATE_WORK_OUT);
	gate_script_end(&test, GATE_WORK_ERR);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	gate_free(&test.gate);
}

/* Step with the end of the workload. */
static void
test_gate_ends_build_end(struct gate_script *test, bool failed)
{
	struct gate_event event = {.kind = GATE_EVENT_ENDED,
	    .stream = GATE_STREAM_COUNT,
	    .text = failed ? " (exit 1)" : " (exit 0)",
	    .failed = failed,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

/* Its end counts and the end of its output; nobody's reader holds it up. */
static void
test_gate_ends_build_mode(void **state)
{
	struct gate_options options = {.mode = GATE_BUILD, .label = "npm"};
	struct gate_script test;

	(void)state;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_WORK_OUT, "a\x1b[2Jb\nERROR: no\n");
	gate_script_expect(&test, GATE_CLIENT_ERR, "npm: a\\u001b[2Jb\n");
	test_gate_ends_build_end(&test, true);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	gate_script_say(&test, GATE_WORK_OUT, "last");
	gate_script_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	gate_script_expect(
	    &test, GATE_CLIENT_ERR, "npm: ERROR: no\nnpm: last\n");
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	assert_string_equal(test.gate.build.reason, "no");
	gate_free(&test.gate);
	/* Output that ends early, and output that never does. */
	gate_script_open(&test, options);
	gate_script_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_RELAYING);
	test_gate_ends_build_end(&test, false);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
	gate_script_open(&test, options);
	test_gate_ends_build_end(&test, false);
	gate_script_time(&test, GATE_END_WAIT_MS - 1);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	gate_script_time(&test, 1);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

/* A watcher that does not read loses lines; the build goes on. */
static void
test_gate_ends_build_unread(void **state)
{
	struct gate_options options = {.mode = GATE_BUILD, .label = "npm"};
	struct gate_script test;

	(void)state;
	gate_script_open(&test, options);
	for (size_t i = 0; i < 10000; i++) {
		test.now += GATE_BUILD_EVERY_MS;
		gate_script_say(&test, GATE_WORK_OUT, "some words of it\n");
	}
	assert_true(gate_view_output(&test.gate, GATE_CLIENT_ERR)->len <=
		    GATE_BUILD_OUT_MAX);
	test_gate_ends_build_end(&test, false);
	gate_script_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	gate_script_time(&test, GATE_DRAIN_WAIT_MS);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_ends_listing(void **state)
{
	struct gate_options options = {
	    .mode = GATE_TOOLS, .list_timeout_ms = 5000, .json = true};
	struct gate_script test;

	(void)state;
	options.policy.community = options.policy.has_tools = true;
	options.policy.tools = test_gate_ends_allowed;
	options.policy.tool_count = 2;
	gate_script_open(&test, options);
	gate_script_expect_part(&test, GATE_WORK_IN, "\"initialize\"");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT,
	    "hello\n" V "\"id\":1,\"result\":{\"capabilities\":{}}}\n");
	gate_script_expect_part(
	    &test, GATE_WORK_IN, "notifications/initialized");
	gate_script_expect_part(&test, GATE_WORK_IN, "\"tools/list\"");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":2,\"result\":{\"tools\":[{\"name\":\"echo\","
	      "\"description\":\"a\\u001b[2J\\n\\\"b\\\"\"}],"
	      "\"nextCursor\":\"\\u0078\"}}\n");
	gate_script_expect_part(&test, GATE_WORK_IN, "\"cursor\":\"\\u0078\"");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"rm\"}]}}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    "{\"tools\":[\n {\"name\":\"echo\",\"description\":"
	    "\"a?[2J \\\"b\\\"\",\"allowed\":true},\n {\"name\":\"rm\","
	    "\"description\":\"\",\"allowed\":false}\n]}\n");
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_LISTED);
	gate_free(&test.gate);
	/* A server that never answers. */
	gate_script_open(&test, options);
	gate_script_time(&test, 5000);
	assert_int_equal(test.gate.reason, GATE_LIST_FAILED);
	assert_string_equal(test.gate.listing.detail,
	    "the server gave no list of tools within 5 s");
	gate_free(&test.gate);
}

/* --- what does not arrive ------------------------------------------------ */

static void
test_gate_ends_break(struct gate_script *test, int error)
{
	const struct gate_event event = {.kind = GATE_EVENT_BROKEN,
	    .stream = GATE_CLIENT_OUT,
	    .error = error,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

static void
test_gate_ends_output_lost(void **state)
{
	const struct gate_options raw = {.mode = GATE_RAW};
	struct gate_script test;

	(void)state;
	/* A full disk while the program writes. */
	gate_script_open(&test, raw);
	gate_script_say(&test, GATE_WORK_OUT, "text");
	test_gate_ends_break(&test, ENOSPC);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_OUTPUT_FAILED);
	assert_int_equal(test.gate.output_error, ENOSPC);
	gate_free(&test.gate);
	/* And when it has ended. */
	gate_script_open(&test, raw);
	gate_script_say(&test, GATE_WORK_OUT, "text");
	gate_script_end(&test, GATE_WORK_OUT);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	test_gate_ends_break(&test, EIO);
	assert_int_equal(test.gate.reason, GATE_OUTPUT_FAILED);
	gate_free(&test.gate);
	/* A reader that left may do so. */
	gate_script_open(&test, raw);
	test_gate_ends_break(&test, EPIPE);
	assert_int_equal(test.gate.reason, GATE_CLIENT_CLOSED);
	gate_free(&test.gate);
}

/* A client that is there and takes nothing has not got the answer. */
static void
test_gate_ends_output_unread(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":1,\"result\":{}}\n");
	gate_script_end(&test, GATE_CLIENT_IN);
	gate_script_time(&test, GATE_SCRIPT_GRACE);
	assert_int_equal(test.gate.state, GATE_DRAINING);
	gate_script_time(&test, GATE_DRAIN_WAIT_MS);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_OUTPUT_FAILED);
	assert_int_equal(test.gate.output_error, ETIMEDOUT);
	gate_free(&test.gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_ends_backpressure),
	    cmocka_unit_test(test_gate_ends_client_leaves),
	    cmocka_unit_test(test_gate_ends_client_breaks),
	    cmocka_unit_test(test_gate_ends_server_dies),
	    cmocka_unit_test(test_gate_ends_server_stops_reading),
	    cmocka_unit_test(test_gate_ends_timeout),
	    cmocka_unit_test(test_gate_ends_text_mode),
	    cmocka_unit_test(test_gate_ends_raw_mode),
	    cmocka_unit_test(test_gate_ends_build_mode),
	    cmocka_unit_test(test_gate_ends_build_unread),
	    cmocka_unit_test(test_gate_ends_listing),
	    cmocka_unit_test(test_gate_ends_output_lost),
	    cmocka_unit_test(test_gate_ends_output_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
