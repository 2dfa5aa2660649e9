/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls, lists and the result over the tools port, as scripts: what an
 * agent sends, what the supervisor is asked and answers, what the agent
 * then gets. No descriptor, no process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/tools_script.h"

/* --- calls -------------------------------------------------------------- */

static void
test_tools_port_calls(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	tools_script_run(test, client,
	    "{\"slug\":\"alpha\",\"tool_name\":\"t\",\"arguments\":{\"a\":1}}");
	assert_int_equal(test->calls, 1);
	assert_string_equal(test->package, "alpha");
	assert_string_equal(test->tool, "t");
	assert_string_equal(test->arguments, "{\"a\":1}");
	tools_script_silent(test, client);
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_expect(test, client, "\"result\":\"done\"");
	/* The same connection, a tool that is not named, no arguments. */
	tools_script_run(test, client, "{\"slug\":\"beta\"}");
	assert_string_equal(test->tool, "get");
	assert_string_equal(test->arguments, "{}");
	tools_port_answer(&test->port, test->call, "tool_timeout",
	    "it \"took\" too long", NULL, 0, test->now);
	tools_script_expect(test, client,
	    "it \\\"took\\\" too long\",\"data\":{\"code\":\"tool_timeout\"}");
	/* The last one of three, with what is no result. */
	tools_script_run(
	    test, client, "{\"slug\":\"alpha\",\"tool_name\":\"t\"}");
	tools_script_answer(test, test->call, "{\"content\":7}");
	tools_script_expect(test, client, "\"code\":\"tool_failed\"");
	tools_script_run(
	    test, client, "{\"slug\":\"alpha\",\"tool_name\":\"t\"}");
	tools_script_expect(test, client, "\"code\":\"too_many_tool_calls\"");
	assert_int_equal(test->calls, 3);
	tools_script_close(test);
}

/* What the allowlist refuses is not counted as a call. */
static void
test_tools_port_i109_allowlist(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);
	static const char *const refused[] = {
	    "{\"slug\":\"gamma\",\"tool_name\":\"t\"}",
	    "{\"slug\":\"beta\",\"tool_name\":\"put\"}",
	    "{\"slug\":\"beta\",\"tool_name\":\"GET\"}",
	    "{\"slug\":\"alph\",\"tool_name\":\"t\"}",
	    "{\"slug\":\"alpha-\",\"tool_name\":\"t\"}"};
	static const char *const mcp[] = {
	    "gamma__t", "beta__put", "beta__get__", "alpha-beta__get"};
	char body[256];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		tools_script_run(test, client, refused[i]);
		tools_script_expect(
		    test, client, "\"code\":\"tool_not_allowed\"");
	}
	for (size_t i = 0; i < sizeof(mcp) / sizeof(mcp[0]); i++) {
		(void)snprintf(body, sizeof(body),
		    V "\"id\":1,\"method\":\"tools/call\",\"params\":"
		      "{\"name\":\"%s\"}}",
		    mcp[i]);
		tools_script_post(test, client, "/mcp", body);
		tools_script_expect(
		    test, client, "\"code\":\"tool_not_allowed\"");
	}
	assert_int_equal(test->calls, 0);
	assert_int_equal(test->grant.calls, 0);
	assert_int_equal(tools_tally_refused_calls(&test->port.tally), 9);
	tools_script_close(test);
}

static void
test_tools_port_at_once(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	size_t third = tools_script_client(test);
	const char *call = "{\"slug\":\"alpha\",\"tool_name\":\"t\"}";
	uint64_t one, two;

	(void)state;
	tools_script_run(test, first, call);
	one = test->call;
	tools_script_run(test, second, call);
	two = test->call;
	tools_script_run(test, third, call);
	tools_script_expect(test, third, "\"code\":\"too_many_requests\"");
	/* Answers find their own connection, in whatever order. */
	tools_script_answer(test, two, "{\"content\":[],\"n\":2}");
	tools_script_silent(test, first);
	/* An answer that is not read yet still takes a place. */
	tools_script_run(test, third, call);
	tools_script_expect(test, third, "\"code\":\"too_many_requests\"");
	tools_script_expect(test, second, "\"success\":true");
	tools_script_answer(test, one, "{\"content\":[],\"n\":1}");
	tools_script_expect(test, first, "\"success\":true");
	/* Nobody asked: nothing happens. */
	tools_script_answer(test, two, OK_TEXT);
	tools_script_answer(test, 99, OK_TEXT);
	tools_script_silent(test, second);
	tools_script_close(test);
}

static void
test_tools_port_not_sent(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	test->refuse_calls = true;
	tools_script_run(
	    test, client, "{\"slug\":\"alpha\",\"tool_name\":\"t\"}");
	tools_script_expect(test, client, "\"code\":\"too_many_requests\"");
	assert_int_equal(test->grant.calls, 0);
	tools_script_post(
	    test, client, "/mcp", V "\"id\":1,\"method\":\"tools/list\"}");
	tools_script_expect(test, client, "{\"tools\":[]}");
	assert_int_equal(test->cancels, 0);
	tools_script_close(test);
}

/* --- lists -------------------------------------------------------------- */

static void
test_tools_port_lists(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	const char *ask = V "\"id\":1,\"method\":\"tools/list\"}";
	uint64_t alpha;

	(void)state;
	tools_script_post(test, first, "/mcp", ask);
	assert_int_equal(test->lists, 2);
	alpha = test->call - 1;
	/* A second one waits for the same answers. */
	tools_script_post(test, second, "/mcp", ask);
	assert_int_equal(test->lists, 2);
	tools_script_answer(
	    test, alpha, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
	tools_script_silent(test, first);
	/* The other one fails: the list is told without it. */
	tools_port_answer(
	    &test->port, alpha + 1, "not_installed", "", NULL, 0, test->now);
	tools_script_expect(test, first,
	    "{\"tools\":[{\"name\":\"alpha__a\"},{\"name\":\"alpha__b\"}]}");
	tools_script_expect(test, second, "alpha__b");
	/* And is asked again, alone, by the next one. */
	tools_script_post(test, first, "/mcp", ask);
	assert_int_equal(test->lists, 3);
	assert_string_equal(test->package, "beta");
	tools_script_answer(test, test->call,
	    "{\"tools\":[{\"name\":\"get\"},{\"name\":\"put\"}]}");
	tools_script_expect(
	    test, first, "alpha__b\"},{\"name\":\"beta__get\"}]}");
	tools_script_post(test, first, "/mcp", ask);
	assert_int_equal(test->lists, 3);
	tools_script_expect(test, first, "beta__get");
	/* Lists are no calls. */
	assert_int_equal(test->grant.calls, 0);
	tools_script_close(test);
}

/* No room for all lists at once: they come one after the other. */
static void
test_tools_port_lists_wait(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	uint64_t call, list;

	(void)state;
	tools_script_run(
	    test, first, "{\"slug\":\"alpha\",\"tool_name\":\"t\"}");
	call = test->call;
	tools_script_post(
	    test, second, "/mcp", V "\"id\":1,\"method\":\"tools/list\"}");
	assert_int_equal(test->lists, 1);
	list = test->call;
	tools_script_answer(test, list, "{\"tools\":[]}");
	assert_int_equal(test->lists, 2);
	assert_string_equal(test->package, "beta");
	tools_script_answer(test, test->call, "{\"tools\":[]}");
	tools_script_expect(test, second, "{\"tools\":[]}");
	tools_script_answer(test, call, OK_TEXT);
	tools_script_expect(test, first, "done");
	tools_script_close(test);
}

/* --- the result --------------------------------------------------------- */

static void
test_tools_port_result_once(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	tools_script_post(test, client, "/agentnode/result", "{\"ok\":true}");
	tools_script_expect(test, client, "\"code\":\"bad_request\"");
	tools_script_post(test, client, "/agentnode/result",
	    "{\"ok\":true,\"value\":[1, 2]}");
	tools_script_expect(test, client, "{\"ok\":true}");
	assert_int_equal(test->results, 1);
	assert_string_equal(test->result, "[1, 2]");
	tools_script_post(test, client, "/agentnode/result",
	    "{\"ok\":false,\"error\":\"no\"}");
	tools_script_expect(test, client, "409 Conflict");
	assert_int_equal(test->results, 1);
	assert_true(test->port.result_ok);
	tools_script_close(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tools_port_calls),
	    cmocka_unit_test(test_tools_port_i109_allowlist),
	    cmocka_unit_test(test_tools_port_at_once),
	    cmocka_unit_test(test_tools_port_not_sent),
	    cmocka_unit_test(test_tools_port_lists),
	    cmocka_unit_test(test_tools_port_lists_wait),
	    cmocka_unit_test(test_tools_port_result_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
