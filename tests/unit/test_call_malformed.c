/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_request: requests that are not strictly HTTP/1.1, whole
 * and cut at every byte into two; and what a connection may go on with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/support/call_case.h"

#define LINE "POST /openai/v1/chat/completions HTTP/1.1\r\n"
#define HOST "Host: 127.0.0.1:4100\r\n"
#define START LINE HOST "Content-Type: application/json\r\n"
#define BODY "{\"model\":\"gpt-4o-mini\",\"messages\":[]}"
#define CHUNKED START "Transfer-Encoding: chunked\r\n\r\n"
#define SIZE "25\r\n" BODY "\r\n"

/* The literal with the NULs in it. */
#define RAW(text) text, sizeof(text) - 1

struct test_call_malformed_row {
	const char *name;
	const char *bytes;
	size_t len;
	enum call_code code;
	unsigned status;
};

static const struct test_call_malformed_row test_call_malformed_rows[] = {
    {"fits", RAW(START "Content-Length: 37\r\n\r\n" BODY), CALL_OK, 0},
    {"fits_chunked", RAW(CHUNKED SIZE "0\r\n\r\n"), CALL_OK, 0},
    {"fits_b55_extension_and_trailer",
	RAW(CHUNKED "25;a=b\r\n" BODY "\r\n0\r\nx-api-key: y\r\n\r\n"), CALL_OK,
	0},
    {"b52_bare_lf",
	RAW("POST /openai/v1/chat/completions HTTP/1.1\n"
	    "Host: 127.0.0.1:4100\n\n"),
	CALL_BAD_REQUEST, 400},
    {"b52_bare_lf_in_a_header", RAW(START "Content-Length: 37\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b52_lone_cr", RAW(START "X: a\rb\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b51_two_lengths",
	RAW(START "Content-Length: 37\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b51_length_list", RAW(START "Content-Length: 37, 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b51_length_plus", RAW(START "Content-Length: +3\r\n\r\n{}\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_length_hex", RAW(START "Content-Length: 0x3\r\n\r\n{}\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_length_minus", RAW(START "Content-Length: -3\r\n\r\n{}\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_length_empty", RAW(START "Content-Length: \r\n\r\n{}\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_length_overflow",
	RAW(START "Content-Length: 18446744073709551653\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b51_length_and_chunked",
	RAW(START
	    "Content-Length: 37\r\nTransfer-Encoding: chunked\r\n\r\n" SIZE
	    "0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_chunked_and_length",
	RAW(START
	    "Transfer-Encoding: chunked\r\nContent-Length: 37\r\n\r\n" SIZE
	    "0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_coding_chunkedx",
	RAW(START "Transfer-Encoding: chunkedx\r\n\r\n" SIZE "0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_coding_gzip_chunked",
	RAW(START "Transfer-Encoding: gzip, chunked\r\n\r\n" SIZE "0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_coding_twice",
	RAW(START "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"
		  "\r\n\r\n" SIZE "0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"b51_folded", RAW(START "X: a\r\n b\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b51_space_before_colon", RAW(START "Content-Length : 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b48_no_host", RAW(LINE "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b48_two_hosts", RAW(START HOST "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b48_host_list",
	RAW(LINE
	    "Host: 127.0.0.1:4100, evil\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_MISDIRECTED, 421},
    {"b48_host_with_user",
	RAW(LINE "Host: a@127.0.0.1:4100\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_MISDIRECTED, 421},
    {"b54_underscore",
	RAW(START "content_length: 3\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"b56_version_1_0",
	RAW("POST /openai/v1/chat/completions HTTP/1.0\r\n" HOST
	    "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 505},
    {"b56_version_2_0",
	RAW("POST /openai/v1/chat/completions HTTP/2.0\r\n" HOST
	    "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 505},
    {"b56_version_0_9", RAW("GET /openai/v1/models\r\n\r\n"), CALL_BAD_REQUEST,
	400},
    {"b56_preface", RAW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), CALL_BAD_REQUEST,
	505},
    {"b58_expect_without_a_body",
	RAW("GET /openai/v1/models HTTP/1.1\r\n" HOST
	    "Expect: 100-continue\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"b58_expect_of_another_kind",
	RAW(START "Expect: x\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"nul_in_the_line", RAW("POST /openai\0/v1 HTTP/1.1\r\n" HOST "\r\n"),
	CALL_BAD_REQUEST, 400},
    {"nul_in_a_header", RAW(START "X: a\0b\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"nul_in_a_name", RAW(START "X\0: b\r\nContent-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"nul_in_the_body", RAW(START "Content-Length: 5\r\n\r\n{}\0{}"),
	CALL_BAD_REQUEST, 400},
    {"nul_in_a_text",
	RAW(START "Content-Length: 16\r\n\r\n{\"model\":\"g\0pt\"}"),
	CALL_BAD_REQUEST, 400},
    {"chunk_size_overflow",
	RAW(CHUNKED "10000000000000025\r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_size_plus", RAW(CHUNKED "+25\r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_size_0x", RAW(CHUNKED "0x25\r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_size_empty", RAW(CHUNKED "\r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_size_with_space", RAW(CHUNKED "25 \r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_line_end", RAW(CHUNKED "25\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_longer_than_said", RAW(CHUNKED "24\r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"chunk_of_nul_size", RAW(CHUNKED "\0\r\n" BODY "\r\n0\r\n\r\n"),
	CALL_BAD_REQUEST, 400},
    {"body_on_a_path_without",
	RAW("GET /openai/v1/models HTTP/1.1\r\n" HOST
	    "Content-Length: 2\r\n\r\n{}"),
	CALL_BAD_REQUEST, 400},
    {"no_body_on_a_path_with", RAW(START "\r\n"), CALL_BAD_REQUEST, 400},
    {"type_of_a_form",
	RAW(LINE HOST "Content-Type: application/x-www-form-urlencoded\r\n"
		      "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 415},
    {"type_of_parts",
	RAW(LINE HOST "Content-Type: multipart/form-data; boundary=x\r\n"
		      "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 415},
    {"type_twice",
	RAW(START "Content-Type: application/json\r\n"
		  "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 400},
    {"type_with_charset",
	RAW(LINE HOST "Content-Type: application/json; charset=UTF-8\r\n"
		      "Content-Length: 37\r\n\r\n" BODY),
	CALL_OK, 0},
    {"type_with_another_charset",
	RAW(LINE HOST "Content-Type: application/json; charset=utf-16\r\n"
		      "Content-Length: 37\r\n\r\n" BODY),
	CALL_BAD_REQUEST, 415},
    {"json_is_cut", RAW(START "Content-Length: 10\r\n\r\n{\"model\":\""),
	CALL_BAD_REQUEST, 400},
    {"json_with_more", RAW(START "Content-Length: 4\r\n\r\n{}{}"),
	CALL_BAD_REQUEST, 400},
    {"json_is_a_list", RAW(START "Content-Length: 2\r\n\r\n[]"),
	CALL_BAD_REQUEST, 400},
    {"json_with_a_mark", RAW(START "Content-Length: 5\r\n\r\n\xef\xbb\xbf{}"),
	CALL_BAD_REQUEST, 400},
    {"json_not_utf8",
	RAW(START "Content-Length: 13\r\n\r\n{\"model\":\"\xff\"}"),
	CALL_BAD_REQUEST, 400},
    {"json_half_a_surrogate",
	RAW(START "Content-Length: 18\r\n\r\n{\"model\":\"\\ud800\"}"),
	CALL_BAD_REQUEST, 400},
    {"json_escaped_nul",
	RAW(START "Content-Length: 18\r\n\r\n{\"model\":\"\\u0000\"}"),
	CALL_BAD_REQUEST, 400},
    {"json_number_out_of_range",
	RAW(START
	    "Content-Length: 27\r\n\r\n{\"model\":9999999999999999999}\n"),
	CALL_BAD_REQUEST, 400},
    {"json_number_with_e",
	RAW(START "Content-Length: 15\r\n\r\n{\"model\":1e999}"),
	CALL_BAD_REQUEST, 400},
};

#define TEST_CALL_MALFORMED_ROWS \
	(sizeof(test_call_malformed_rows) / sizeof(test_call_malformed_rows[0]))

static struct call_case test_call_malformed_case;

static void
test_call_malformed_outcome(const struct test_call_malformed_row *row,
    enum call_request_status status, const struct call_request *request)
{
	if (status == CALL_REQUEST_MORE)
		fail_msg("%s: not decided", row->name);
	if (row->code == CALL_OK) {
		assert_int_equal(status, CALL_REQUEST_DONE);
		return;
	}
	assert_int_equal(status, CALL_REQUEST_REFUSED);
	if (call_request_code(request) != row->code ||
	    call_request_http_status(request) != row->status)
		fail_msg("%s: %s %u %s", row->name,
		    call_code_text(call_request_code(request)),
		    call_request_http_status(request),
		    call_request_detail(request));
}

/* In two pieces, cut at every byte; and byte by byte. */
static void
test_call_malformed_row(void **state)
{
	const struct test_call_malformed_row *row = *state;
	const struct call_request_options options = {
	    (const struct provider *const *)test_call_malformed_case.providers,
	    test_call_malformed_case.grant, CALL_CASE_PORT};
	enum call_request_status status;
	struct call_request *request;
	size_t cut, used;
	bool continued;

	for (cut = 0; cut <= row->len; cut++) {
		assert_int_equal(
		    call_request_new(&options, &request), RESULT_OK);
		status = call_request_feed(request, row->bytes, cut, &used);
		if (status == CALL_REQUEST_MORE)
			status = call_request_feed(
			    request, row->bytes + cut, row->len - cut, &used);
		test_call_malformed_outcome(row, status, request);
		call_request_free(&request);
	}
	status = call_case_feed(&test_call_malformed_case, row->bytes, row->len,
	    1, &request, &used, &continued);
	test_call_malformed_outcome(row, status, request);
	call_request_free(&request);
}

/* Two requests in one read: the second is left alone. */
static void
test_call_malformed_pipelined(void **state)
{
	static const char first[] = START "Content-Length: 37\r\n\r\n" BODY;
	static const char both[] =
	    START "Content-Length: 37\r\n\r\n" BODY "GET / HTTP/1.1\r\n";
	struct call_request *request;
	bool continued;
	size_t used;

	(void)state;
	assert_int_equal(
	    call_case_feed(&test_call_malformed_case, both, sizeof(both) - 1,
		sizeof(both), &request, &used, &continued),
	    CALL_REQUEST_DONE);
	assert_int_equal(used, sizeof(first) - 1);
	call_request_free(&request);
}

/* Expect: told once, behind the head, and not when the head is refused. */
static void
test_call_malformed_expect(void **state)
{
	static const char good[] =
	    START "Expect: 100-continue\r\nContent-Length: 37\r\n\r\n" BODY;
	static const char bad[] =
	    "POST /openai/v1/files HTTP/1.1\r\n" HOST
	    "Expect: 100-continue\r\nContent-Length: 37\r\n\r\n";
	struct call_request *request;
	bool continued;
	size_t used, piece;

	(void)state;
	for (piece = 1; piece < sizeof(good); piece++) {
		assert_int_equal(
		    call_case_feed(&test_call_malformed_case, good,
			sizeof(good) - 1, piece, &request, &used, &continued),
		    CALL_REQUEST_DONE);
		assert_true(continued);
		call_request_free(&request);
	}
	assert_int_equal(
	    call_case_feed(&test_call_malformed_case, bad, sizeof(bad) - 1,
		sizeof(bad), &request, &used, &continued),
	    CALL_REQUEST_REFUSED);
	assert_false(continued);
	assert_int_equal(call_request_code(request), CALL_PATH_NOT_ALLOWED);
	assert_false(call_request_reusable(request));
	call_request_free(&request);
}

/* A refusal after a head that is well formed reads the body first, so that
 * the client hears it and the connection goes on. */
static void
test_call_malformed_reusable(void **state)
{
	static const struct {
		const char *bytes;
		enum call_request_status cut; /* one byte less */
		bool reusable;
	} rows[] = {
	    {"POST /openai/v1/files HTTP/1.1\r\n" HOST
	     "Content-Length: 37\r\n\r\n" BODY,
		CALL_REQUEST_MORE, true},
	    {"POST /openai/v1/files HTTP/1.1\r\n" HOST
	     "Transfer-Encoding: chunked\r\n\r\n" SIZE "0\r\n\r\n",
		CALL_REQUEST_MORE, true},
	    {"POST /openai/v1/files HTTP/1.1\r\n" HOST
	     "Connection: close\r\nContent-Length: 37\r\n\r\n" BODY,
		CALL_REQUEST_MORE, false},
	    {"GET /openai/v1/files HTTP/1.1\r\n" HOST "\r\n", CALL_REQUEST_MORE,
		true},
	    {START "Content-Length: 2\r\n\r\n{}", CALL_REQUEST_MORE, true},
	    {"POST /openai/v1/files HTTP/1.1\r\n" HOST
	     "Content-Length: 99999999\r\n\r\n",
		CALL_REQUEST_MORE, false},
	    {CHUNKED "xyz", CALL_REQUEST_REFUSED, false},
	};
	struct call_request *request;
	bool continued;
	size_t i, used;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].bytes);

		assert_int_equal(
		    call_case_feed(&test_call_malformed_case, rows[i].bytes,
			len - 1, len, &request, &used, &continued),
		    rows[i].cut);
		call_request_free(&request);
		assert_int_equal(
		    call_case_feed(&test_call_malformed_case, rows[i].bytes,
			len, len, &request, &used, &continued),
		    CALL_REQUEST_REFUSED);
		assert_int_equal(
		    call_request_reusable(request), rows[i].reusable);
		call_request_free(&request);
	}
}

/* A head that never ends is refused at its bound. */
static void
test_call_malformed_endless_head(void **state)
{
	static char bytes[2 * CALL_REQUEST_HEAD_MAX];
	struct call_request *request;
	size_t used, len = strlen(START);
	bool continued;

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, START "X: ", len + 3);
	assert_int_equal(call_case_feed(&test_call_malformed_case, bytes,
			     sizeof(bytes), 4096, &request, &used, &continued),
	    CALL_REQUEST_REFUSED);
	assert_int_equal(call_request_code(request), CALL_BAD_REQUEST);
	assert_in_range(used, CALL_REQUEST_HEAD_MAX, CALL_REQUEST_HEAD_MAX + 1);
	call_request_free(&request);
}

#define TEST_CALL_MALFORMED_MORE 4

int
main(void)
{
	static struct CMUnitTest
	    tests[TEST_CALL_MALFORMED_ROWS + TEST_CALL_MALFORMED_MORE] = {
		cmocka_unit_test(test_call_malformed_pipelined),
		cmocka_unit_test(test_call_malformed_expect),
		cmocka_unit_test(test_call_malformed_reusable),
		cmocka_unit_test(test_call_malformed_endless_head),
	    };
	struct CMUnitTest *test = tests + TEST_CALL_MALFORMED_MORE;
	size_t i;
	int failed;

	call_case_open(&test_call_malformed_case,
	    AGENTNODE_SOURCE_DIR "/config/providers", CALL_CASE_GRANT);
	for (i = 0; i < TEST_CALL_MALFORMED_ROWS; i++, test++) {
		test->name = test_call_malformed_rows[i].name;
		test->test_func = test_call_malformed_row;
		test->initial_state =
		    (void *)(uintptr_t)&test_call_malformed_rows[i];
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	call_case_close(&test_call_malformed_case);
	return failed;
}
