/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of calls, played: the ways through, and what is asked of whom
 * in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/call_outcome.h"
#include "tests/machine/call_script.h"
#include "tests/support/redact_key.h"

/* Head, judged, sent, answered; and the same connection once more. */
static void
test_call_way(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);

	(void)unused;
	assert_int_equal(test->call.state, CALL_STATE_IDLE);
	for (unsigned i = 1; i <= 3; i++) {
		call_script_chat(test, "");
		assert_int_equal(test->call.state, CALL_STATE_ASK);
		call_script_sent(test);
		assert_null(test->call.request);
		call_script_answer(test, call_script_whole);
		call_script_expect(test, "answered", CALL_STATE_IDLE, CALL_OK);
		assert_int_equal(test->reports, i);
		assert_int_equal(test->pushes, i);
	}
	assert_string_equal(test->trace, "ask keep ask keep ask keep");
	assert_non_null(strstr(test->said, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(test->said, "content-type: application/json"));
	assert_non_null(strstr(test->said, "\"content\":\"forty\""));
	assert_int_equal(test->charge.used.input_tokens, 9);
	assert_int_equal(test->charge.used.output_tokens, 4);
	assert_int_equal(test->charge.used.output_chars, 5);
	assert_int_equal(test->charge.used.cost, 17);
	assert_false(test->charge.estimated);
	assert_int_equal(test->run.requests, 3);
	assert_int_equal(test->run.input_chars, 24);
	assert_int_equal(test->run.output_chars, 15);
	call_script_free(test);
}

/* The budget is asked before anything is sent, and settled. */
static void
test_call_way_ledger(void **unused)
{
	struct call_script *test = call_script_new(NULL, true);

	(void)unused;
	call_script_chat(test, "");
	assert_int_equal(test->call.state, CALL_STATE_RESERVE);
	assert_string_equal(test->trace, "reserve");
	assert_int_equal(test->call.charge.reserve.requests, 1);
	assert_int_equal(test->call.charge.reserve.input_chars, 8);
	assert_true(test->call.charge.reserve.output_tokens > 0);
	assert_true(test->call.charge.reserve.cost > 0);
	call_script_event(test, CALL_EVENT_RESERVED);
	call_script_sent(test);
	call_script_answer(test, call_script_whole);
	assert_string_equal(test->trace, "reserve ask settle keep");
	call_script_free(test);
}

/* It was reserved ahead: sent at once, and settled all the same, also when
 * there is no way to send it. */
static void
test_call_way_ahead(void **unused)
{
	struct call_script *test = call_script_new(NULL, true);

	(void)unused;
	test->reserve_result = RESULT_EXISTS;
	call_script_chat(test, "");
	assert_int_equal(test->call.state, CALL_STATE_ASK);
	assert_string_equal(test->trace, "reserve ask");
	call_script_sent(test);
	call_script_answer(test, call_script_whole);
	assert_string_equal(test->trace, "reserve ask settle keep");
	call_script_free(test);
	test = call_script_new(NULL, true);
	test->reserve_result = RESULT_EXISTS;
	test->ask_result = RESULT_CLOSED;
	call_script_chat(test, "");
	assert_string_equal(test->trace, "reserve ask settle");
	assert_int_equal(test->call.code, CALL_CREDENTIAL_UNAVAILABLE);
	assert_int_equal(test->charge.used.requests, 0);
	call_script_free(test);
}

/* A stream: each event as it comes, the usage we asked for left out. */
static void
test_call_way_stream(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_RELAY, false);

	(void)unused;
	assert_non_null(strstr(test->said, "transfer-encoding: chunked") != NULL
			    ? test->said
			    : strstr(test->said, "Transfer-Encoding: chunked"));
	assert_non_null(strstr(test->said, "forty"));
	call_script_answer(test, call_script_rest);
	call_script_expect(test, "done", CALL_STATE_IDLE, CALL_OK);
	assert_null(strstr(test->said, "usage"));
	assert_non_null(strstr(test->said, "[DONE]\n\n\r\n0\r\n\r\n"));
	assert_int_equal(test->charge.used.output_tokens, 4);
	assert_false(test->charge.estimated);
	call_script_free(test);
}

/* Byte by byte, both ways: the same story. */
static void
test_call_way_trickled(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	static const char request[] =
	    "POST /openai/v1/chat/completions HTTP/1.1\r\n"
	    "Host: localhost:4100\r\nContent-Type: application/json\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n"
	    "21\r\n{\"model\":\"gpt-4o-mini\",\"messages\"\r\n"
	    "25\r\n:[{\"role\":\"user\",\"content\":\"hello\"}]}\r\n0\r\n\r\n";

	(void)unused;
	for (const char *at = request; *at != '\0'; at++) {
		char one[2] = {*at, '\0'};

		call_script_send(test, one);
	}
	assert_int_equal(test->call.state, CALL_STATE_ASK);
	call_script_sent(test);
	for (const char *at = call_script_whole; *at != '\0'; at++) {
		char one[2] = {*at, '\0'};

		call_script_answer(test, one);
	}
	call_script_expect(test, "answered", CALL_STATE_IDLE, CALL_OK);
	call_script_free(test);
}

/* The next request waits until this call is over. */
static void
test_call_pipelined(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	char body[] = "{\"model\":\"gpt-4o-mini\",\"messages\":[]}";
	char text[1024];
	int len = snprintf(text, sizeof(text),
	    "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: "
	    "127.0.0.1:4100\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n\r\n%s",
	    strlen(body), body);

	(void)unused;
	(void)snprintf(text + len, sizeof(text) - (size_t)len,
	    "GET /openai/v1/models HTTP/1.1\r\nHost: 127.0.0.1:4100\r\n\r\n");
	call_script_send(test, text);
	assert_string_equal(test->trace, "ask");
	assert_int_equal(test->call.number, 1);
	call_script_sent(test);
	call_script_answer(test, call_script_whole);
	assert_string_equal(test->trace, "ask keep ask");
	assert_int_equal(test->call.number, 2);
	call_script_free(test);
}

/* The answer came before the whole request was sent: the lane is closed. */
static void
test_call_early(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);

	(void)unused;
	call_script_chat(test, "");
	call_script_answer(test, call_script_whole);
	call_script_expect(test, "early", CALL_STATE_IDLE, CALL_OK);
	assert_string_equal(test->trace, "ask drop");
	call_script_free(test);
}

/* A stalled agent holds its own call only. */
static void
test_call_stalled(void **unused)
{
	struct call_script *test = call_script_reach(CALL_STATE_DRAIN, false);

	(void)unused;
	assert_int_equal(test->call.state, CALL_STATE_DRAIN);
	assert_string_equal(test->trace, "ask keep"); /* the lane is free */
	assert_int_equal(test->code, CALL_OK);
	call_script_wait(test, 100000);
	assert_int_equal(test->call.state, CALL_STATE_DRAIN);
	test->stalled = false;
	call_script_take(test);
	assert_int_equal(test->call.state, CALL_STATE_IDLE);
	call_script_free(test);
}

static void
test_call_connection_close(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);

	(void)unused;
	call_script_send(test,
	    "GET /openai/v1/models HTTP/1.1\r\nHost: 127.0.0.1:4100\r\n"
	    "Connection: close\r\n\r\n");
	call_script_sent(test);
	call_script_answer(test,
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "Content-Length: 2\r\n\r\n{}");
	assert_int_equal(test->call.state, CALL_STATE_LINGER);
	assert_non_null(strstr(test->said, "Connection: close\r\n"));
	assert_string_equal(test->trace, "ask keep linger");
	call_script_event(test, CALL_EVENT_AGENT_GONE);
	assert_string_equal(test->trace, "ask keep linger close");
	call_script_free(test);
}

static void
test_call_continue(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	char body[] = "{\"model\":\"gpt-4o-mini\",\"messages\":[]}";
	char text[512];

	(void)unused;
	(void)snprintf(text, sizeof(text),
	    "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: "
	    "127.0.0.1:4100\r\nContent-Type: application/json\r\n"
	    "Expect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
	    strlen(body));
	call_script_send(test, text);
	assert_string_equal(test->said, "HTTP/1.1 100 Continue\r\n\r\n");
	call_script_send(test, body);
	assert_int_equal(test->call.state, CALL_STATE_ASK);
	/* and a failure after it is still a whole answer */
	call_script_failed(test, LANE_FAILED_DIAL);
	call_script_expect(test, "dial", CALL_STATE_IDLE, CALL_DIAL_FAILED);
	assert_non_null(strstr(test->said, "HTTP/1.1 502 "));
	call_script_free(test);
}

/* A key in the answer, in a field and in its body. */
static void
test_call_key(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	char text[1024];

	(void)unused;
	call_script_chat(test, "");
	call_script_sent(test);
	(void)snprintf(text, sizeof(text),
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "x-request-id: %s\r\nContent-Length: %zu\r\n\r\n\"%s\"",
	    REDACT_KEY, strlen(REDACT_KEY) + 2, REDACT_KEY);
	call_script_answer(test, text);
	call_script_expect(test, "answered", CALL_STATE_IDLE, CALL_OK);
	assert_null(strstr(test->said, &REDACT_KEY[6]));
	assert_non_null(strstr(test->said, "x-request-id: *****"));
	assert_non_null(strstr(test->said, "\r\n\r\n\"*****"));
	call_script_free(test);
}

#define SECOND "sk-b-9f8e7d6c5b4a3f2e1d0c"
#define THIRD "sk-c-0a1b2c3d4e5f6a7b8c9d"

/* The key is changed twice while a call that was sent with the first one is
 * waited for, and once more while its answer comes: all are looked for. */
static void
test_call_keys_change(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	char text[512];
	int len;

	(void)unused;
	call_script_chat(test, "");
	call_script_sent(test);
	call_script_key(test, "sk-a-other-0123456789abcdef");
	call_script_key(test, SECOND);
	len = snprintf(text, sizeof(text),
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "x-request-id: %s\r\nContent-Length: %zu\r\n\r\n\"%s %s",
	    REDACT_KEY, strlen(REDACT_KEY SECOND THIRD) + 4, REDACT_KEY,
	    SECOND);
	assert_true(len > 0);
	call_script_answer(test, text);
	call_script_key(test, THIRD);
	call_script_answer(test, " " THIRD "\"");
	call_script_expect(test, "answered", CALL_STATE_IDLE, CALL_OK);
	assert_non_null(strstr(test->said, "x-request-id: *****"));
	assert_null(strstr(test->said, &REDACT_KEY[6]));
	assert_null(strstr(test->said, &SECOND[6]));
	assert_null(strstr(test->said, &THIRD[6]));
	assert_non_null(strstr(test->said, "* ***"));
	call_script_free(test);
}

/* The reference's call_llm: the host's model, the answer in its shape. */
static void
test_call_llm(void **unused)
{
	struct call_script *test = call_script_new(NULL, false);
	static const char body[] =
	    "{\"messages\":[{\"role\":\"user\",\"content\":\"how many\"}]}";
	char text[512];

	(void)unused;
	(void)snprintf(text, sizeof(text),
	    "POST /agentnode/call_llm HTTP/1.1\r\nHost: 127.0.0.1:4100\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(body), body);
	call_script_send(test, text);
	assert_int_equal(test->call.state, CALL_STATE_ASK);
	assert_string_equal(test->call.model, "gpt-4o-mini");
	call_script_sent(test);
	call_script_answer(test, call_script_whole);
	call_script_expect(test, "answered", CALL_STATE_IDLE, CALL_OK);
	assert_non_null(strstr(test->said, "\"ok\":true"));
	assert_non_null(strstr(test->said, "forty"));
	test->said_len = 0;
	call_script_send(test, text);
	call_script_sent(test);
	call_script_failed(test, LANE_FAILED_DIAL);
	call_script_expect(test, "dial", CALL_STATE_IDLE, CALL_DIAL_FAILED);
	assert_non_null(strstr(test->said, "\"ok\":false"));
	call_script_free(test);
}

/* A key in two parts of a text is whole in the joined answer. */
static void
test_call_llm_key(void **unused)
{
	static struct redact_set patterns;
	struct provider_path path = {.usage = PROVIDER_USAGE_ANTHROPIC,
	    .content_types = json_pack("[s]", "application/json")};
	uint64_t chars = 0;
	const struct call_relay_options options = {.path = &path,
	    .patterns = &patterns,
	    .collect = true,
	    .bytes_max = 4096,
	    .output_chars_max = 4096,
	    .output_chars = &chars};
	struct call_relay_space space;
	struct call call = {.path = &path, .keep = true};
	char body[256], text[512];
	const char *said;

	(void)unused;
	redact_key_set(REDACT_KEY, &patterns);
	(void)snprintf(body, sizeof(body),
	    "{\"content\":[{\"text\":\"%.9s\"},{\"text\":\"%s\"}]}", REDACT_KEY,
	    &REDACT_KEY[9]);
	(void)snprintf(text, sizeof(text),
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n\r\n%s",
	    strlen(body), body);
	buffer_init(&call.out, CALL_OUT_MAX);
	call_relay_space_init(&space);
	assert_int_equal(call_relay_new(&options, &call.relay), RESULT_OK);
	assert_int_equal(
	    call_relay_feed(call.relay, &space, text, strlen(text), &call.out),
	    CALL_RELAY_DONE);
	assert_int_equal(call_outcome_llm(&call), RESULT_OK);
	assert_int_equal(buffer_append(&call.out, "", 1), RESULT_OK);
	said = (const char *)buffer_bytes_borrow(&call.out);
	assert_non_null(strstr(said, "\"content\":\"*****"));
	assert_null(strstr(said, &REDACT_KEY[9]));
	call_relay_free(&call.relay);
	call_relay_space_free(&space);
	buffer_free(&call.out);
	json_decref((json_t *)(uintptr_t)path.content_types);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_call_way),
	    cmocka_unit_test(test_call_way_ledger),
	    cmocka_unit_test(test_call_way_ahead),
	    cmocka_unit_test(test_call_way_stream),
	    cmocka_unit_test(test_call_way_trickled),
	    cmocka_unit_test(test_call_pipelined),
	    cmocka_unit_test(test_call_early),
	    cmocka_unit_test(test_call_stalled),
	    cmocka_unit_test(test_call_connection_close),
	    cmocka_unit_test(test_call_continue),
	    cmocka_unit_test(test_call_key),
	    cmocka_unit_test(test_call_keys_change),
	    cmocka_unit_test(test_call_llm),
	    cmocka_unit_test(test_call_llm_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
