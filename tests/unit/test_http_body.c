/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress-proxy/http_body: bodies whole and byte by byte, what comes out,
 * and framing that must not pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/http_body.h"

static struct http_head
test_http_body_head(bool chunked, uint64_t length)
{
	struct http_head head;

	memset(&head, 0, sizeof(head));
	head.chunked = chunked;
	head.has_length = !chunked;
	head.content_length = length;
	return head;
}

/* Feed in pieces of the given size, draining after each: the last status. */
static enum http_body_status
test_http_body_feed(const struct http_head *head, const char *bytes, size_t len,
    size_t piece, char *out_r, size_t *taken_r)
{
	struct http_body body;
	struct buffer out;
	enum http_body_status status = HTTP_BODY_MORE;
	size_t at = 0, used, written = 0;

	http_body_init(&body, head);
	buffer_init(&out, 64);
	while (at < len &&
	       (status == HTTP_BODY_MORE || status == HTTP_BODY_FULL)) {
		size_t count = len - at < piece ? len - at : piece;

		status = http_body_feed(&body, bytes + at, count, &used, &out);
		at += used;
		memcpy(out_r + written, buffer_bytes_borrow(&out), out.len);
		written += out.len;
		buffer_clear(&out);
	}
	out_r[written] = '\0';
	*taken_r = at;
	buffer_free(&out);
	return status;
}

/* The content of chunks as they came out, put together again. */
static void
test_http_body_join(const char *chunks, char *content_r)
{
	size_t size = 1, written = 0;

	while (size > 0) {
		char *end;

		size = strtoul(chunks, &end, 16);
		assert_memory_equal(end, "\r\n", 2);
		memcpy(content_r + written, end + 2, size);
		written += size;
		chunks = end + 2 + size;
		assert_memory_equal(chunks, "\r\n", 2);
		chunks += 2;
	}
	assert_string_equal(chunks, "");
	content_r[written] = '\0';
}

static void
test_http_body_length(void **state)
{
	struct http_head head = test_http_body_head(false, 10);
	char out[256];
	size_t taken;

	(void)state;
	for (size_t piece = 1; piece < 20; piece++) {
		assert_int_equal(
		    test_http_body_feed(&head, "0123456789GET / HTTP/1.1", 24,
			piece, out, &taken),
		    HTTP_BODY_DONE);
		assert_string_equal(out, "0123456789");
		assert_int_equal(taken, 10); /* not a byte behind it */
	}
}

static void
test_http_body_chunked(void **state)
{
	static const char text[] =
	    "4;name=\"v\"\r\nWiki\r\n5\r\npedia\r\n00e\r\n in\r\n\r\nchunks."
	    "\r\n0\r\nTrailer: gone\r\nX-Second: too\r\n\r\nleft";
	struct http_head head = test_http_body_head(true, 0);
	char out[1024], content[256];
	size_t taken;

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		assert_int_equal(test_http_body_feed(&head, text,
				     sizeof(text) - 1, piece, out, &taken),
		    HTTP_BODY_DONE);
		assert_int_equal(taken, sizeof(text) - 1 - 4);
		assert_null(strstr(out, "Trailer"));
		assert_null(strstr(out, "name"));
		test_http_body_join(out, content);
		assert_string_equal(content, "Wikipedia in\r\n\r\nchunks.");
	}
}

static void
test_http_body_bad(void **state)
{
	static const char *const rows[] = {"x\r\n", "\r\n", ";a\r\n", "4\nWiki",
	    "4 \r\nWiki", " 4\r\nWiki", "4\r\nWikiX", "4\r\nWiki\n", "-1\r\n",
	    "+4\r\n", "0x4\r\n", "4\rX", "1234567890abcdef\r\n",
	    "4;\x01\r\nWiki", "0\r\nTrailer\x01: x\r\n\r\n", "0\r\n\rX",
	    "4;a\nb\r\nWiki"};
	struct http_head head = test_http_body_head(true, 0);
	char out[256];
	size_t taken;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 20; piece += 18)
			if (test_http_body_feed(&head, rows[i], strlen(rows[i]),
				piece, out, &taken) != HTTP_BODY_BAD)
				fail_msg("not refused: %s", rows[i]);
}

static void
test_http_body_bounds(void **state)
{
	struct http_head head = test_http_body_head(true, 0);
	char *text = malloc(65536), *out = malloc(65536);
	size_t taken;

	(void)state;
	memcpy(text, "4;", 2);
	memset(text + 2, 'a', 1000);
	assert_int_equal(
	    test_http_body_feed(&head, text, 1002, 1002, out, &taken),
	    HTTP_BODY_BAD);
	memcpy(text, "0\r\n", 3);
	for (size_t at = 3; at + 10 < 65536; at += 10)
		memcpy(text + at, "a: bcdef\r\n", 10);
	assert_int_equal(
	    test_http_body_feed(&head, text, 65000, 65000, out, &taken),
	    HTTP_BODY_BAD);
	free(text);
	free(out);
}

/* Chunks unwrapped, in pieces and into little room: the content alone. */
static void
test_http_body_unwrap(void **state)
{
	static const char text[] = "4;n=\"v\"\r\nWiki\r\n00e\r\npedia and "
				   "more\r\n0\r\nTrailer: gone\r\n\r\nleft";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		enum http_body_status status = HTTP_BODY_MORE;
		struct http_body body;
		struct buffer out;
		char content[64] = "";
		size_t at = 0, used;

		http_body_init_unwrap(&body);
		buffer_init(&out, 3);
		while (status != HTTP_BODY_DONE) {
			size_t left = sizeof(text) - 1 - at;

			assert_true(left > 0);
			status = http_body_feed(&body, text + at,
			    left < piece ? left : piece, &used, &out);
			assert_int_not_equal(status, HTTP_BODY_BAD);
			at += used;
			strncat(content,
			    (const char *)buffer_bytes_borrow(&out), out.len);
			buffer_clear(&out);
		}
		assert_string_equal(content, "Wikipedia and more");
		assert_string_equal(text + at, "left");
		buffer_free(&out);
	}
}

static void
test_http_body_none(void **state)
{
	struct http_head head = test_http_body_head(false, 0);
	struct http_body body;

	(void)state;
	http_body_init(&body, &head);
	assert_int_equal(body.state, HTTP_BODY_STATE_DONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_http_body_length),
	    cmocka_unit_test(test_http_body_chunked),
	    cmocka_unit_test(test_http_body_bad),
	    cmocka_unit_test(test_http_body_bounds),
	    cmocka_unit_test(test_http_body_unwrap),
	    cmocka_unit_test(test_http_body_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
