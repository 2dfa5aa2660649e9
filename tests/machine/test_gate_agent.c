/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes out of an agent's run, and what a gate that is the client of a
 * tool package does, as scripts. No descriptor, no process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gate_script.h"

/* --- agents ------------------------------------------------------------- */

static struct gate_options
test_gate_agent_options(bool product)
{
	struct gate_options options = {.mode = GATE_AGENT};

	options.product = product;
	options.result_max = 1024;
	return options;
}

static void
test_gate_agent_result(struct gate_script *test, const char *text)
{
	gate_script_step(
	    test, GATE_EVENT_RESULT, GATE_STREAM_COUNT, text, strlen(text));
}

static void
test_gate_agent_ended(struct gate_script *test)
{
	gate_script_step(
	    test, GATE_EVENT_ENDED, GATE_STREAM_COUNT, " (exit 0)", 0);
}

/* The result alone is on standard output; what it says goes aside. */
static void
test_gate_agent_i108_noise(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_options(false));
	gate_script_say(&test, GATE_WORK_OUT, "{\"ok\":true,\"value\":1}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	gate_script_expect(
	    &test, GATE_CLIENT_ERR, "{\"ok\":true,\"value\":1}\n");
	gate_script_say(&test, GATE_WORK_ERR, "\x1b[2Jtrace\n");
	gate_script_expect(&test, GATE_CLIENT_ERR, "\\x1b[2Jtrace\n");
	test_gate_agent_result(&test, "{\"ok\":true,\"value\":2}");
	gate_script_expect(
	    &test, GATE_CLIENT_OUT, "{\"ok\":true,\"value\":2}\n");
	gate_script_end(&test, GATE_WORK_OUT);
	gate_script_end(&test, GATE_WORK_ERR);
	assert_int_equal(test.gate.state, GATE_RELAYING);
	test_gate_agent_ended(&test);
	assert_int_equal(test.gate.state, GATE_DONE);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	gate_free(&test.gate);
}

/* A result is JSON still, and shows nothing to a terminal. */
static void
test_gate_agent_safe_result(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_options(false));
	test_gate_agent_result(&test,
	    "\"gr\xc3\xbc\xc3\x9f \xe2\x80\xae \xc2\x9b \x7f \xf3\xa0\x80\xa1"
	    " \\u001b\"");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    "\"gr\xc3\xbc\xc3\x9f \\u202e \\u009b \\u007f \\udb40\\udc21"
	    " \\u001b\"\n");
	gate_free(&test.gate);
}

/* A program's output, made safe, then its result. */
static void
test_gate_agent_product(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_options(true));
	gate_script_say(&test, GATE_WORK_OUT, "one\x1b\n");
	test_gate_agent_result(&test, "{\"ok\":true,\"value\":2}");
	gate_script_expect(&test, GATE_CLIENT_OUT, "one\\x1b\n");
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	test_gate_agent_ended(&test);
	/* It has ended, and what it wrote is still in its pipe. */
	gate_script_time(&test, 60000);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	gate_script_say(&test, GATE_WORK_OUT, "two\n");
	gate_script_end(&test, GATE_WORK_OUT);
	gate_script_end(&test, GATE_WORK_ERR);
	gate_script_expect(&test, GATE_CLIENT_OUT, "two\n");
	gate_script_expect(
	    &test, GATE_CLIENT_OUT, "{\"ok\":true,\"value\":2}\n");
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

static void
test_gate_agent_capped(void **state)
{
	struct gate_options options = test_gate_agent_options(true);
	struct gate_script test;

	(void)state;
	options.output_max = 4;
	options.raw = true;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_WORK_OUT, "\x1b[2J and more");
	gate_script_expect(&test, GATE_CLIENT_OUT, "\x1b[2J");
	assert_int_equal(test.gate.reason, GATE_OUTPUT_LIMIT);
	gate_free(&test.gate);
}

static void
test_gate_agent_client_gone(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_options(false));
	test_gate_agent_result(&test, "{}");
	gate_script_step(&test, GATE_EVENT_BROKEN, GATE_CLIENT_OUT, NULL, 0);
	assert_int_equal(test.gate.reason, GATE_CLIENT_CLOSED);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

/* What an agent left behind may hold its output open: not for long. */
static void
test_gate_agent_left_open(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_options(false));
	test_gate_agent_ended(&test);
	assert_int_equal(test.gate.state, GATE_WORK_GONE);
	gate_script_time(&test, 2 * GATE_END_WAIT_MS);
	gate_script_time(&test, 2 * GATE_END_WAIT_MS);
	assert_int_equal(test.gate.state, GATE_DONE);
	gate_free(&test.gate);
}

/* --- callers ------------------------------------------------------------ */

#define INITIALIZED                                                  \
	V "\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\"," \
	  "\"capabilities\":{},\"serverInfo\":{}}}\n"

static struct gate_options
test_gate_agent_caller(void)
{
	struct gate_options options = {.mode = GATE_CALLER};

	options.policy.community = true;
	options.line_max = 65536;
	options.caller = (struct gate_caller_limits){.start_ms = 5000,
	    .call_ms = 2000,
	    .arguments_max = 1024,
	    .result_max = 256};
	return options;
}

static void
test_gate_agent_job(struct gate_script *test, uint64_t id, bool list,
    const char *tool, const char *arguments)
{
	struct gate_event event = {.kind = GATE_EVENT_JOB,
	    .stream = GATE_STREAM_COUNT,
	    .bytes = arguments,
	    .len = strlen(arguments),
	    .text = tool,
	    .id = id,
	    .list = list,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

/* Through the handshake. */
static void
test_gate_agent_ready(struct gate_script *test)
{
	gate_script_drop(test, GATE_WORK_IN);
	gate_script_say(test, GATE_WORK_OUT, INITIALIZED);
	gate_script_drop(test, GATE_WORK_IN);
}

/* The next answered job is id's, with this code; bytes: its result. */
static void
test_gate_agent_answered(
    struct gate_script *test, uint64_t id, const char *code, const char *bytes)
{
	struct gate_caller_job *job = gate_caller_answered(&test->gate.caller);

	assert_non_null(job);
	assert_int_equal(job->id, id);
	assert_string_equal(job->code, code);
	if (bytes != NULL) {
		assert_int_equal(job->bytes.len, strlen(bytes));
		assert_memory_equal(
		    buffer_bytes_borrow(&job->bytes), bytes, job->bytes.len);
	}
	gate_caller_forget(job);
}

/* The same for a tool that failed, with this detail. */
static void
test_gate_agent_failed(
    struct gate_script *test, uint64_t id, const char *detail)
{
	struct gate_caller_job *job = gate_caller_answered(&test->gate.caller);

	assert_non_null(job);
	assert_string_equal(job->detail, detail);
	test_gate_agent_answered(test, id, "tool_failed", NULL);
}

static void
test_gate_agent_none(struct gate_script *test)
{
	assert_null(gate_caller_answered(&test->gate.caller));
}

static void
test_gate_agent_calls(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	/* A job waits until the server has said hello. */
	test_gate_agent_job(&test, 7, false, "echo", "{\"a\":1}");
	gate_script_expect_part(&test, GATE_WORK_IN, "\"capabilities\":{}");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT, INITIALIZED);
	gate_script_expect(&test, GATE_WORK_IN,
	    V "\"method\":\"notifications/initialized\"}\n" V
	      "\"id\":2,\"method\":\"tools/call\",\"params\":"
	      "{\"name\":\"echo\",\"arguments\":{\"a\":1}}}\n");
	/* Noise, an answer nobody waits for, one to a number of its own. */
	gate_script_say(&test, GATE_WORK_OUT, "noise\n");
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":3,\"result\":{}}\n");
	gate_script_say(
	    &test, GATE_WORK_OUT, V "\"id\":\"2\",\"result\":{}}\n");
	test_gate_agent_none(&test);
	gate_script_say(
	    &test, GATE_WORK_OUT, V "\"id\":2,\"result\":{\"content\":[ ]}}\n");
	test_gate_agent_answered(&test, 7, "", "{\"content\":[ ]}");
	test_gate_agent_none(&test);
	/* An error is the tool's; a result has a bound. */
	test_gate_agent_job(&test, 8, false, "echo", "{}");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":3,\"error\":{\"code\":1,\"message\":\"no\"}}\n");
	test_gate_agent_failed(&test, 8, "the server's error: no");
	/* Also one that speaks as Guard would. */
	test_gate_agent_job(&test, 9, false, "echo", "{}");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":4,\"error\":{\"code\":-32003,\"message\":\"agentnode: "
	      "Guard denies\",\"data\":{\"reason\":\"guard_denied\"}}}\n");
	test_gate_agent_failed(
	    &test, 9, "the server's error: server: agentnode: Guard denies");
	gate_free(&test.gate);
}

static void
test_gate_agent_cancel(struct gate_script *test, uint64_t id)
{
	struct gate_event event = {.kind = GATE_EVENT_CANCEL,
	    .stream = GATE_STREAM_COUNT,
	    .id = id,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

/* The server is told, and nobody gets what it says all the same. */
static void
test_gate_agent_cancelled(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	/* One that is not asked yet is forgotten. */
	test_gate_agent_job(&test, 6, false, "echo", "{}");
	test_gate_agent_cancel(&test, 6);
	test_gate_agent_ready(&test);
	test_gate_agent_job(&test, 7, false, "echo", "{}");
	gate_script_drop(&test, GATE_WORK_IN);
	test_gate_agent_cancel(&test, 9);
	gate_script_expect(&test, GATE_WORK_IN, "");
	test_gate_agent_cancel(&test, 7);
	gate_script_expect(&test, GATE_WORK_IN,
	    V "\"method\":\"notifications/cancelled\",\"params\":"
	      "{\"requestId\":2,\"reason\":\"cancelled\"}}\n");
	gate_script_say(
	    &test, GATE_WORK_OUT, V "\"id\":2,\"result\":{\"content\":[]}}\n");
	test_gate_agent_none(&test);
	/* Its place is free for the next ones: more than there are places. */
	for (uint64_t i = 10; i < 10 + 2 * GATE_CALLER_JOBS_MAX; i++) {
		test_gate_agent_job(&test, i, false, "echo", "{}");
		test_gate_agent_cancel(&test, i);
		gate_script_drop(&test, GATE_WORK_IN);
	}
	test_gate_agent_job(&test, 99, true, NULL, "");
	gate_script_time(&test, 5000);
	test_gate_agent_answered(&test, 99, "tool_timeout", NULL);
	test_gate_agent_none(&test);
	gate_free(&test.gate);
}

/* A server that reads nothing: what waits for it has the deadline, too. */
static void
test_gate_agent_unread(void **state)
{
	struct gate_options options = test_gate_agent_caller();
	struct gate_script test;
	char arguments[16384];
	uint64_t id = 0;

	(void)state;
	options.caller.arguments_max = sizeof(arguments);
	gate_script_open(&test, options);
	test_gate_agent_ready(&test);
	(void)snprintf(arguments, sizeof(arguments), "{\"a\":\"%016000d\"}", 0);
	while (mcp_session_may_take(&test.gate.session, MCP_CLIENT)) {
		test_gate_agent_job(&test, ++id, false, "echo", arguments);
		assert_true(id < GATE_CALLER_JOBS_MAX);
	}
	test_gate_agent_job(&test, ++id, false, "echo", arguments);
	assert_int_not_equal(gate_caller_next_ms(&test.gate.caller), 0);
	gate_script_time(&test, 2000);
	for (uint64_t i = 1; i <= id; i++)
		test_gate_agent_answered(&test, i, "tool_timeout", NULL);
	test_gate_agent_none(&test);
	gate_free(&test.gate);
}

static void
test_gate_agent_too_long(void **state)
{
	struct gate_script test;
	char line[600];

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_ready(&test);
	test_gate_agent_job(&test, 1, false, "echo", "{}");
	(void)snprintf(line, sizeof(line),
	    V "\"id\":2,\"result\":{\"x\":\"%0300d\"}}\n", 0);
	gate_script_say(&test, GATE_WORK_OUT, line);
	test_gate_agent_answered(&test, 1, "too_long", NULL);
	gate_free(&test.gate);
}

/* Arguments that would end their object say nothing to the server. */
static void
test_gate_agent_i109_smuggled(void **state)
{
	static const char *const bad[] = {"", "[]", "1", "{", "{}{}",
	    "{}},\"id\":9,\"x\":{\"a\":{}", "{},\"name\":\"rm\"",
	    "{\"a\":1,\"a\":2}", "{\"a\":\"\n\"}", "{}\n{}"};
	static const char *const names[] = {
	    "", "a b", "a\n", "ech\xc3\xb6", "rm"};
	static const char *const allowed[] = {"echo", "add"};
	struct gate_options options = test_gate_agent_caller();
	struct gate_script test;

	(void)state;
	options.policy.has_tools = true;
	options.policy.tools = allowed;
	options.policy.tool_count = 2;
	gate_script_open(&test, options);
	test_gate_agent_ready(&test);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		test_gate_agent_job(&test, i + 1, false, "echo", bad[i]);
		test_gate_agent_answered(&test, i + 1, "bad_request", NULL);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		test_gate_agent_job(&test, i + 1, false, names[i], "{}");
		test_gate_agent_answered(&test, i + 1,
		    i == 4 ? "tool_not_allowed" : "bad_request", NULL);
	}
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_free(&test.gate);
}

static void
test_gate_agent_pages(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_ready(&test);
	test_gate_agent_job(&test, 1, true, NULL, "");
	gate_script_expect(
	    &test, GATE_WORK_IN, V "\"id\":2,\"method\":\"tools/list\"}\n");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}],"
	      "\"nextCursor\":\"\\u0063\"}}\n");
	gate_script_expect(&test, GATE_WORK_IN,
	    V "\"id\":3,\"method\":\"tools/list\",\"params\":"
	      "{\"cursor\":\"\\u0063\"}}\n");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"b\"},"
	      "{\"name\":\"a\"}]}}\n");
	/* The second one of a name is taken out. */
	test_gate_agent_answered(
	    &test, 1, "", "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
	gate_free(&test.gate);
}

static void
test_gate_agent_only_tool(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_ready(&test);
	test_gate_agent_job(&test, 1, false, NULL, "{\"q\":1}");
	gate_script_expect_part(&test, GATE_WORK_IN, "tools/list");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":2,\"result\":{\"tools\":[{\"name\":\"one\"}]}}\n");
	gate_script_expect(&test, GATE_WORK_IN,
	    V "\"id\":3,\"method\":\"tools/call\",\"params\":"
	      "{\"name\":\"one\",\"arguments\":{\"q\":1}}}\n");
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":3,\"result\":{}}\n");
	test_gate_agent_answered(&test, 1, "", "{}");
	/* It is known now. */
	test_gate_agent_job(&test, 2, false, NULL, "{}");
	gate_script_expect_part(&test, GATE_WORK_IN, "\"name\":\"one\"");
	gate_free(&test.gate);
}

static void
test_gate_agent_times(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_ready(&test);
	test_gate_agent_job(&test, 1, false, "slow", "{}");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_time(&test, 1999);
	test_gate_agent_none(&test);
	gate_script_time(&test, 1);
	test_gate_agent_answered(&test, 1, "tool_timeout", NULL);
	gate_script_expect_part(&test, GATE_WORK_IN, "notifications/cancelled");
	/* What comes too late is nobody's. */
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":2,\"result\":{}}\n");
	test_gate_agent_none(&test);
	gate_free(&test.gate);
	/* A server that does not say hello. */
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_job(&test, 1, false, "t", "{}");
	gate_script_time(&test, 5000);
	test_gate_agent_answered(&test, 1, "tool_start_failed", NULL);
	assert_int_equal(test.gate.reason, GATE_START_FAILED);
	gate_free(&test.gate);
}

static void
test_gate_agent_server_ends(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_ready(&test);
	test_gate_agent_job(&test, 1, false, "t", "{}");
	gate_script_end(&test, GATE_WORK_OUT);
	test_gate_agent_none(&test);
	test_gate_agent_ended(&test);
	test_gate_agent_answered(&test, 1, "tool_ended", NULL);
	assert_int_equal(test.gate.reason, GATE_WORK_ENDED);
	test_gate_agent_job(&test, 2, false, "t", "{}");
	test_gate_agent_answered(&test, 2, "tool_ended", NULL);
	gate_free(&test.gate);
}

/* A server may ask whether we are there, and nothing else. */
static void
test_gate_agent_asks_back(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, test_gate_agent_caller());
	test_gate_agent_ready(&test);
	gate_script_say(
	    &test, GATE_WORK_OUT, V "\"id\":\"p\",\"method\":\"ping\"}\n");
	gate_script_expect(
	    &test, GATE_WORK_IN, V "\"id\":\"p\",\"result\":{}}\n");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":\"r\",\"method\":\"roots/list\"}\n");
	gate_script_expect_part(&test, GATE_WORK_IN, "capability_off");
	gate_free(&test.gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_agent_i108_noise),
	    cmocka_unit_test(test_gate_agent_safe_result),
	    cmocka_unit_test(test_gate_agent_product),
	    cmocka_unit_test(test_gate_agent_capped),
	    cmocka_unit_test(test_gate_agent_client_gone),
	    cmocka_unit_test(test_gate_agent_left_open),
	    cmocka_unit_test(test_gate_agent_calls),
	    cmocka_unit_test(test_gate_agent_cancelled),
	    cmocka_unit_test(test_gate_agent_unread),
	    cmocka_unit_test(test_gate_agent_too_long),
	    cmocka_unit_test(test_gate_agent_i109_smuggled),
	    cmocka_unit_test(test_gate_agent_pages),
	    cmocka_unit_test(test_gate_agent_only_tool),
	    cmocka_unit_test(test_gate_agent_times),
	    cmocka_unit_test(test_gate_agent_server_ends),
	    cmocka_unit_test(test_gate_agent_asks_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
