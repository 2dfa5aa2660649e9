/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_request and body_decode: coded bodies are judged by what
 * they unpack to, under a cap, or refused with the client's switch named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "common/buffer.h"
#include "llm-broker/body_decode.h"
#include "tests/support/call_case.h"

#define TEST_CALL_CODING_MAX (80U << 20)
#define ASK "{\"model\":\"gpt-4o-mini\",\"messages\":[]}"
#define OTHER "{\"model\":\"gpt-4o\",\"x\":\"gpt-4o-mini\",\"messages\":[]}"

static struct call_case test_call_coding_case;
static unsigned char *test_call_coding_out; /* of MAX bytes */

static size_t
test_call_coding_gzip(const char *bytes, size_t len, unsigned char *out)
{
	z_stream zlib;

	memset(&zlib, 0, sizeof(zlib));
	assert_int_equal(
	    deflateInit2(&zlib, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY),
	    Z_OK);
	zlib.next_in = (z_const Bytef *)(uintptr_t)bytes;
	zlib.avail_in = (uInt)len;
	zlib.next_out = out;
	zlib.avail_out = TEST_CALL_CODING_MAX / 2;
	assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
	len = TEST_CALL_CODING_MAX / 2 - zlib.avail_out;
	deflateEnd(&zlib);
	return len;
}

static size_t
test_call_coding_zstd(const char *bytes, size_t len, unsigned char *out)
{
	len = ZSTD_compress(out, TEST_CALL_CODING_MAX / 2, bytes, len, 3);
	assert_false(ZSTD_isError(len));
	return len;
}

/* A request with these bytes as its body. */
static void
test_call_coding_run(const char *coding, const unsigned char *body, size_t len,
    enum call_code code, unsigned status)
{
	static const size_t pieces[] = {1, 7, 16384, SIZE_MAX};
	enum call_request_status outcome;
	struct call_request *request;
	struct buffer bytes;
	size_t i, used;
	bool continued;

	buffer_init(&bytes, TEST_CALL_CODING_MAX);
	assert_int_equal(buffer_printf(&bytes,
			     "POST /openai/v1/chat/completions HTTP/1.1\r\n"
			     "Host: 127.0.0.1:4100\r\n"
			     "Content-Type: application/json\r\n"
			     "Content-Encoding: %s\r\n"
			     "Content-Length: %zu\r\n\r\n",
			     coding, len),
	    RESULT_OK);
	assert_int_equal(buffer_append(&bytes, body, len), RESULT_OK);
	for (i = len > 100000 ? 2 : 0; i < 4; i++) {
		outcome = call_case_feed(&test_call_coding_case,
		    (const char *)buffer_bytes_borrow(&bytes), bytes.len,
		    pieces[i], &request, &used, &continued);
		assert_int_equal(outcome,
		    code == CALL_OK ? CALL_REQUEST_DONE : CALL_REQUEST_REFUSED);
		assert_int_equal(call_request_code(request), code);
		if (code != CALL_OK)
			assert_int_equal(
			    call_request_http_status(request), status);
		else
			assert_memory_equal(call_request_result(request)->body,
			    "{\"store\":false,\"max_completion_tokens\":4096,"
			    "\"model\":\"gpt-4o-mini\"",
			    65);
		call_request_free(&request);
	}
	buffer_free(&bytes);
}

static void
b113_zstd_is_decoded(void **state)
{
	unsigned char *out = test_call_coding_out;

	(void)state;
	test_call_coding_run("zstd", out,
	    test_call_coding_zstd(ASK, strlen(ASK), out), CALL_OK, 0);
	test_call_coding_run("ZSTD", out,
	    test_call_coding_zstd(ASK, strlen(ASK), out), CALL_OK, 0);
}

static void
b113_gzip_is_decoded(void **state)
{
	unsigned char *out = test_call_coding_out;

	(void)state;
	test_call_coding_run("gzip", out,
	    test_call_coding_gzip(ASK, strlen(ASK), out), CALL_OK, 0);
}

/* The literal model name stands in the frame; the model is another. */
static void
b113_literal_in_the_frame(void **state)
{
	unsigned char *out = test_call_coding_out;
	size_t len = test_call_coding_zstd(OTHER, strlen(OTHER), out);

	(void)state;
	assert_non_null(memmem(out, len, "gpt-4o", 6));
	test_call_coding_run("zstd", out, len, CALL_MODEL_NOT_ALLOWED, 403);
}

static void
b113_coding_that_is_not_there(void **state)
{
	(void)state;
	test_call_coding_run("zstd", (const unsigned char *)ASK, strlen(ASK),
	    CALL_BAD_REQUEST, 415);
	test_call_coding_run("gzip", (const unsigned char *)ASK, strlen(ASK),
	    CALL_BAD_REQUEST, 415);
}

static void
b113_coding_that_is_not_said(void **state)
{
	unsigned char *out = test_call_coding_out;

	(void)state;
	test_call_coding_run("identity", out,
	    test_call_coding_zstd(ASK, strlen(ASK), out), CALL_BAD_REQUEST,
	    400);
}

static void
b113_codings_that_are_not_known(void **state)
{
	static const char *const codings[] = {"br", "deflate", "x-gzip",
	    "gzip, gzip", "gzip,zstd", "zstd-dict", "compress", "gzip;q=1", ""};
	struct call_case_row row = {"coding",
	    "POST /openai/v1/chat/completions", NULL, ASK, CALL_BAD_REQUEST,
	    415, "features.enable_request_compression=false", NULL};
	char headers[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
		(void)snprintf(headers, sizeof(headers),
		    "Content-Encoding: %s\r\n", codings[i]);
		row.headers = headers;
		call_case_check(&test_call_coding_case, &row);
	}
	row.headers =
	    "Content-Encoding: identity\r\nContent-Encoding: identity\r\n";
	row.status = 400;
	row.has = "repeated";
	call_case_check(&test_call_coding_case, &row);
}

static void
b113_cut_or_followed(void **state)
{
	unsigned char *out = test_call_coding_out;
	size_t gzip, zstd;

	(void)state;
	gzip = test_call_coding_gzip(ASK, strlen(ASK), out);
	test_call_coding_run("gzip", out, gzip - 1, CALL_BAD_REQUEST, 415);
	out[gzip] = 0;
	test_call_coding_run("gzip", out, gzip + 1, CALL_BAD_REQUEST, 415);
	memcpy(out + gzip, out, gzip); /* a second member */
	test_call_coding_run("gzip", out, 2 * gzip, CALL_BAD_REQUEST, 415);
	out[gzip - 1] ^= 1; /* the size at its end */
	test_call_coding_run("gzip", out, gzip, CALL_BAD_REQUEST, 415);
	zstd = test_call_coding_zstd(ASK, strlen(ASK), out);
	test_call_coding_run("zstd", out, zstd - 1, CALL_BAD_REQUEST, 415);
	out[zstd] = 0;
	test_call_coding_run("zstd", out, zstd + 1, CALL_BAD_REQUEST, 415);
	memcpy(out + zstd, out, zstd); /* a second frame */
	test_call_coding_run("zstd", out, 2 * zstd, CALL_BAD_REQUEST, 415);
	memcpy(out + zstd, "\x50\x2a\x4d\x18\0\0\0\0", 8);
	test_call_coding_run("zstd", out, zstd + 8, CALL_BAD_REQUEST, 415);
}

/* A frame that is skipped, in front; frames and members of nothing. */
static void
b113_empty_and_skipped(void **state)
{
	unsigned char *out = test_call_coding_out;
	size_t len;

	(void)state;
	memcpy(out, "\x50\x2a\x4d\x18\4\0\0\0junk", 12);
	len = 12 + test_call_coding_zstd(ASK, strlen(ASK), out + 12);
	test_call_coding_run("zstd", out, len, CALL_BAD_REQUEST, 415);
	len = test_call_coding_zstd("", 0, out);
	test_call_coding_run("zstd", out, len, CALL_BAD_REQUEST, 400);
	len = test_call_coding_gzip("", 0, out);
	test_call_coding_run("gzip", out, len, CALL_BAD_REQUEST, 400);
}

/* A window of 2^27 bytes is asked for in the frame's own head. */
static void
b113_window(void **state)
{
	static const unsigned char frame[] = {
	    0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x11, 0x00, 0x00, '{', '}'};

	(void)state;
	test_call_coding_run(
	    "zstd", frame, sizeof(frame), CALL_BAD_REQUEST, 415);
}

/* A body of spaces, so that it unpacks many times. */
static char *
test_call_coding_spaces(size_t len)
{
	char *bytes = malloc(len);

	assert_non_null(bytes);
	memset(bytes, ' ', len);
	memcpy(bytes, "{\"model\":\"gpt-4o-mini\",\"messages\":[]", 36);
	bytes[len - 1] = '}';
	return bytes;
}

static void
b73_bombs(void **state)
{
	unsigned char *out = test_call_coding_out;
	char *small = test_call_coding_spaces(900000);
	char *large = test_call_coding_spaces(17U << 20);
	size_t len;

	(void)state;
	/* Hundreds of times, but within any body that could be sent plain. */
	len = test_call_coding_gzip(small, 900000, out);
	assert_true(len < 900000 / 300);
	test_call_coding_run("gzip", out, len, CALL_OK, 0);
	len = test_call_coding_gzip(large, 17U << 20, out);
	test_call_coding_run("gzip", out, len, CALL_BAD_REQUEST, 415);
	len = test_call_coding_zstd(large, 17U << 20, out);
	test_call_coding_run("zstd", out, len, CALL_BAD_REQUEST, 415);
	free(small);
	free(large);
}

/* Over the cap at a ratio that honest text has. */
static void
b73_over_the_cap(void **state)
{
	unsigned char *out = test_call_coding_out;
	size_t i, len = 17U << 20;
	char *bytes = test_call_coding_spaces(len);
	unsigned value = 1;

	(void)state;
	for (i = 64; i < len - 1; i += 8) {
		value = value * 1103515245U + 12345U;
		bytes[i] = (char)('a' + (value >> 16) % 26);
	}
	len = test_call_coding_zstd(bytes, len, out);
	assert_true(len > (17U << 20) / 200);
	test_call_coding_run("zstd", out, len, CALL_TOO_LARGE, 413);
	free(bytes);
}

/* Exactly the cap passes, one byte more does not. */
static void
test_call_coding_exact(void **state)
{
	static const enum body_decode_coding codings[] = {
	    BODY_DECODE_GZIP, BODY_DECODE_ZSTD, BODY_DECODE_IDENTITY};
	struct body_decode *decode;
	struct buffer body;
	size_t i, cap, len;
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (i = 0; i < 6; i++) {
		cap = i % 2 == 0 ? sizeof(text) : sizeof(text) - 1;
		buffer_init(&body, cap);
		assert_int_equal(
		    body_decode_new(codings[i / 2], &decode), BODY_DECODE_OK);
		len = sizeof(text);
		if (codings[i / 2] == BODY_DECODE_GZIP)
			len = test_call_coding_gzip(
			    text, len, test_call_coding_out);
		else if (codings[i / 2] == BODY_DECODE_ZSTD)
			len = test_call_coding_zstd(
			    text, len, test_call_coding_out);
		else
			memcpy(test_call_coding_out, text, len);
		assert_int_equal(
		    body_decode_feed(
			decode, (const char *)test_call_coding_out, len, &body),
		    cap == sizeof(text) ? BODY_DECODE_OK : BODY_DECODE_LARGE);
		if (cap == sizeof(text)) {
			assert_int_equal(
			    body_decode_finish(decode), BODY_DECODE_OK);
			assert_int_equal(body.len, cap);
		}
		body_decode_free(&decode);
		buffer_free(&body);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b113_zstd_is_decoded),
	    cmocka_unit_test(b113_gzip_is_decoded),
	    cmocka_unit_test(b113_literal_in_the_frame),
	    cmocka_unit_test(b113_coding_that_is_not_there),
	    cmocka_unit_test(b113_coding_that_is_not_said),
	    cmocka_unit_test(b113_codings_that_are_not_known),
	    cmocka_unit_test(b113_cut_or_followed),
	    cmocka_unit_test(b113_empty_and_skipped),
	    cmocka_unit_test(b113_window),
	    cmocka_unit_test(b73_bombs),
	    cmocka_unit_test(b73_over_the_cap),
	    cmocka_unit_test(test_call_coding_exact),
	};
	int failed;

	test_call_coding_out = malloc(TEST_CALL_CODING_MAX);
	if (test_call_coding_out == NULL)
		return 1;
	call_case_open(&test_call_coding_case,
	    AGENTNODE_SOURCE_DIR "/config/providers", CALL_CASE_GRANT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	call_case_close(&test_call_coding_case);
	free(test_call_coding_out);
	return failed;
}
