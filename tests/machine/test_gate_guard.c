/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard in the gate, as scripts: a call waits for its answer and nothing of
 * it is seen before, what is denied is asked with its code, the client's
 * next lines wait behind, and whoever ends in between is answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gate_script.h"

#define CALL(id, tool)                                              \
	V "\"id\":" id                                              \
	  ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool \
	  "\",\"arguments\":{}}}\n"
#define PING(id) V "\"id\":" id ",\"method\":\"ping\"}\n"

/* What was asked last. */
static struct test_gate_guard {
	unsigned asked, count;
	uint64_t id;
	char tool[64], code[64], actions[64], detail[512];
	bool broken;
} asked;

static bool
test_gate_guard_ask(const struct mcp_guard_ask *ask, void *context)
{
	(void)context;
	asked.asked++;
	asked.id = ask->id;
	asked.count = ask->count;
	(void)snprintf(asked.tool, sizeof(asked.tool), "%s", ask->tool);
	(void)snprintf(asked.code, sizeof(asked.code), "%s", ask->code);
	(void)snprintf(
	    asked.actions, sizeof(asked.actions), "%s", ask->actions);
	(void)snprintf(asked.detail, sizeof(asked.detail), "%s", ask->detail);
	return !asked.broken;
}

static const char test_gate_guard_rules[] =
    "{\"strict\":false,\"tier\":\"unverified\",\"agent\":false,\"agreed\":[],"
    "\"network\":false,\"code_execution\":false,\"connector\":false,"
    "\"secrets\":false,\"inside\":true,\"global\":{\"read\":\"allow\","
    "\"compute\":\"allow\",\"write_local\":\"allow\","
    "\"write_external\":\"deny\",\"delete\":\"prompt\","
    "\"execute\":\"prompt\",\"credential_use\":\"prompt\","
    "\"network_egress\":\"allow\",\"unknown\":\"prompt\"},\"tools\":{"
    "\"set_x\":{\"override\":{\"write_local\":\"deny\"}},"
    "\"odd\":{\"action_type\":\"read\"},"
    "\"strange\":{\"action_type\":\"harmless\"}},"
    "\"consented\":{\"delete_y\":[\"delete\"]}}";

static json_t *test_gate_guard_object;
static struct guard_plan test_gate_guard_plan;

static void
test_gate_guard_open_as(struct gate_script *test, struct gate_options options)
{
	struct json_fault fault = {""};

	memset(&asked, 0, sizeof(asked));
	if (test_gate_guard_object == NULL)
		test_gate_guard_object =
		    json_loads(test_gate_guard_rules, 0, NULL);
	assert_int_equal(guard_plan_read(test_gate_guard_object, "pack",
			     &test_gate_guard_plan, &fault),
	    RESULT_OK);
	gate_script_open(test, options);
	test->gate.session.guard.plan = &test_gate_guard_plan;
	test->gate.session.guard.ask = test_gate_guard_ask;
}

static void
test_gate_guard_open(struct gate_script *test)
{
	test_gate_guard_open_as(test, gate_script_mcp());
}

static void
test_gate_guard_tell(
    struct gate_script *test, uint64_t id, const char *code, const char *detail)
{
	const struct gate_event event = {.kind = GATE_EVENT_GUARDED,
	    .stream = GATE_STREAM_COUNT,
	    .id = id,
	    .text = code,
	    .bytes = detail,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

static void
test_gate_guard_waits(void **state)
{
	struct gate_script test;

	(void)state;
	test_gate_guard_open(&test);
	gate_script_say(&test, GATE_CLIENT_IN,
	    PING("1") CALL("2", "get_x") PING("3") CALL("4", "get_y"));
	gate_script_expect(&test, GATE_WORK_IN, PING("1"));
	assert_int_equal(asked.asked, 1);
	assert_string_equal(asked.tool, "get_x");
	assert_string_equal(asked.code, "");
	assert_string_equal(asked.actions, "read");
	assert_int_equal(asked.count, 1);
	/* Answers to other questions are none. */
	test_gate_guard_tell(&test, asked.id + 1, "", "");
	test_gate_guard_tell(&test, 0, "", "");
	gate_script_expect(&test, GATE_WORK_IN, "");
	test_gate_guard_tell(&test, asked.id, "", "");
	gate_script_expect(&test, GATE_WORK_IN, CALL("2", "get_x") PING("3"));
	assert_int_equal(asked.asked, 2);
	/* Nor is a second one. */
	test_gate_guard_tell(&test, asked.id - 1, "", "");
	gate_script_expect(&test, GATE_WORK_IN, "");
	test_gate_guard_tell(
	    &test, asked.id, "guard_rate_limit", "again in \"9\" s");
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":4,\"error\":{\"code\":-32029,\"message\":\"agentnode: "
	      "again in \\\"9\\\" s\",\"data\":{\"reason\":"
	      "\"guard_rate_limit\"}}}\n");
	/* The server's answers never wait. */
	gate_script_say(&test, GATE_WORK_OUT, V "\"id\":2,\"result\":{}}\n");
	gate_script_expect(
	    &test, GATE_CLIENT_OUT, V "\"id\":2,\"result\":{}}\n");
	gate_free(&test.gate);
}

/* Only the client may take back what it asked. */
static void
test_gate_guard_cancelled(void **state)
{
	static const char cancel[] =
	    V "\"method\":\"notifications/cancelled\",\"params\":{"
	      "\"requestId\":7}}\n";
	struct gate_script test;

	(void)state;
	test_gate_guard_open(&test);
	gate_script_say(&test, GATE_CLIENT_IN, CALL("7", "get_x"));
	gate_script_say(&test, GATE_WORK_OUT, cancel);
	test_gate_guard_tell(&test, asked.id, "", "");
	gate_script_expect(&test, GATE_WORK_IN, CALL("7", "get_x"));
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_free(&test.gate);
}

static void
test_gate_guard_codes(void **state)
{
	static const struct {
		const char *line, *tool, *code, *words;
	} rows[] = {
	    {CALL("1", "get"), "get", "", ""},
	    {CALL("1", "odd"), "odd", "", ""},
	    {CALL("1", "delete_y"), "delete_y", "", ""},
	    {CALL("1", "delete_z"), "delete_z", "guard_consent", "delete"},
	    {CALL("1", "frob"), "frob", "guard_consent", "unknown"},
	    {CALL("1", "send_y"), "send_y", "guard_denied", "write_external"},
	    {CALL("1", "set_x"), "set_x", "guard_denied", "--tool"},
	    {CALL("1", "set_y"), "set_y", "", ""},
	    {CALL("1", "strange"), "strange", "guard_denied", "action_type"},
	    {V "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"get\",\"arguments\":{\"p\":[\"../x\"]}}}\n",
		"get", "guard_arguments", "$.p[0]"},
	    {V "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"get\",\"arguments\":[]}}\n",
		"get", "guard_arguments", "object"},
	    {V "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"get\",\"Arguments\":{\"p\":\"../x\"}}}\n",
		"get", "guard_arguments", "case only"},
	    {V "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	       "\"get\"}}\n",
		"get", "", ""},
	};
	struct gate_script test;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_gate_guard_open(&test);
		gate_script_say(&test, GATE_CLIENT_IN, rows[i].line);
		assert_int_equal(asked.asked, 1);
		assert_string_equal(asked.tool, rows[i].tool);
		assert_string_equal(asked.code, rows[i].code);
		assert_non_null(strstr(asked.detail, rows[i].words));
		gate_script_expect(&test, GATE_WORK_IN, "");
		gate_script_expect(&test, GATE_CLIENT_OUT, "");
		test_gate_guard_tell(&test, asked.id, asked.code, asked.detail);
		gate_script_expect(&test, GATE_WORK_IN,
		    rows[i].code[0] == '\0' ? rows[i].line : "");
		if (rows[i].code[0] != '\0')
			gate_script_expect_part(
			    &test, GATE_CLIENT_OUT, rows[i].code);
		gate_free(&test.gate);
	}
}

/* One that may not be made takes the batch with it. */
static void
test_gate_guard_batch(void **state)
{
	static const char batch[] =
	    "[" V "\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
	    "\"get_a\"}}," V "\"id\":2,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"get_b\"}}]\n";
	static const char mixed[] =
	    "[" V "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
	    "\"get_a\"}}," V "\"id\":4,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"send_b\"}}]\n";
	struct gate_script test;

	(void)state;
	test_gate_guard_open(&test);
	gate_script_say(&test, GATE_CLIENT_IN, batch);
	assert_int_equal(asked.count, 2);
	assert_string_equal(asked.tool, "get_a");
	test_gate_guard_tell(&test, asked.id, "", "");
	gate_script_expect(&test, GATE_WORK_IN, batch);
	gate_script_say(&test, GATE_CLIENT_IN, mixed);
	assert_string_equal(asked.tool, "send_b");
	assert_string_equal(asked.code, "guard_denied");
	test_gate_guard_tell(&test, asked.id, asked.code, "no");
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_expect_part(&test, GATE_CLIENT_OUT, "\"id\":4,\"error\"");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_free(&test.gate);
}

static void
test_gate_guard_ends(void **state)
{
	struct gate_script test;

	(void)state;
	/* The client closes: its call is still made, once there is an
	 * answer. */
	test_gate_guard_open(&test);
	gate_script_say(&test, GATE_CLIENT_IN, CALL("1", "get"));
	gate_script_end(&test, GATE_CLIENT_IN);
	assert_int_equal(test.gate.state, GATE_RELAYING);
	test_gate_guard_tell(&test, asked.id, "", "");
	gate_script_expect(&test, GATE_WORK_IN, CALL("1", "get"));
	gate_free(&test.gate);
	/* The server ends: the client hears of its call. */
	test_gate_guard_open(&test);
	gate_script_say(&test, GATE_CLIENT_IN, CALL("1", "get"));
	gate_script_end(&test, GATE_WORK_OUT);
	gate_script_time(&test, GATE_END_WAIT_MS + 1);
	gate_script_expect_part(&test, GATE_CLIENT_OUT, "guard_unavailable");
	test_gate_guard_tell(&test, asked.id, "", "");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_free(&test.gate);
	/* Nobody can be asked. */
	test_gate_guard_open(&test);
	asked.broken = true;
	gate_script_say(&test, GATE_CLIENT_IN, CALL("1", "get"));
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_expect_part(&test, GATE_CLIENT_OUT, "guard_unavailable");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_free(&test.gate);
}

static void
test_gate_guard_plans(void **state)
{
	static const char *const wrong[][2] = {{"strict", "1"},
	    {"global", "{}"}, {"global", "{\"read\":\"allow\"}"},
	    {"agreed", "[\"erase\"]"}, {"tools", "{\"x\":7}"},
	    {"tools", "{\"x\":{\"override\":{\"delete\":\"no\"}}}"},
	    {"tools", "{\"x\":{\"more\":1}}"}, {"consented", "{\"*\":7}"},
	    {"consented", "{\"*\":[\"all\"]}"}, {"inside", "null"},
	    {"more", "1"}};
	struct json_fault fault;
	struct guard_plan plan;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *object = json_loads(test_gate_guard_rules, 0, NULL);

		fault.text[0] = '\0';
		assert_int_equal(
		    json_object_set_new(object, wrong[i][0],
			json_loads(wrong[i][1], JSON_DECODE_ANY, NULL)),
		    0);
		assert_int_equal(
		    guard_plan_read(object, "pack", &plan, &fault), RESULT_BAD);
		assert_string_not_equal(fault.text, "");
		json_decref(object);
	}
	json_decref(test_gate_guard_object);
	test_gate_guard_object = NULL;
}

/* --- an agent's calls --------------------------------------------------- */

static void
test_gate_guard_job(struct gate_script *test, uint64_t id, const char *tool)
{
	const struct gate_event event = {.kind = GATE_EVENT_JOB,
	    .stream = GATE_STREAM_COUNT,
	    .bytes = "{}",
	    .len = 2,
	    .text = tool,
	    .id = id,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

static void
test_gate_guard_answer(
    struct gate_script *test, const char *code, const char *detail)
{
	struct gate_caller_job *job = gate_caller_answered(&test->gate.caller);

	assert_non_null(job);
	assert_string_equal(job->code, code);
	assert_string_equal(job->detail, detail);
	gate_caller_forget(job);
}

/* What Guard says has its code; the same said by the server has not. */
static void
test_gate_guard_whose(void **state)
{
	static const char *const codes[] = {"guard_denied", "guard_consent",
	    "guard_arguments", "guard_rate_limit", "guard_unavailable"};
	struct gate_options options = gate_script_mcp();
	struct gate_script test;
	char line[256];

	(void)state;
	options.mode = GATE_CALLER;
	options.caller = (struct gate_caller_limits){
	    .arguments_max = 1024, .result_max = 256};
	test_gate_guard_open_as(&test, options);
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\","
	      "\"capabilities\":{},\"serverInfo\":{}}}\n");
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		test_gate_guard_job(&test, i + 1, "get");
		test_gate_guard_tell(&test, asked.id, codes[i], "no: \"x\"");
		test_gate_guard_answer(&test, codes[i], "no: \"x\"");
		test_gate_guard_job(&test, i + 1, "get");
		test_gate_guard_tell(&test, asked.id, "", "");
		(void)snprintf(line, sizeof(line),
		    V "\"id\":%u,\"error\":{\"code\":-32003,\"message\":"
		      "\"no\",\"data\":{\"reason\":\"%s\"}}}\n",
		    2 * i + 3, codes[i]);
		gate_script_say(&test, GATE_WORK_OUT, line);
		test_gate_guard_answer(
		    &test, "tool_failed", "the server's error: no");
	}
	/* It could not even be asked: while the call is sent. */
	asked.broken = true;
	test_gate_guard_job(&test, 99, "get");
	test_gate_guard_answer(
	    &test, "guard_unavailable", "Guard cannot be asked");
	gate_free(&test.gate);
	json_decref(test_gate_guard_object);
	test_gate_guard_object = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_guard_waits),
	    cmocka_unit_test(test_gate_guard_cancelled),
	    cmocka_unit_test(test_gate_guard_codes),
	    cmocka_unit_test(test_gate_guard_batch),
	    cmocka_unit_test(test_gate_guard_ends),
	    cmocka_unit_test(test_gate_guard_plans),
	    cmocka_unit_test(test_gate_guard_whose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
