/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of the tools port that go away or no longer want an answer, as
 * scripts: their call is cancelled and its place free, and whoever waits for
 * room or for a peer is answered. No descriptor, no process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/tools_script.h"

#define ALPHA "{\"slug\":\"alpha\",\"tool_name\":\"t\"}"
#define LIST V "\"id\":9,\"method\":\"tools/list\"}"

/* A tool called over MCP, by the client of a session (0: without one). */
static void
test_tools_port_gone_mcp(struct tools_script *test, size_t client,
    unsigned session, const char *body)
{
	char text[2048], head[64] = "";

	if (session != 0)
		(void)snprintf(
		    head, sizeof(head), "Mcp-Session-Id: %u\r\n", session);
	(void)snprintf(text, sizeof(text),
	    "POST /mcp HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: "
	    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    head, strlen(body), body);
	tools_script_bytes(test, client, text);
}

static void
test_tools_port_gone_call(
    struct tools_script *test, size_t client, unsigned session, const char *id)
{
	char body[256];

	(void)snprintf(body, sizeof(body),
	    V "\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
	      "\"alpha__t\"}}",
	    id);
	test_tools_port_gone_mcp(test, client, session, body);
}

/* A notification, which has an answer without a body. */
static void
test_tools_port_gone_cancel(
    struct tools_script *test, size_t client, unsigned session, const char *id)
{
	char body[256];

	(void)snprintf(body, sizeof(body),
	    V "\"method\":\"notifications/cancelled\",\"params\":"
	      "{\"requestId\":%s,\"reason\":\"no\"}}",
	    id);
	test_tools_port_gone_mcp(test, client, session, body);
	tools_script_expect(test, client, "HTTP/1.1 202 ");
}

/* --- a connection ends -------------------------------------------------- */

static void
test_tools_port_gone_closes(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);
	size_t other = tools_script_client(test);
	uint64_t call;

	(void)state;
	tools_script_run(test, other, ALPHA);
	call = test->call;
	tools_script_run(test, client, ALPHA);
	/* Its end is looked for while the call runs. */
	assert_true(tools_port_wants(&test->port, client));
	tools_port_gone(&test->port, client, test->now);
	assert_int_equal(test->cancels, 1);
	assert_int_equal(test->cancelled, test->call);
	assert_false(tools_port_is_open(&test->port, client));
	/* The place is free, the count is not given back. */
	assert_int_equal(test->grant.calls, 2);
	assert_int_equal(tools_script_client(test), client);
	tools_script_run(test, client, ALPHA);
	assert_int_equal(test->calls, 3);
	assert_int_equal(test->grant.calls, 3);
	/* An answer that comes all the same is nobody's. */
	tools_script_answer(test, test->cancelled, OK_TEXT);
	tools_script_silent(test, client);
	tools_script_answer(test, call, OK_TEXT);
	tools_script_expect(test, other, "done");
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_expect(test, client, "done");
	assert_int_equal(test->cancels, 1);
	tools_script_close(test);
}

/* What comes behind the request waits, within a bound. */
static void
test_tools_port_gone_pipelined(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	tools_script_run(test, client, ALPHA);
	tools_script_run(test, client, ALPHA);
	assert_int_equal(test->calls, 1);
	assert_false(tools_port_wants(&test->port, client));
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_expect(test, client, "done");
	assert_int_equal(test->calls, 2);
	tools_port_gone(&test->port, client, test->now);
	assert_int_equal(test->cancels, 1);
	tools_script_close(test);
}

/* --- others that wait move on ------------------------------------------- */

/* Both places are taken by calls; a list waits for one of them. */
static void
test_tools_port_gone_list_waits(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	size_t lists = tools_script_client(test);

	(void)state;
	tools_script_run(test, first, ALPHA);
	tools_script_run(test, second, ALPHA);
	tools_script_post(test, lists, "/mcp", LIST);
	assert_int_equal(test->lists, 0);
	tools_port_gone(&test->port, first, test->now);
	assert_int_equal(test->lists, 1);
	tools_script_answer(test, test->call, "{\"tools\":[]}");
	assert_int_equal(test->lists, 2);
	tools_script_answer(test, test->call, "{\"tools\":[]}");
	tools_script_expect(test, lists, "{\"tools\":[]}");
	tools_script_close(test);
}

/* The place is held by an answer whose reader goes away without reading, or
 * never reads. */
static void
test_tools_port_gone_unread(bool stalls)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	size_t lists = tools_script_client(test);
	uint64_t one;

	tools_script_run(test, first, ALPHA);
	one = test->call;
	tools_script_run(test, second, ALPHA);
	tools_script_answer(test, one, OK_TEXT);
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_post(test, lists, "/mcp", LIST);
	assert_int_equal(test->lists, 0);
	if (stalls) {
		test->now += TOOLS_CONN_STALL_MS;
		tools_port_time(&test->port, test->now);
		assert_int_equal(test->lists, 2);
	} else {
		tools_port_gone(&test->port, first, test->now);
		assert_int_equal(test->lists, 1);
	}
	assert_int_equal(test->cancels, 0);
	tools_script_close(test);
}

static void
test_tools_port_gone_reader(void **state)
{
	(void)state;
	test_tools_port_gone_unread(false);
	test_tools_port_gone_unread(true);
}

/* Who waits for a list goes away: the others have it, and so has he who
 * comes later. */
static void
test_tools_port_gone_lister(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	uint64_t alpha;

	(void)state;
	tools_script_post(test, first, "/mcp", LIST);
	tools_script_post(test, second, "/mcp", LIST);
	alpha = test->call - 1;
	tools_port_gone(&test->port, first, test->now);
	assert_int_equal(test->cancels, 0);
	tools_script_answer(test, alpha, "{\"tools\":[]}");
	tools_script_answer(test, alpha + 1, "{\"tools\":[]}");
	tools_script_expect(test, second, "{\"tools\":[]}");
	first = tools_script_client(test);
	tools_script_silent(test, first);
	tools_script_post(test, first, "/mcp", LIST);
	tools_script_expect(test, first, "{\"tools\":[]}");
	assert_int_equal(test->lists, 2);
	tools_script_close(test);
}

/* --- MCP's own way to cancel -------------------------------------------- */

static void
test_tools_port_gone_notified(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t calls = tools_script_client(test);
	size_t notes = tools_script_client(test);

	(void)state;
	test_tools_port_gone_call(test, calls, 0, "7");
	/* Not that one, and not what is no id. */
	test_tools_port_gone_cancel(test, notes, 0, "\"7\"");
	test_tools_port_gone_cancel(test, notes, 0, "8");
	test_tools_port_gone_cancel(test, notes, 0, "[7]");
	test_tools_port_gone_cancel(test, notes, 3, "7");
	assert_int_equal(test->cancels, 0);
	test_tools_port_gone_cancel(test, notes, 0, "7");
	assert_int_equal(test->cancels, 1);
	assert_int_equal(test->cancelled, test->call);
	/* The request ends without an answer; the connection goes on. */
	tools_script_expect(test, calls, "HTTP/1.1 202 ");
	tools_script_answer(test, test->cancelled, OK_TEXT);
	tools_script_silent(test, calls);
	test_tools_port_gone_cancel(test, notes, 0, "7");
	assert_int_equal(test->cancels, 1);
	test_tools_port_gone_call(test, calls, 0, "8");
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_expect(test, calls, "\"id\":8,\"result\":");
	assert_int_equal(test->grant.calls, 2);
	tools_script_close(test);
}

/* Two clients of one agent count from the same number. */
static void
test_tools_port_gone_sessions(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	size_t notes = tools_script_client(test);
	const char *hello = V "\"id\":0,\"method\":\"initialize\",\"params\":"
			      "{\"protocolVersion\":\"2025-06-18\"}}";
	uint64_t one;

	(void)state;
	tools_script_post(test, first, "/mcp", hello);
	tools_script_expect(test, first, "Mcp-Session-Id: 1\r\n");
	tools_script_post(test, second, "/mcp", hello);
	tools_script_expect(test, second, "Mcp-Session-Id: 2\r\n");
	test_tools_port_gone_call(test, first, 1, "5");
	one = test->call;
	test_tools_port_gone_call(test, second, 2, "5");
	test_tools_port_gone_cancel(test, notes, 1, "5");
	assert_int_equal(test->cancels, 1);
	assert_int_equal(test->cancelled, one);
	tools_script_silent(test, second);
	tools_script_expect(test, first, "HTTP/1.1 202 ");
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_expect(test, second, "done");
	tools_script_close(test);
}

/* Without sessions there is no telling which of two is meant. */
static void
test_tools_port_gone_ambiguous(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t first = tools_script_client(test);
	size_t second = tools_script_client(test);
	size_t notes = tools_script_client(test);

	(void)state;
	test_tools_port_gone_call(test, first, 0, "5");
	test_tools_port_gone_call(test, second, 0, "5");
	test_tools_port_gone_cancel(test, notes, 0, "5");
	assert_int_equal(test->cancels, 0);
	/* A run_tool of that id is not MCP's to cancel. */
	tools_port_gone(&test->port, first, test->now);
	tools_port_gone(&test->port, second, test->now);
	first = tools_script_client(test);
	tools_script_run(test, first, ALPHA);
	test_tools_port_gone_cancel(test, notes, 0, "\"r\"");
	assert_int_equal(test->cancels, 2);
	tools_script_close(test);
}

/* A list that is waited for: its client no longer wants it. */
static void
test_tools_port_gone_list_cancelled(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t lists = tools_script_client(test);
	size_t notes = tools_script_client(test);

	(void)state;
	tools_script_post(test, lists, "/mcp", LIST);
	test_tools_port_gone_cancel(test, notes, 0, "9");
	tools_script_expect(test, lists, "HTTP/1.1 202 ");
	assert_int_equal(test->cancels, 0);
	tools_script_close(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tools_port_gone_closes),
	    cmocka_unit_test(test_tools_port_gone_pipelined),
	    cmocka_unit_test(test_tools_port_gone_list_waits),
	    cmocka_unit_test(test_tools_port_gone_reader),
	    cmocka_unit_test(test_tools_port_gone_lister),
	    cmocka_unit_test(test_tools_port_gone_notified),
	    cmocka_unit_test(test_tools_port_gone_sessions),
	    cmocka_unit_test(test_tools_port_gone_ambiguous),
	    cmocka_unit_test(test_tools_port_gone_list_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
