/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How calls end that are not served: every state with every event that can
 * end it, what the agent is told, what is charged, what becomes of the lane.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/machine/call_script.h"

/* In this state, this happens. */
struct test_call_ends_row {
	enum call_state from;
	enum call_event event;
	enum call_state to;
	enum call_code code;
	const char *trace; /* its end */
};

static const struct test_call_ends_row test_call_ends_rows[] = {
    {CALL_STATE_IDLE, CALL_EVENT_AGENT_GONE, CALL_STATE_CLOSED, CALL_OK,
	"close"},
    {CALL_STATE_IDLE, CALL_EVENT_EVICTED, CALL_STATE_CLOSED, CALL_OK, "reset"},
    {CALL_STATE_IDLE, CALL_EVENT_SANDBOX_CLOSED, CALL_STATE_CLOSED, CALL_OK,
	"reset"},
    {CALL_STATE_REQUEST, CALL_EVENT_AGENT_GONE, CALL_STATE_CLOSED,
	CALL_CANCELLED, "close"},
    {CALL_STATE_REQUEST, CALL_EVENT_EVICTED, CALL_STATE_LINGER,
	CALL_TOO_MANY_CALLS, "linger"},
    {CALL_STATE_REQUEST, CALL_EVENT_SANDBOX_CLOSED, CALL_STATE_CLOSED,
	CALL_CANCELLED, "reset"},
    {CALL_STATE_RESERVE, CALL_EVENT_AGENT_GONE, CALL_STATE_CLOSED,
	CALL_CANCELLED, "reserve forget close"},
    {CALL_STATE_RESERVE, CALL_EVENT_BUDGET_LOST, CALL_STATE_IDLE,
	CALL_POLICY_UNAVAILABLE, "reserve"},
    {CALL_STATE_RESERVE, CALL_EVENT_SANDBOX_CLOSED, CALL_STATE_CLOSED,
	CALL_CANCELLED, "reserve forget reset"},
    {CALL_STATE_ASK, CALL_EVENT_AGENT_GONE, CALL_STATE_CLOSED, CALL_CANCELLED,
	"reserve ask settle drop close"},
    {CALL_STATE_ASK, CALL_EVENT_LANE_END, CALL_STATE_IDLE, CALL_UPSTREAM_CLOSED,
	"reserve ask settle drop"},
    {CALL_STATE_ASK, CALL_EVENT_LANE_LOST, CALL_STATE_IDLE,
	CALL_UPSTREAM_CLOSED, "reserve ask settle drop"},
    {CALL_STATE_ASK, CALL_EVENT_SANDBOX_CLOSED, CALL_STATE_CLOSED,
	CALL_CANCELLED, "reserve ask settle drop reset"},
    {CALL_STATE_RELAY, CALL_EVENT_AGENT_GONE, CALL_STATE_CLOSED, CALL_CANCELLED,
	"reserve ask settle drop close"},
    {CALL_STATE_RELAY, CALL_EVENT_LANE_END, CALL_STATE_LINGER,
	CALL_UPSTREAM_CLOSED, "reserve ask settle drop linger"},
    {CALL_STATE_RELAY, CALL_EVENT_LANE_LOST, CALL_STATE_LINGER,
	CALL_UPSTREAM_CLOSED, "reserve ask settle drop linger"},
    {CALL_STATE_RELAY, CALL_EVENT_SANDBOX_CLOSED, CALL_STATE_CLOSED,
	CALL_CANCELLED, "reserve ask settle drop reset"},
    {CALL_STATE_DRAIN, CALL_EVENT_AGENT_GONE, CALL_STATE_CLOSED, CALL_OK,
	"reserve ask settle keep close"},
    {CALL_STATE_DRAIN, CALL_EVENT_SANDBOX_CLOSED, CALL_STATE_CLOSED, CALL_OK,
	"reserve ask settle keep reset"},
};

static void
test_call_ends_table(void **unused)
{
	size_t rows =
	    sizeof(test_call_ends_rows) / sizeof(test_call_ends_rows[0]);

	(void)unused;
	for (size_t i = 0; i < rows; i++) {
		const struct test_call_ends_row *row = &test_call_ends_rows[i];
		struct call_script *test = call_script_reach(row->from, true);
		char what[64];

		assert_int_equal(test->call.state, row->from);
		call_script_event(test, row->event);
		(void)snprintf(what, sizeof(what), "row %zu", i);
		call_script_expect(test, what, row->to, row->code);
		if (strcmp(test->trace, row->trace) != 0)
			fail_msg("row %zu: %s", i, test->trace);
		call_script_free(test);
	}
}

/* Every event in every state: nothing breaks, one report per call. */
static void
test_call_ends_any(void **unused)
{
	(void)unused;
	for (unsigned state = CALL_STATE_IDLE; state <= CALL_STATE_DRAIN;
	     state++)
		for (unsigned event = 0; event < CALL_EVENT_COUNT; event++) {
			struct call_script *test =
			    call_script_reach((enum call_state)state, true);

			test->call.failure = LANE_FAILED_CLOSED;
			test->call.given.bytes = "x";
			test->call.given.len = 1;
			if (event != CALL_EVENT_DRAINED)
				call_script_event(test, (enum call_event)event);
			call_script_free(test);
		}
}

/* What llm-key says, as the agent hears it. */
static void
test_call_ends_failures(void **unused)
{
	static const struct {
		enum lane_failure failure;
		enum call_code code;
		const char *status;
		bool charged;
	} rows[] = {
	    {LANE_FAILED_NO_KEY, CALL_CREDENTIAL_UNAVAILABLE, " 503 ", false},
	    {LANE_FAILED_BREAKER, CALL_KEY_REFUSED, " 502 ", false},
	    {LANE_FAILED_LOOKUP, CALL_LOOKUP_FAILED, " 502 ", false},
	    {LANE_FAILED_ADDRESS, CALL_ADDRESS_NOT_ALLOWED, " 502 ", false},
	    {LANE_FAILED_DIAL, CALL_DIAL_FAILED, " 502 ", false},
	    {LANE_FAILED_TLS, CALL_UPSTREAM_TLS, " 502 ", false},
	    {LANE_FAILED_TIMEOUT, CALL_TIMEOUT, " 504 ", true},
	    {LANE_FAILED_CLOSED, CALL_UPSTREAM_CLOSED, " 502 ", true},
	    {LANE_FAILED_HEAD, CALL_POLICY_UNAVAILABLE, " 503 ", false},
	    {LANE_FAILED_BUSY, CALL_TOO_MANY_CALLS, " 429 ", false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call_script *test =
		    call_script_reach(CALL_STATE_ASK, true);

		call_script_failed(test, rows[i].failure);
		call_script_expect(
		    test, "failed", CALL_STATE_IDLE, rows[i].code);
		assert_non_null(strstr(test->said, rows[i].status));
		assert_string_equal(test->trace, "reserve ask settle shut");
		assert_int_equal(
		    test->charge.used.requests, rows[i].charged ? 1 : 0);
		assert_int_equal(test->charge.used.output_tokens,
		    rows[i].charged ? test->charge.reserve.output_tokens : 0);
		assert_int_equal(test->run.requests, rows[i].charged ? 1 : 0);
		call_script_free(test);
	}
}

/* The provider's own errors: status kept, text not. */
static void
test_call_ends_provider(void **unused)
{
	static const struct {
		const char *answer, *said;
		enum call_code code;
		const char *trace;
	} rows[] = {
	    {"HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: 62\r\n\r\n"
	     "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"no "
	     "really\"}}",
		"Retry-After: 7\r\n", CALL_UPSTREAM_ERROR,
		"reserve ask settle keep"},
	    {"HTTP/1.1 400 X\r\nTransfer-Encoding: chunked\r\n\r\n"
	     "3f\r\n{\"error\":{\"code\":\"context_length_exceeded\","
	     "\"message\":"
	     "\"really\"}}\r\n0\r\n\r\n",
		"context_length_exceeded", CALL_UPSTREAM_ERROR,
		"reserve ask settle keep"},
	    {"HTTP/1.1 401 X\r\nContent-Length: 6\r\n\r\nreally",
		"HTTP/1.1 502 ", CALL_KEY_REFUSED,
		"reserve ask settle key_refused"},
	    {"HTTP/1.1 500 X\r\nContent-Length: 6\r\nConnection: close\r\n\r\n"
	     "really",
		"HTTP/1.1 500 ", CALL_UPSTREAM_ERROR,
		"reserve ask settle shut"},
	    {"HTTP/1.1 302 X\r\nLocation: https://really/\r\n\r\n",
		"HTTP/1.1 502 ", CALL_REDIRECT_REFUSED,
		"reserve ask settle drop"},
	    {"HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\nreally",
		"HTTP/1.1 502 ", CALL_UPSTREAM_BAD, "reserve ask settle drop"},
	    {"HTTP/1.1 200 X\nreally: y\r\n\r\n", "HTTP/1.1 502 ",
		CALL_UPSTREAM_BAD, "reserve ask settle drop"},
	    {"HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
	     "Content-Encoding: gzip\r\n\r\nreally",
		"HTTP/1.1 502 ", CALL_UPSTREAM_BAD, "reserve ask settle drop"},
	    {"HTTP/1.1 100 X\r\n\r\nHTTP/1.1 103 X\r\n\r\nHTTP/1.1 404 X\r\n"
	     "Content-Length: 0\r\n\r\n",
		"HTTP/1.1 404 ", CALL_UPSTREAM_ERROR,
		"reserve ask settle keep"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call_script *test =
		    call_script_reach(CALL_STATE_ASK, true);

		call_script_answer(test, rows[i].answer);
		call_script_expect(
		    test, rows[i].said, CALL_STATE_IDLE, rows[i].code);
		if (strstr(test->said, rows[i].said) == NULL ||
		    strstr(test->said, "really") != NULL)
			fail_msg("row %zu: %s", i, test->said);
		if (strcmp(test->trace, rows[i].trace) != 0)
			fail_msg("row %zu: %s", i, test->trace);
		call_script_free(test);
	}
}

/* A stream that breaks says so between events, and is reset inside one. */
static void
test_call_ends_inside(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_RELAY, false);

	(void)unused;
	call_script_failed(test, LANE_FAILED_CLOSED);
	call_script_expect(
	    test, "between", CALL_STATE_LINGER, CALL_UPSTREAM_CLOSED);
	assert_non_null(strstr(test->said, "upstream_closed"));
	assert_non_null(strstr(test->said, "\r\n0\r\n\r\n"));
	assert_true(test->charge.estimated);
	assert_int_equal(test->charge.used.output_chars, 5);
	assert_int_equal(test->charge.used.output_tokens,
	    test->charge.reserve.output_tokens);
	call_script_free(test);

	test = call_script_reach(CALL_STATE_RELAY, false);
	call_script_answer(test,
	    "2c\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]\r\n");
	call_script_failed(test, LANE_FAILED_CLOSED);
	call_script_expect(
	    test, "inside", CALL_STATE_CLOSED, CALL_UPSTREAM_CLOSED);
	assert_string_equal(test->trace, "ask shut reset");
	call_script_free(test);
}

static void
test_call_ends_limits(void **unused)
{
	struct call_script *test = call_script_new("\"output_chars\":7", false);

	(void)unused;
	call_script_chat(test, ",\"stream\":true");
	call_script_sent(test);
	call_script_answer(test, call_script_stream); /* five */
	assert_int_equal(test->call.state, CALL_STATE_RELAY);
	call_script_answer(test,
	    "33\r\ndata: "
	    "{\"choices\":[{\"delta\":{\"content\":\"again\"}}]}\n\n"
	    "\r\n");
	call_script_expect(
	    test, "output", CALL_STATE_LINGER, CALL_OUTPUT_LIMIT);
	assert_null(strstr(test->said, "again"));
	assert_non_null(strstr(test->said, "output_limit"));
	assert_string_equal(test->trace, "ask drop linger");
	call_script_free(test);
}

/* The run's own counters, without a ledger. */
static void
test_call_ends_counted(void **unused)
{
	static const struct {
		const char *limits, *detail;
		enum call_code code;
	} rows[] = {
	    {"\"requests\":1", "requests of this run", CALL_BUDGET_EXCEEDED},
	    {"\"input_chars\":15", "input_chars", CALL_BUDGET_EXCEEDED},
	    {"\"output_chars\":5", "output_chars", CALL_BUDGET_EXCEEDED},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call_script *test =
		    call_script_new(rows[i].limits, false);

		call_script_chat(test, "");
		call_script_sent(test);
		call_script_answer(test, call_script_whole);
		call_script_expect(test, "first", CALL_STATE_IDLE, CALL_OK);
		call_script_chat(test, "");
		call_script_expect(
		    test, rows[i].limits, CALL_STATE_IDLE, rows[i].code);
		assert_non_null(strstr(test->said, rows[i].detail));
		assert_string_equal(test->trace, "ask keep");
		assert_int_equal(test->charge.used.requests, 0);
		call_script_free(test);
	}
}

static void
test_call_ends_refused(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_RESERVE, true);

	(void)unused;
	test->call.refusal = (struct call_refusal){.scope = "host_day",
	    .amount = "tokens",
	    .limit = 1000,
	    .used = 990,
	    .retry_after_s = 55};
	call_script_event(test, CALL_EVENT_REFUSED);
	call_script_expect(
	    test, "refused", CALL_STATE_IDLE, CALL_BUDGET_EXCEEDED);
	assert_non_null(strstr(test->said, "HTTP/1.1 429 "));
	assert_non_null(strstr(test->said, "Retry-After: 55\r\n"));
	assert_non_null(strstr(test->said, "tokens of scope host_day"));
	assert_string_equal(test->trace, "reserve");
	assert_int_equal(test->run.requests, 0);
	call_script_free(test);

	test = call_script_new(NULL, true);
	test->reserve_result = RESULT_CLOSED;
	call_script_chat(test, "");
	call_script_expect(
	    test, "no ledger", CALL_STATE_IDLE, CALL_POLICY_UNAVAILABLE);
	call_script_free(test);

	test = call_script_new(NULL, false);
	test->ask_result = RESULT_TOO_LONG;
	call_script_chat(test, "");
	call_script_expect(
	    test, "no lane", CALL_STATE_IDLE, CALL_TOO_MANY_CALLS);
	test->ask_result = RESULT_CLOSED;
	call_script_chat(test, "");
	call_script_expect(
	    test, "no key", CALL_STATE_IDLE, CALL_CREDENTIAL_UNAVAILABLE);
	assert_int_equal(test->run.requests, 0);
	call_script_free(test);
}

/* A provider whose key is missing is not called at all. */
static void
test_call_ends_no_key(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	static const char body[] =
	    "{\"model\":\"gpt-4o-mini\",\"max_tokens\":5,\"messages\":[{"
	    "\"role\":\"user\",\"content\":\"x\"}]}";
	char text[512];

	(void)unused;
	(void)snprintf(text, sizeof(text),
	    "POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:4100\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(body), body);
	call_script_send(test, text);
	call_script_expect(
	    test, "missing", CALL_STATE_IDLE, CALL_CREDENTIAL_UNAVAILABLE);
	assert_string_equal(test->trace, "");
	assert_non_null(strstr(test->said, "\"type\":\"error\""));
	call_script_free(test);
}

static void
test_call_ends_deadlines(void **unused)
{
	static const struct {
		enum call_state from, to;
		uint64_t ms;
		enum call_code code;
		const char *said;
	} rows[] = {
	    {CALL_STATE_IDLE, CALL_STATE_CLOSED, 30200, CALL_OK, ""},
	    {CALL_STATE_REQUEST, CALL_STATE_LINGER, 10200, CALL_TIMEOUT,
		" 408 "},
	    {CALL_STATE_RESERVE, CALL_STATE_IDLE, 5200, CALL_POLICY_UNAVAILABLE,
		" 503 "},
	    {CALL_STATE_ASK, CALL_STATE_IDLE, 62200, CALL_TIMEOUT, " 504 "},
	    {CALL_STATE_RELAY, CALL_STATE_LINGER, 122200, CALL_TIMEOUT,
		"timeout"},
	    {CALL_STATE_DRAIN, CALL_STATE_CLOSED, 120200, CALL_OK, ""},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call_script *test =
		    call_script_reach(rows[i].from, true);

		call_script_wait(test, rows[i].ms - 400);
		assert_int_equal(test->call.state, rows[i].from);
		call_script_wait(test, 400);
		call_script_expect(test, "deadline", rows[i].to, rows[i].code);
		assert_non_null(strstr(test->said, rows[i].said));
		call_script_free(test);
	}
}

/* Bytes keep a stream alive, but not beyond the total. */
static void
test_call_ends_total(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_RELAY, false);

	(void)unused;
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(test->call.state, CALL_STATE_RELAY);
		call_script_wait(test, 90000);
		call_script_answer(test, "8\r\n: ping\n\n\r\n");
	}
	call_script_expect(test, "total", CALL_STATE_CLOSED, CALL_TIMEOUT);
	call_script_free(test);
}

/* A trickled head has its time; a long body has more. */
static void
test_call_ends_trickle(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_REQUEST, false);
	char piece[4097];

	(void)unused;
	for (unsigned i = 0; i < 9; i++) {
		call_script_wait(test, 1000);
		call_script_send(test, "x");
		assert_int_equal(test->call.state, CALL_STATE_REQUEST);
	}
	call_script_wait(test, 1200);
	call_script_expect(test, "head", CALL_STATE_LINGER, CALL_TIMEOUT);
	call_script_free(test);

	test = call_script_new(NULL, false);
	call_script_send(test,
	    "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: "
	    "127.0.0.1:4100\r\nContent-Type: application/json\r\n"
	    "Content-Length: 100000\r\n\r\n{\"model\":\"");
	memset(piece, 'x', sizeof(piece) - 1);
	piece[sizeof(piece) - 1] = '\0';
	for (unsigned i = 0; i < 5; i++)
		call_script_send(test, piece);
	call_script_wait(test, 50000);
	assert_int_equal(test->call.state, CALL_STATE_REQUEST);
	call_script_wait(test, 10200);
	call_script_expect(test, "body", CALL_STATE_LINGER, CALL_TIMEOUT);
	call_script_free(test);
}

static void
test_call_ends_narrowed(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_ASK, false);

	(void)unused;
	call_script_narrow(test);
	call_script_expect(
	    test, "asked", CALL_STATE_IDLE, CALL_MODEL_NOT_ALLOWED);
	call_script_chat(test, "");
	call_script_expect(
	    test, "asks", CALL_STATE_IDLE, CALL_MODEL_NOT_ALLOWED);
	call_script_free(test);
	test = call_script_reach(CALL_STATE_RELAY, false);
	call_script_narrow(test);
	call_script_expect(
	    test, "streams", CALL_STATE_LINGER, CALL_MODEL_NOT_ALLOWED);
	call_script_free(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_call_ends_table),
	    cmocka_unit_test(test_call_ends_any),
	    cmocka_unit_test(test_call_ends_failures),
	    cmocka_unit_test(test_call_ends_provider),
	    cmocka_unit_test(test_call_ends_inside),
	    cmocka_unit_test(test_call_ends_limits),
	    cmocka_unit_test(test_call_ends_counted),
	    cmocka_unit_test(test_call_ends_refused),
	    cmocka_unit_test(test_call_ends_no_key),
	    cmocka_unit_test(test_call_ends_deadlines),
	    cmocka_unit_test(test_call_ends_total),
	    cmocka_unit_test(test_call_ends_trickle),
	    cmocka_unit_test(test_call_ends_narrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
