/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict head parser: the vectors of the group "HTTP head", each whole
 * and byte by byte, with the fault they must end in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/http_head.h"

struct row {
	const char *bytes;
	enum http_head_status status;
};

#define H "Host: a.example\r\n"

/* The same bytes must end in the same status however they come: before it,
 * every shorter prefix is NEED_MORE or that same fault. */
static void
play(const struct row *rows, size_t count, bool response)
{
	struct http_head head;
	enum http_head_status status;
	size_t i, len, cut;
	char *copy;

	for (i = 0; i < count; i++) {
		len = strlen(rows[i].bytes);
		for (cut = 0; cut <= len; cut++) {
			copy = malloc(cut + 1);
			assert_non_null(copy);
			memcpy(copy, rows[i].bytes, cut);
			status =
			    response
				? http_head_parse_response(copy, cut, &head)
				: http_head_parse_request(copy, cut, &head);
			free(copy);
			if (status != HTTP_HEAD_NEED_MORE)
				break;
		}
		if (status != rows[i].status)
			fail_msg("row %zu, %zu of %zu bytes: %s", i, cut, len,
			    http_head_status_text(status));
	}
}
#define PLAY(rows) play(rows, sizeof(rows) / sizeof((rows)[0]), false)

static void
b052_line_ends(void **state)
{
	static const struct row rows[] = {
	    {"CONNECT a.example:443 HTTP/1.1\nHost: a.example:443\n\n",
		HTTP_HEAD_BAD_LINE_END},
	    {"GET / HTTP/1.1\r\nHost: a.example\n\r\n", HTTP_HEAD_BAD_LINE_END},
	    {"GET / HTTP/1.1\r\n" H "\n", HTTP_HEAD_BAD_LINE_END},
	    {"GET / HTTP/1.1\rHost: a.example\r\n\r\n", HTTP_HEAD_BAD_LINE_END},
	    {"GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n", HTTP_HEAD_BAD_LINE_END},
	    {"GET / HTTP/1.1\r\r\n" H "\r\n", HTTP_HEAD_BAD_LINE_END},
	    {"\r\nGET / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE_END},
	    {"\nGET / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE_END},
	    {"GET / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_OK},
	};
	struct http_head head;

	(void)state;
	PLAY(rows);
	assert_int_equal(http_head_parse_request("GET /\0 HTTP/1.1", 15, &head),
	    HTTP_HEAD_BAD_LINE_END);
	assert_int_equal(
	    http_head_parse_request("GET / HTTP/1.1\r\nX: a\0b\r\n", 24, &head),
	    HTTP_HEAD_BAD_LINE_END);
}

static void
b048_one_host(void **state)
{
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" H "Host: a.example\r\n\r\n",
		HTTP_HEAD_HOST_REPEATED},
	    {"GET / HTTP/1.1\r\n" H "host: b.example\r\n\r\n",
		HTTP_HEAD_HOST_REPEATED},
	    {"GET / HTTP/1.1\r\nHost:\r\nHost: a.example\r\n\r\n",
		HTTP_HEAD_HOST_REPEATED},
	    {"GET / HTTP/1.1\r\nX: y\r\n\r\n", HTTP_HEAD_HOST_MISSING},
	    {"GET / HTTP/1.1\r\n\r\n", HTTP_HEAD_HOST_MISSING},
	    {"CONNECT a.example:443 HTTP/1.1\r\n\r\n", HTTP_HEAD_HOST_MISSING},
	};

	(void)state;
	PLAY(rows);
}

static void
b051_framing(void **state)
{
	static const struct row rows[] = {
	    {"POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n"
	     "Transfer-Encoding: chunked\r\n\r\n",
		HTTP_HEAD_LENGTH_AND_CODING},
	    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
	     "Content-Length: 3\r\n\r\n",
		HTTP_HEAD_LENGTH_AND_CODING},
	    {"POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n"
	     "Content-Length: 3\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H
	     "Content-Length: 99999999999999999999\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunkedx\r\n\r\n",
		HTTP_HEAD_BAD_CODING},
	    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n",
		HTTP_HEAD_BAD_CODING},
	    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n",
		HTTP_HEAD_BAD_CODING},
	    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
	     "Transfer-Encoding: chunked\r\n\r\n",
		HTTP_HEAD_BAD_CODING},
	    {"POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n",
		HTTP_HEAD_BAD_CODING},
	    {"POST / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", HTTP_HEAD_FOLDED},
	    {"POST / HTTP/1.1\r\n" H "X: a\r\n\tb\r\n\r\n", HTTP_HEAD_FOLDED},
	    {"POST / HTTP/1.1\r\n Host: a.example\r\n\r\n", HTTP_HEAD_FOLDED},
	    {"POST / HTTP/1.1\r\n" H "Content-Length : 3\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_NAME},
	    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: ChUnKeD\r\n\r\n",
		HTTP_HEAD_OK},
	    {"POST / HTTP/1.1\r\n" H "Content-Length: 003\r\n\r\n",
		HTTP_HEAD_OK},
	};

	(void)state;
	PLAY(rows);
}

static void
b054_field_names(void **state)
{
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" H "x_api_key: a\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_NAME},
	    {"GET / HTTP/1.1\r\n" H ": a\r\n\r\n", HTTP_HEAD_BAD_FIELD_NAME},
	    {"GET / HTTP/1.1\r\n" H "nocolon\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_NAME},
	    {"GET / HTTP/1.1\r\n" H "x y: a\r\n\r\n", HTTP_HEAD_BAD_FIELD_NAME},
	    {"GET / HTTP/1.1\r\n" H "x\"y: a\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_NAME},
	    {"GET / HTTP/1.1\r\n" H "x\xc3\xa9: a\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_VALUE},
	    {"GET / HTTP/1.1\r\n" H "x: \x01\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_VALUE},
	    {"GET / HTTP/1.1\r\n" H "x: \x7f\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_VALUE},
	    {"GET / HTTP/1.1\r\n" H "x: \xe9\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_VALUE},
	    {"GET / HTTP/1.1\r\n" H "x.y-z!#$%&'*+^`|~1: a\tb\r\n\r\n",
		HTTP_HEAD_OK},
	};

	(void)state;
	PLAY(rows);
}

static void
b056_versions_and_lines(void **state)
{
	static const struct row rows[] = {
	    {"GET /\r\n", HTTP_HEAD_BAD_LINE},
	    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_HEAD_BAD_VERSION},
	    {"GET / HTTP/1.2\r\n" H "\r\n", HTTP_HEAD_BAD_VERSION},
	    {"GET / HTTP/0.9\r\n" H "\r\n", HTTP_HEAD_BAD_VERSION},
	    {"GET / HTTP/1.0\r\n\r\n", HTTP_HEAD_BAD_VERSION},
	    {"GET / HTTP/1.10\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET / http/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET / HTTP/1.1 \r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET  / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET /  HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET /a b HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {" GET / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET\t/ HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"G\x01T / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"G(T / HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"GET /\xe9 HTTP/1.1\r\n" H "\r\n", HTTP_HEAD_BAD_LINE},
	    {"\x16\x03\x01\x02", HTTP_HEAD_BAD_LINE},
	    {"GET / HTTP/1.0\r\n" H "\r\n", HTTP_HEAD_OK},
	    /* Python before 3.12 sends its CONNECT so. */
	    {"CONNECT a.example:443 HTTP/1.0\r\n\r\n", HTTP_HEAD_OK},
	};

	(void)state;
	PLAY(rows);
}

static void
b058_expect(void **state)
{
	static const struct row rows[] = {
	    {"POST / HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
	     "Content-Length: 3\r\n\r\n",
		HTTP_HEAD_OK},
	    {"POST / HTTP/1.1\r\n" H "Expect: x\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_VALUE},
	    {"POST / HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
	     "Expect: 100-continue\r\n\r\n",
		HTTP_HEAD_BAD_FIELD_VALUE},
	};

	(void)state;
	PLAY(rows);
}

static void
b069_bounds(void **state)
{
	static char bytes[HTTP_HEAD_BYTES_MAX * 2];
	struct http_head head;
	size_t used, i;

	(void)state;
	used = (size_t)snprintf(bytes, sizeof(bytes), "GET / HTTP/1.1\r\n" H);
	for (i = 0; i < HTTP_HEAD_FIELDS_MAX; i++)
		used += (size_t)snprintf(
		    bytes + used, sizeof(bytes) - used, "x-%zu: y\r\n", i);
	assert_int_equal(http_head_parse_request(bytes, used, &head),
	    HTTP_HEAD_TOO_MANY_FIELDS);

	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(
	    http_head_parse_request(bytes, HTTP_HEAD_BYTES_MAX, &head),
	    HTTP_HEAD_NEED_MORE);
	assert_int_equal(
	    http_head_parse_request(bytes, HTTP_HEAD_BYTES_MAX + 1, &head),
	    HTTP_HEAD_TOO_LONG);

	memcpy(bytes, "GET /", 5);
	memcpy(bytes + HTTP_HEAD_TARGET_MAX + 10, " HTTP/1.1\r\n" H "\r\n", 30);
	assert_int_equal(
	    http_head_parse_request(bytes, HTTP_HEAD_TARGET_MAX + 40, &head),
	    HTTP_HEAD_TOO_LONG);
}

static void
parsed_parts(void **state)
{
	static const char bytes[] =
	    "POST http://a.example/x?y HTTP/1.1\r\n"
	    "hOsT: \t a.example \t\r\nContent-Length: 12\r\n"
	    "Empty:\r\nX-Two: a  b\r\n\r\nbody";
	const struct http_field *field;
	struct http_head head;

	(void)state;
	assert_int_equal(
	    http_head_parse_request(bytes, sizeof(bytes) - 1, &head),
	    HTTP_HEAD_OK);
	assert_true(http_head_text_is(head.method, "POST"));
	assert_true(http_head_text_is(head.target, "http://a.example/x?y"));
	assert_true(http_head_text_is(head.host, "a.example"));
	assert_int_equal(head.minor_version, 1);
	assert_true(head.has_length);
	assert_int_equal(head.content_length, 12);
	assert_int_equal(head.field_count, 4);
	assert_int_equal(head.head_len, sizeof(bytes) - 1 - 4);
	field = http_head_find(&head, "empty");
	assert_non_null(field);
	assert_int_equal(field->value.len, 0);
	field = http_head_find(&head, "x-two");
	assert_non_null(field);
	assert_true(http_head_text_is(field->value, "a  b"));
	assert_true(http_head_text_is_nocase(field->name, "X-TWO"));
	assert_null(http_head_find(&head, "x-three"));
}

static void
responses(void **state)
{
	static const struct row rows[] = {
	    {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", HTTP_HEAD_OK},
	    {"HTTP/1.1 200\r\n\r\n", HTTP_HEAD_OK},
	    {"HTTP/1.0 404 \r\n\r\n", HTTP_HEAD_OK},
	    {"HTTP/1.1 099 x\r\n\r\n", HTTP_HEAD_BAD_LINE},
	    {"HTTP/1.1 20 x\r\n\r\n", HTTP_HEAD_BAD_LINE},
	    {"HTTP/1.1 2000\r\n\r\n", HTTP_HEAD_BAD_LINE},
	    {"HTTP/2.0 200 OK\r\n\r\n", HTTP_HEAD_BAD_VERSION},
	    {"ICY 200 OK\r\n\r\n", HTTP_HEAD_BAD_LINE},
	    {"HTTP/1.1 200 OK\n\n", HTTP_HEAD_BAD_LINE_END},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: "
	     "2\r\n\r\n",
		HTTP_HEAD_BAD_LENGTH},
	    {"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", HTTP_HEAD_FOLDED},
	};
	struct http_head head;

	(void)state;
	play(rows, sizeof(rows) / sizeof(rows[0]), true);
	assert_int_equal(
	    http_head_parse_response("HTTP/1.1 503 No\r\n\r\n", 19, &head),
	    HTTP_HEAD_OK);
	assert_int_equal(head.status, 503);
	assert_int_equal(head.head_len, 19);
}

static void
every_status_has_a_text(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < HTTP_HEAD_STATUS_COUNT; i++)
		assert_string_not_equal(
		    http_head_status_text((enum http_head_status)i),
		    "unknown fault");
	assert_string_equal(
	    http_head_status_text((enum http_head_status)99), "unknown fault");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b048_one_host),
	    cmocka_unit_test(b051_framing),
	    cmocka_unit_test(b052_line_ends),
	    cmocka_unit_test(b054_field_names),
	    cmocka_unit_test(b056_versions_and_lines),
	    cmocka_unit_test(b058_expect),
	    cmocka_unit_test(b069_bounds),
	    cmocka_unit_test(parsed_parts),
	    cmocka_unit_test(responses),
	    cmocka_unit_test(every_status_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
