/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client of the tools port may do to it with HTTP, time and number:
 * every bound is an answer or an end, and none of them costs another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/tools_script.h"

/* --- HTTP --------------------------------------------------------------- */

static void
test_tools_port_http_framing(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);
	static const char ping[] =
	    "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/json\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n"
	    "5;x=y\r\n{\"jso\r\n23\r\nnrpc\":\"2.0\",\"id\":1,\"method\":"
	    "\"ping\"}\r\n0\r\nT: x\r\n\r\n";
	static const char two[] =
	    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	    "application/json\r\nContent-Length: 2\r\n\r\n{}"
	    "POST /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

	(void)state;
	/* Byte by byte, then two in one read: one answer each, in order. */
	for (size_t i = 0; i + 1 < sizeof(ping); i++)
		tools_port_bytes(&test->port, client, ping + i, 1, test->now);
	tools_script_expect(test, client, "\"result\":{}");
	tools_port_bytes(
	    &test->port, client, ping, sizeof(ping) - 1, test->now);
	tools_script_expect(test, client, "\"result\":{}");
	tools_script_bytes(test, client, two);
	tools_script_expect(test, client, "400 Bad Request");
	tools_script_expect(test, client, "404 Not Found");
	/* What was refused is not read on; it goes after a while. */
	assert_true(tools_port_is_open(&test->port, client));
	tools_script_post(test, client, "/mcp", "{}");
	tools_script_silent(test, client);
	test->now += TOOLS_CONN_LINGER_MS;
	tools_port_time(&test->port, test->now);
	assert_false(tools_port_is_open(&test->port, client));
	tools_script_close(test);
}

static void
test_tools_port_http_bounds(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);
	char big[2100], text[1100];

	(void)state;
	tools_script_bytes(test, client,
	    "POST /agentnode/result HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/json\r\nContent-Length: 1025\r\n"
	    "Expect: 100-continue\r\n\r\n");
	tools_script_expect(test, client, "413 Content Too Large");
	client = tools_script_client(test);
	tools_script_bytes(test, client,
	    "POST /agentnode/result HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
	    "\r\nffff\r\n");
	memset(big, ' ', sizeof(big));
	tools_port_bytes(&test->port, client, big, sizeof(big), test->now);
	tools_script_expect(test, client, "413 Content Too Large");
	/* Arguments have a bound of their own. */
	client = tools_script_client(test);
	memset(text, 'x', sizeof(text));
	(void)snprintf(big, sizeof(big),
	    "{\"slug\":\"alpha\",\"tool_name\":\"t\","
	    "\"arguments\":{\"a\":\"%.*s\"}}",
	    1100, text);
	tools_script_run(test, client, big);
	tools_script_expect(test, client, "\"code\":\"too_long\"");
	assert_int_equal(test->calls, 0);
	tools_script_close(test);
}

static void
test_tools_port_http_continue(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	tools_script_bytes(test, client,
	    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	    "application/json\r\nContent-Length: 40\r\n"
	    "Expect: 100-continue\r\n\r\n");
	tools_script_expect(test, client, "HTTP/1.1 100 Continue\r\n\r\n");
	tools_script_bytes(test, client, V "\"id\":1,\"method\":\"ping\"}");
	tools_script_expect(test, client, "\"result\":{}");
	tools_script_close(test);
}

/* --- time --------------------------------------------------------------- */

static void
test_tools_port_http_slow(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	/* A head that trickles has its time from the first byte on. */
	for (unsigned i = 0; i < 9; i++) {
		tools_script_bytes(test, client, "P");
		test->now += TOOLS_CONN_HEAD_MS / 10;
		tools_port_time(&test->port, test->now);
		tools_script_silent(test, client);
	}
	test->now += TOOLS_CONN_HEAD_MS / 10;
	assert_int_equal(tools_port_next_ms(&test->port), test->now);
	tools_port_time(&test->port, test->now);
	tools_script_expect(test, client, "408 Request Timeout");
	/* A body that does not come. */
	client = tools_script_client(test);
	tools_script_bytes(test, client,
	    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	    "application/json\r\nContent-Length: 40\r\n\r\n{");
	test->now += TOOLS_CONN_BODY_MS;
	tools_port_time(&test->port, test->now);
	tools_script_expect(test, client, "408 Request Timeout");
	/* A reader that reads nothing. */
	client = tools_script_client(test);
	tools_script_post(test, client, "/mcp", "{}");
	test->now += TOOLS_CONN_STALL_MS;
	tools_port_time(&test->port, test->now);
	assert_false(tools_port_is_open(&test->port, client));
	/* Nobody says anything. */
	client = tools_script_client(test);
	test->now += TOOLS_CONN_IDLE_MS;
	tools_port_time(&test->port, test->now);
	assert_false(tools_port_is_open(&test->port, client));
	tools_script_close(test);
}

/* A call has no limit here: the supervisor's is enough. */
static void
test_tools_port_http_patient(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);

	(void)state;
	tools_script_run(
	    test, client, "{\"slug\":\"alpha\",\"tool_name\":\"t\"}");
	test->now += 3600U * 1000U;
	tools_port_time(&test->port, test->now);
	tools_script_answer(test, test->call, OK_TEXT);
	tools_script_expect(test, client, "done");
	tools_script_close(test);
}

static void
test_tools_port_http_crowd(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t evicted, client;

	(void)state;
	/* All of them busy: there is no room. */
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		client = tools_port_accept(&test->port, &evicted, test->now++);
		assert_int_equal(client, i);
		assert_int_equal(evicted, TOOLS_PORT_CONNS);
		tools_script_bytes(test, client, "POST");
	}
	client = tools_port_accept(&test->port, &evicted, test->now);
	assert_int_equal(client, TOOLS_PORT_CONNS);
	/* One that says nothing for a while makes room, the oldest. */
	tools_port_gone(&test->port, 7, test->now);
	assert_int_equal(
	    tools_port_accept(&test->port, &evicted, test->now++), 7);
	tools_port_gone(&test->port, 3, test->now);
	assert_int_equal(
	    tools_port_accept(&test->port, &evicted, test->now++), 3);
	assert_false(tools_port_has_room(&test->port, test->now));
	client = tools_port_accept(&test->port, &evicted, test->now);
	assert_int_equal(client, TOOLS_PORT_CONNS);
	test->now += TOOLS_PORT_REST_MS;
	assert_true(tools_port_has_room(&test->port, test->now));
	client = tools_port_accept(&test->port, &evicted, test->now);
	assert_int_equal(client, 7);
	assert_int_equal(evicted, 7);
	tools_script_close(test);
}

/* A flood of refusals: one message at once, then counted ones. */
static void
test_tools_port_http_i12_flood(void **state)
{
	struct tools_script *test = tools_script_open();
	size_t client = tools_script_client(test);
	char params[64];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(
		    params, sizeof(params), "{\"slug\":\"gamma-%u\"}", i);
		tools_script_run(test, client, params);
		tools_script_expect(test, client, "tool_not_allowed");
		tools_port_time(&test->port, test->now);
		test->now++;
	}
	assert_true(test->told < 400);
	tools_port_end(&test->port, test->now);
	assert_int_equal(test->told_count, 5000);
	assert_int_equal(test->port.tally.by_fault[TOOLS_FAULT_DENIED], 5000);
	tools_script_close(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tools_port_http_framing),
	    cmocka_unit_test(test_tools_port_http_bounds),
	    cmocka_unit_test(test_tools_port_http_continue),
	    cmocka_unit_test(test_tools_port_http_slow),
	    cmocka_unit_test(test_tools_port_http_patient),
	    cmocka_unit_test(test_tools_port_http_crowd),
	    cmocka_unit_test(test_tools_port_http_i12_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
