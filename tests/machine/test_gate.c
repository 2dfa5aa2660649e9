/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes the gate and what does not, as scripts: what each side says
 * and what each side then gets. No descriptor, no process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gate_script.h"

static const char *const test_gate_allowed[] = {"echo", "add"};

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
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_CLIENT_IN, call);
	gate_script_expect(&test, GATE_WORK_IN, call);
	gate_script_say(&test, GATE_WORK_OUT, progress);
	gate_script_expect(&test, GATE_CLIENT_OUT, progress);
	gate_script_say(&test, GATE_WORK_OUT, answer);
	gate_script_expect(&test, GATE_CLIENT_OUT, answer);
	/* Not twice. */
	gate_script_say(&test, GATE_WORK_OUT, answer);
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	assert_int_equal(test.gate.session.counts.dropped, 1);
	gate_free(&test.gate);
}

/* Whatever the reads, a server's lines leave in their order: progress never
 * behind the answer it belongs to. */
static void
test_gate_keeps_order(void **state)
{
	static const char said[] =
	    V "\"method\":\"notifications/progress\",\"params\":"
	      "{\"progressToken\":1,\"progress\":1}}\n" V
	      "\"method\":\"notifications/message\",\"params\":{}}\n" V
	      "\"method\":\"notifications/progress\",\"params\":"
	      "{\"progressToken\":1,\"progress\":2}}\n" V
	      "\"id\":1,\"result\":{}}\n" V
	      "\"method\":\"notifications/progress\",\"params\":"
	      "{\"progressToken\":2,\"progress\":1}}\n" V
	      "\"id\":2,\"result\":{}}\n";
	char first[sizeof(said)];
	struct gate_script test;

	(void)state;
	for (size_t cut = 0; cut < sizeof(said) - 1; cut++) {
		gate_script_open(&test, gate_script_mcp());
		gate_script_say(&test, GATE_CLIENT_IN,
		    V "\"id\":1,\"method\":\"ping\"}\n" V
		      "\"id\":2,\"method\":\"ping\"}\n");
		memcpy(first, said, cut);
		first[cut] = '\0';
		gate_script_say(&test, GATE_WORK_OUT, first);
		gate_script_say(&test, GATE_WORK_OUT, said + cut);
		gate_script_expect(&test, GATE_CLIENT_OUT, said);
		gate_free(&test.gate);
	}
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
	struct gate_options options = gate_script_mcp();
	struct gate_script test;

	(void)state;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_CLIENT_IN, said);
	gate_script_expect(&test, GATE_WORK_IN, got);
	gate_free(&test.gate);
	options.policy.community = false;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_CLIENT_IN, said);
	gate_script_expect(&test, GATE_WORK_IN, said);
	gate_free(&test.gate);
}

/* --- refusals ----------------------------------------------------------- */

static void
test_gate_noise(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_WORK_OUT,
	    "Server started\n{\"level\":\"info\"}\n\n[]\n"
	    "{\"jsonrpc\":\"2.0\",\"result\":{}}\n" V
	    "\"id\":5,\"result\":{}}\n" V "\"id\":null,\"error\":{}}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	assert_int_equal(test.gate.session.counts.noise, 4);
	gate_free(&test.gate);
}

static void
test_gate_server_asks(void **state)
{
	static const char ping[] = V "\"id\":\"p\",\"method\":\"ping\"}\n";
	static const char pong[] = V "\"id\":\"p\",\"result\":{}}\n";
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":9,\"method\":\"sampling/createMessage\"}\n" V
	      "\"id\":10,\"method\":\"roots/list\"}\n");
	gate_script_expect_part(
	    &test, GATE_WORK_IN, "\"id\":9,\"error\":{\"code\":-32601");
	gate_script_expect_part(
	    &test, GATE_WORK_IN, "\"reason\":\"capability_off\"");
	gate_script_expect(&test, GATE_CLIENT_OUT, "");
	gate_script_drop(&test, GATE_WORK_IN);
	/* A client cannot answer what was never asked. */
	gate_script_say(&test, GATE_CLIENT_IN, pong);
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_say(&test, GATE_WORK_OUT, ping);
	gate_script_expect(&test, GATE_CLIENT_OUT, ping);
	gate_script_say(&test, GATE_CLIENT_IN, pong);
	gate_script_expect(&test, GATE_WORK_IN, pong);
	gate_free(&test.gate);
}

static void
test_gate_tools(void **state)
{
	struct gate_options options = gate_script_mcp();
	struct gate_script test;

	(void)state;
	options.policy.has_tools = true;
	options.policy.tools = test_gate_allowed;
	options.policy.tool_count = 2;
	gate_script_open(&test, options);
	gate_script_say(&test, GATE_CLIENT_IN,
	    V "\"id\":1,\"method\":\"tools/call\",\"params\":"
	      "{\"name\":\"shell\"}}\n");
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":1,\"error\":{\"code\":-32602,\"message\":"
	      "\"agentnode: tool \\\"shell\\\" is not in the allowlist of "
	      "demo; to allow it, install demo again with --tool shell\","
	      "\"data\":{\"reason\":\"tool_not_allowed\"}}}\n");
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"tools/list\"}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":1,\"result\":{\"tools\":[{\"name\":\"shell\"}, "
	      "{\"name\":\"echo\"},{\"name\":\"ech\\u006f\",\"x\":1},"
	      "{\"name\":\"add\"} ,{\"name\":\"add\\u200b\"},"
	      "{\"title\":\"t\"},{\"name\":\"add\",\"Name\":\"shell\"}],"
	      "\"nextCursor\":\"c\"}}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\"},"
	      "{\"name\":\"add\"}],\"nextCursor\":\"c\"}}\n");
	/* The same name on another page is a second tool. */
	gate_script_say(&test, GATE_CLIENT_IN,
	    V "\"id\":2,\"method\":\"tools/list\",\"params\":"
	      "{\"cursor\":\"c\"}}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":2,\"result\":{\"tools\":[{\"name\":\"echo\"}]}}\n");
	gate_script_expect(
	    &test, GATE_CLIENT_OUT, V "\"id\":2,\"result\":{\"tools\":[]}}\n");
	/* A fresh listing starts anew. */
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":3,\"method\":\"tools/list\"}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"echo\"}]}}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":3,\"result\":{\"tools\":[{\"name\":\"echo\"}]}}\n");
	gate_free(&test.gate);
}

static void
test_gate_tool_list_lookalike(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"tools/list\"}\n");
	gate_script_say(&test, GATE_WORK_OUT,
	    V "\"id\":1,\"result\":{\"tools\":[],\"Tools\":"
	      "[{\"name\":\"shell\"}]}}\n");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":1,\"error\":{\"code\":-32603");
	gate_free(&test.gate);
}

static void
test_gate_batch(void **state)
{
	static const char good[] =
	    "[" V "\"id\":1,\"method\":\"ping\"}," V
	    "\"method\":\"notifications/initialized\"}]\n";
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_CLIENT_IN, good);
	gate_script_expect(&test, GATE_WORK_IN, good);
	gate_script_say(&test, GATE_CLIENT_IN,
	    "[" V "\"id\":2,\"method\":\"ping\"}," V
	    "\"id\":3,\"method\":\"evil/x\"}," V "\"method\":\"nope\"}]\n");
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "[{\"jsonrpc\":\"2.0\",\"id\":2");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"reason\":\"batch_denied\"}}},{");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"reason\":\"method_not_allowed\"}}}]");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	/* Two requests of one id, and one answered twice. */
	gate_script_say(&test, GATE_CLIENT_IN,
	    "[" V "\"id\":4,\"method\":\"ping\"}," V
	    "\"id\":4,\"method\":\"ping\"}]\n");
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_script_say(&test, GATE_WORK_OUT,
	    "[" V "\"id\":1,\"result\":{}}," V "\"id\":1,\"result\":{}}]\n");
	gate_script_expect_part(&test, GATE_CLIENT_OUT, "\"id\":1,\"error\"");
	gate_free(&test.gate);
}

static void
test_gate_id_in_use(void **state)
{
	static const char ask[] = V "\"id\":1,\"method\":\"ping\"}\n";
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_CLIENT_IN, ask);
	gate_script_expect(&test, GATE_WORK_IN, ask);
	gate_script_say(&test, GATE_CLIENT_IN, ask);
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"reason\":\"id_in_use\"");
	gate_free(&test.gate);
}

static void
test_gate_refused_answer(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":1,\"method\":\"ping\"}\n");
	gate_script_say(
	    &test, GATE_WORK_OUT, V "\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n");
	gate_script_expect_part(&test, GATE_CLIENT_OUT,
	    "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"agentnode: "
	    "the server's answer was refused: a duplicate key at byte 4");
	gate_free(&test.gate);
}

static void
test_gate_client_garbage(void **state)
{
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	gate_script_say(&test, GATE_CLIENT_IN, "hello\n");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":null,\"error\":{\"code\":-32600");
	gate_script_drop(&test, GATE_CLIENT_OUT);
	gate_script_say(
	    &test, GATE_CLIENT_IN, V "\"id\":6,\"method\":\"ping\",\"x\":1}\n");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":6,\"error\":{\"code\":-32600");
	gate_script_expect(&test, GATE_WORK_IN, "");
	gate_free(&test.gate);
}

static void
test_gate_too_long(void **state)
{
	static char big[300000];
	struct gate_script test;

	(void)state;
	gate_script_open(&test, gate_script_mcp());
	memset(big, ' ', sizeof(big) - 1);
	gate_script_say(&test, GATE_CLIENT_IN,
	    V "\"id\":1,\"method\":\"ping\"}\n" V
	      "\"id\":2,\"method\":\"ping\"}\n");
	gate_script_drop(&test, GATE_WORK_IN);
	gate_script_say(&test, GATE_WORK_OUT, "{\"result\":{\"x\":[\"");
	gate_script_say(&test, GATE_WORK_OUT, big);
	gate_script_say(&test, GATE_WORK_OUT,
	    "\"]},\"jsonrpc\":\"2.0\",\"id\":2}\n" V
	    "\"id\":1,\"result\":{}}\n");
	gate_script_expect(&test, GATE_CLIENT_OUT,
	    V "\"id\":2,\"error\":{\"code\":-32603,\"message\":\"agentnode: "
	      "a message longer than mcp.line_max (4096 bytes) was "
	      "dropped\",\"data\":{\"reason\":\"line_too_long\"}}}\n" V
	      "\"id\":1,\"result\":{}}\n");
	/* The client's own. */
	gate_script_say(&test, GATE_CLIENT_IN, V "\"id\":3,\"method\":\"x");
	gate_script_say(&test, GATE_CLIENT_IN, big);
	gate_script_say(&test, GATE_CLIENT_IN, "\"}\n");
	gate_script_expect_part(
	    &test, GATE_CLIENT_OUT, "\"id\":3,\"error\":{\"code\":-32603");
	gate_free(&test.gate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_passes_exactly),
	    cmocka_unit_test(test_gate_keeps_order),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
