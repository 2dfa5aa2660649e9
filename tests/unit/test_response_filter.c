/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/response_filter: which heads of a provider are good, how their
 * bodies are framed, and which fields go to the agent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/response_filter.h"

#define JSON "Content-Type: application/json\r\n"
#define LENGTH RESPONSE_FILTER_LENGTH
#define CHUNKED RESPONSE_FILTER_CHUNKED
#define CLOSE RESPONSE_FILTER_CLOSE

static struct provider_path test_response_filter_path;
static const struct redact_set test_response_filter_none;

struct test_response_filter_row {
	const char *fields; /* behind "HTTP/1.1 " */
	enum response_filter_status status;
	enum call_code code;
	enum response_filter_framing framing;
	uint64_t length;
	bool reusable, event_stream;
	unsigned retry;
	const char *passed;
};

static const struct test_response_filter_row test_response_filter_rows[] = {
    {"200 OK\r\n" JSON "Content-Length: 7\r\n", RESPONSE_FILTER_OK, CALL_OK,
	LENGTH, 7, true, false, 0, "content-type: application/json\r\n"},
    {"200 OK\r\n" JSON, RESPONSE_FILTER_OK, CALL_OK, CLOSE, 0, false, false, 0,
	"content-type: application/json\r\n"},
    {"200\r\nCONTENT-TYPE: Text/Event-Stream; charset=utf-8\r\n"
     "Transfer-Encoding: Chunked\r\n",
	RESPONSE_FILTER_OK, CALL_OK, CHUNKED, 0, true, true, 0,
	"content-type: Text/Event-Stream; charset=utf-8\r\n"},
    {"200 OK\r\n" JSON "Content-Length: 7\r\nConnection: close\r\n",
	RESPONSE_FILTER_OK, CALL_OK, LENGTH, 7, false, false, 0,
	"content-type: application/json\r\n"},
    {"200 OK\r\n" JSON "Content-Length: 7\r\nConnection: Keep-Alive\r\n",
	RESPONSE_FILTER_OK, CALL_OK, LENGTH, 7, true, false, 0,
	"content-type: application/json\r\n"},
    {"200 OK\r\n" JSON "Content-Length: 7\r\nContent-Encoding: identity\r\n",
	RESPONSE_FILTER_OK, CALL_OK, LENGTH, 7, true, false, 0,
	"content-type: application/json\r\n"},
    /* fields on the list, and no others */
    {"200 OK\r\nServer: x\r\nSet-Cookie: a=b\r\nX-Request-ID: r1\r\n" JSON
     "Location: /x\r\nAlt-Svc: h3\r\nX-RateLimit-Remaining-Tokens: 5\r\n"
     "x-ratelimit-: 1\r\nX-RateLimit-736b2d6161: 1\r\n"
     "anthropic-ratelimit-736b2d6161: 1\r\n"
     "x-ratelimit-limit-tokensx: 1\r\n"
     "anthropic-ratelimit-requests-limit: 9\r\n"
     "openai-processing-ms: 12\r\nContent-Length: 0\r\nVia: 1.1 x\r\n"
     "X-AgentNode-Reason: too_many_calls\r\n"
     "Strict-Transport-Security: x\r\nX-Request-ID-Other: q\r\n",
	RESPONSE_FILTER_OK, CALL_OK, LENGTH, 0, true, false, 0,
	"x-request-id: r1\r\ncontent-type: application/json\r\n"
	"x-ratelimit-remaining-tokens: 5\r\n"
	"anthropic-ratelimit-requests-limit: 9\r\n"
	"openai-processing-ms: 12\r\n"},
    {"204 X\r\nContent-Length: 9\r\n", RESPONSE_FILTER_OK, CALL_OK, LENGTH, 0,
	true, false, 0, ""},
    /* errors: nothing is passed on, the pace is told */
    {"429 X\r\nRetry-After: 17\r\n" JSON "Content-Length: 3\r\n",
	RESPONSE_FILTER_OK, CALL_OK, LENGTH, 3, true, false, 17, ""},
    {"503 X\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"
     "Content-Type: text/html\r\n",
	RESPONSE_FILTER_OK, CALL_OK, CLOSE, 0, false, false, 0, ""},
    {"529 X\r\nRetry-After: 99999\r\n", RESPONSE_FILTER_OK, CALL_OK, CLOSE, 0,
	false, false, 86400, ""},
    /* interim heads */
    {"100 Continue\r\n", RESPONSE_FILTER_INTERIM, CALL_OK, LENGTH, 0, false,
	false, 0, ""},
    {"103 Early\r\nLink: x\r\n", RESPONSE_FILTER_INTERIM, CALL_OK, LENGTH, 0,
	false, false, 0, ""},
#define REFUSED(text, code)                                                   \
	{                                                                     \
		text, RESPONSE_FILTER_REFUSED, code, LENGTH, 0, false, false, \
		    0, ""                                                     \
	}
    REFUSED("101 Switching\r\nUpgrade: websocket\r\n", CALL_UPSTREAM_BAD),
    REFUSED("300 X\r\n", CALL_REDIRECT_REFUSED),
    REFUSED("302 X\r\nLocation: https://x/\r\n", CALL_REDIRECT_REFUSED),
    REFUSED("304 X\r\n", CALL_REDIRECT_REFUSED),
    REFUSED("307 X\r\nLocation: /v1\r\n", CALL_REDIRECT_REFUSED),
    REFUSED("600 X\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Encoding: gzip\r\n", CALL_UPSTREAM_BAD),
    REFUSED("429 X\r\nContent-Encoding: br\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Encoding: identity\r\n"
	    "Content-Encoding: gzip\r\n",
	CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\nContent-Type: text/html\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Type: text/event-stream\r\n",
	CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\nContent-Type: application/json5\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\nContent-Length: 5\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Length: 5\r\nContent-Length: 5\r\n",
	CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Length: +5\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Length: 0x5\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Content-Length: 5\r\n"
	    "Transfer-Encoding: chunked\r\n",
	CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON "Transfer-Encoding: gzip, chunked\r\n",
	CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\n" JSON " folded: x\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\nContent-Type : application/json\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\r\nContent_Type: x\r\n", CALL_UPSTREAM_BAD),
    REFUSED("200 OK\n" JSON, CALL_UPSTREAM_BAD),
    REFUSED("2000 OK\r\n" JSON, CALL_UPSTREAM_BAD),
    REFUSED("99 OK\r\n" JSON, CALL_UPSTREAM_BAD),
    REFUSED("200 \x01\r\n" JSON, CALL_UPSTREAM_BAD),
};

static void
test_response_filter_table(void **state)
{
	size_t rows = sizeof(test_response_filter_rows) /
		      sizeof(test_response_filter_rows[0]);

	(void)state;
	for (size_t i = 0; i < rows; i++) {
		const struct test_response_filter_row *row =
		    &test_response_filter_rows[i];
		struct response_filter_head head;
		struct buffer fields;
		char text[2048];
		int len = snprintf(
		    text, sizeof(text), "HTTP/1.1 %s\r\nbody", row->fields);

		buffer_init(&fields, RESPONSE_FILTER_FIELDS_MAX);
		assert_int_equal(
		    response_filter_read(text, (size_t)len,
			&test_response_filter_path, &test_response_filter_none,
			&head, &fields),
		    row->status);
		if (head.code != row->code || head.reusable != row->reusable ||
		    (row->status != RESPONSE_FILTER_REFUSED &&
			(head.framing != row->framing ||
			    head.length != row->length ||
			    head.event_stream != row->event_stream ||
			    head.retry_after_s != row->retry)))
			fail_msg("row %zu: %s", i, row->fields);
		if (fields.len != strlen(row->passed) ||
		    (fields.len > 0 && memcmp(buffer_bytes_borrow(&fields),
					   row->passed, fields.len) != 0))
			fail_msg("row %zu passed %.*s", i, (int)fields.len,
			    (const char *)buffer_bytes_borrow(&fields));
		if (row->status == RESPONSE_FILTER_OK)
			assert_string_equal(text + head.head_len, "body");
		buffer_free(&fields);
	}
}

/* Nothing is said before the head is whole. */
static void
test_response_filter_more(void **state)
{
	static const char text[] =
	    "HTTP/1.1 200 OK\r\n" JSON "Content-Length: 2\r\n\r\n";
	struct response_filter_head head;
	struct buffer fields;

	(void)state;
	buffer_init(&fields, RESPONSE_FILTER_FIELDS_MAX);
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		assert_int_equal(
		    response_filter_read(text, len, &test_response_filter_path,
			&test_response_filter_none, &head, &fields),
		    RESPONSE_FILTER_MORE);
		assert_int_equal(fields.len, 0);
	}
	buffer_free(&fields);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_response_filter_table),
	    cmocka_unit_test(test_response_filter_more),
	};
	json_t *types =
	    json_pack("[s,s]", "application/json", "text/event-stream");
	int status;

	test_response_filter_path.content_types = types;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	json_decref(types);
	return status;
}
