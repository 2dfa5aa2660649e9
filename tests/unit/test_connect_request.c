/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the proxy: the vectors of "Authorities", "Addresses" and
 * "HTTP head" with the code each ends in, and the head that is written for
 * the upstream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "egress-proxy/connect_request.h"

/* Expected host text, or the code of the refusal. */
struct authority {
	const char *text;
	const char *host;
	uint16_t port;
};

#define L60 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"

static void
b049_b050_authorities(void **state)
{
	static const struct authority rows[] = {
	    {"example.com:443", "example.com", 443},
	    {"EXAMPLE.com.:8443", "example.com", 8443},
	    {"localhost:443", "localhost", 443},
	    {"localhost.:443", "localhost", 443},
	    {"foo.localhost:443", "foo.localhost", 443},
	    {"intranet:1", "intranet", 1},
	    {"metadata.google.internal:80", "metadata.google.internal", 80},
	    {"127.0.0.1:65535", "127.0.0.1", 65535},
	    {"169.254.169.254:80", "169.254.169.254", 80},
	    {"[::1]:443", "::1", 443},
	    {"[::]:443", "::", 443},
	    {"[::ffff:7f00:1]:443", "::ffff:127.0.0.1", 443},
	    {"[64:ff9b::7f00:1]:443", "64:ff9b::7f00:1", 443},
	    {"[2002:7f00:1::]:443", "2002:7f00:1::", 443},
	    {"user@example.com:443", NULL, 0},
	    {"example.com:443.evil.com", NULL, 0},
	    {"evil.com:443.example.com:443", NULL, 0},
	    {"example.com:0443", NULL, 0},
	    {"example.com:+443", NULL, 0},
	    {"example.com:443 ", NULL, 0},
	    {"example.com: 443", NULL, 0},
	    {":443", NULL, 0},
	    {"example.com:0", NULL, 0},
	    {"example.com:65536", NULL, 0},
	    {"example.com:99999999999", NULL, 0},
	    {"example.com:", NULL, 0},
	    {"example.com", NULL, 0},
	    {"", NULL, 0},
	    {":", NULL, 0},
	    {"example.com..:443", NULL, 0},
	    {"a..b:443", NULL, 0},
	    {"[example.com]:443", NULL, 0},
	    {"[127.0.0.1]:443", NULL, 0},
	    {"[::1:443", NULL, 0},
	    {"::1:443", NULL, 0},
	    {"[::1]", NULL, 0},
	    {"[::1]443", NULL, 0},
	    {"[]:443", NULL, 0},
	    {"[fe80::1%25eth0]:443", NULL, 0},
	    {"[fe80::1%eth0]:443", NULL, 0},
	    {"::ffff:1.2.3.4%x.example.com:443", NULL, 0},
	    {"example.com/x:443", NULL, 0},
	    {"example.com#x:443", NULL, 0},
	    {"example.com?x:443", NULL, 0},
	    {"example.com\\x:443", NULL, 0},
	    {"example.com%00:443", NULL, 0},
	    {"ex\xd0\xb0mple.com:443", NULL, 0},
	    {"example\xe3\x80\x82"
	     "com:443",
		NULL, 0},
	    {"xn--:443", NULL, 0},
	    {"127.1:443", NULL, 0},
	    {"0x7f.1:443", NULL, 0},
	    {"0177.0.0.1:443", NULL, 0},
	    {"2130706433:443", NULL, 0},
	    {"0x:443", NULL, 0},
	    {"1e1.0.0.1:443", NULL, 0},
	    {"127.0.0.1.:443", NULL, 0},
	    {L60 "aaaa.com:443", NULL, 0},
	    {L60 "." L60 "." L60 "." L60 ".abcdefghij:443", NULL, 0},
	    {"http://example.com:443", NULL, 0},
	    {"*.example.com:443", NULL, 0},
	};
	struct connect_request_target target;
	char host[DOMAIN_NAME_MAX + 1];
	enum result result;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		result = connect_request_parse_authority(
		    rows[i].text, strlen(rows[i].text), &target);
		if ((result == RESULT_OK) != (rows[i].host != NULL))
			fail_msg("'%s': %d", rows[i].text, (int)result);
		assert_int_equal(target.port, rows[i].port);
		if (result != RESULT_OK)
			continue;
		connect_request_host_text(&target, host);
		assert_string_equal(host, rows[i].host);
	}
	assert_int_equal(connect_request_parse_authority(
			     "a.example\0.evil:443", 19, &target),
	    RESULT_BAD);
}

struct row {
	const char *bytes;
	enum deny_code code; /* DENY_NONE: accepted */
	unsigned http_status;
};

#define CONNECT "CONNECT example.com:443 HTTP/1.1\r\n"
#define CHOST "Host: example.com:443\r\n"
#define PHOST "Host: example.com\r\n"

static void
play(const struct row *rows, size_t count)
{
	struct connect_request request;
	enum connect_request_status status;
	size_t i, len;

	for (i = 0; i < count; i++) {
		len = strlen(rows[i].bytes);
		status = connect_request_parse(rows[i].bytes, len, &request);
		assert_int_not_equal(status, CONNECT_REQUEST_NEED_MORE);
		if (request.code != rows[i].code ||
		    (status == CONNECT_REQUEST_OK) !=
			(rows[i].code == DENY_NONE))
			fail_msg("row %zu gave %s (%s)", i,
			    deny_text(request.code),
			    request.detail == NULL ? "" : request.detail);
		assert_int_equal(request.http_status, rows[i].http_status);
		if (status == CONNECT_REQUEST_REFUSED)
			assert_non_null(request.detail);
	}
}
#define PLAY(rows) play(rows, sizeof(rows) / sizeof((rows)[0]))

static void
b047_b048_host_equals_target(void **state)
{
	static const struct row rows[] = {
	    {CONNECT CHOST "\r\n", DENY_NONE, 0},
	    {CONNECT "Host: example.com\r\n\r\n", DENY_NONE, 0},
	    {CONNECT "Host: EXAMPLE.com.:443\r\n\r\n", DENY_NONE, 0},
	    {"CONNECT EXAMPLE.com.:443 HTTP/1.1\r\n" CHOST "\r\n", DENY_NONE,
		0},
	    {"CONNECT example.com:443 HTTP/1.0\r\n\r\n", DENY_NONE, 0},
	    {"CONNECT [::1]:443 HTTP/1.1\r\nHost: [0:0::1]:443\r\n\r\n",
		DENY_NONE, 0},
	    {CONNECT "Host: evil.com:443\r\n\r\n", DENY_MISDIRECTED, 0},
	    {CONNECT "Host: example.com:8443\r\n\r\n", DENY_MISDIRECTED, 0},
	    {CONNECT "Host: evil.com\r\n\r\n", DENY_MISDIRECTED, 0},
	    {CONNECT "Host:\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT "Host: user@example.com:443\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT "Host: example.com:443,evil.com\r\n\r\n", DENY_BAD_REQUEST,
		0},
	    {CONNECT "Host: example.com/x\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST CHOST "\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT "\r\n", DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/ HTTP/1.1\r\n" PHOST "\r\n", DENY_NONE, 0},
	    {"GET HTTP://example.com HTTP/1.1\r\n" PHOST "\r\n", DENY_NONE, 0},
	    {"GET http://example.com:80/ HTTP/1.1\r\n" PHOST "\r\n", DENY_NONE,
		0},
	    {"GET http://example.com/ HTTP/1.1\r\nHost: example.com:80"
	     "\r\n\r\n",
		DENY_NONE, 0},
	    {"GET http://example.com:8080/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_MISDIRECTED, 0},
	    {"GET http://example.com/ HTTP/1.1\r\nHost: evil.com\r\n\r\n",
		DENY_MISDIRECTED, 0},
	    {"GET http://example.com/ HTTP/1.1\r\nHost: example.com:443"
	     "\r\n\r\n",
		DENY_MISDIRECTED, 0},
	    {"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		DENY_NONE, 0},
	};

	(void)state;
	PLAY(rows);
}

static void
b049_targets(void **state)
{
	static const struct row rows[] = {
	    {"GET / HTTP/1.1\r\n" PHOST "\r\n", DENY_BAD_REQUEST, 0},
	    {"OPTIONS * HTTP/1.1\r\n" PHOST "\r\n", DENY_BAD_REQUEST, 0},
	    {"GET https://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET ftp://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http:/example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http:///x HTTP/1.1\r\n" PHOST "\r\n", DENY_BAD_REQUEST, 0},
	    {"GET http://u@example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com\\@evil.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/a\\b HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/#x HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com#@evil.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com:/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://127.1/ HTTP/1.1\r\nHost: 127.1\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com?x HTTP/1.1\r\n" PHOST "\r\n", DENY_NONE,
		0},
	    {"CONNECT / HTTP/1.1\r\n" PHOST "\r\n", DENY_BAD_REQUEST, 0},
	    {"CONNECT http://example.com:443 HTTP/1.1\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	    /* A LF in the authority ends the line. */
	    {"CONNECT example.com\n.evil:443 HTTP/1.1\r\n" CHOST "\r\n",
		DENY_BAD_REQUEST, 0},
	};

	(void)state;
	PLAY(rows);
}

static void
b051_b059_heads(void **state)
{
	static const struct row rows[] = {
	    {"CONNECT example.com:443 HTTP/1.1\n" CHOST "\n", DENY_BAD_REQUEST,
		0},
	    {CONNECT CHOST "Transfer-Encoding: chunked\r\n"
			   "Content-Length: 3\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST "Transfer-Encoding: chunkedx\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST "X: a\r\n b\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST "x_a: b\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST "Transfer-Encoding: chunked\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST "Content-Length: 5\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {CONNECT CHOST "Content-Length: 0\r\n\r\n", DENY_NONE, 0},
	    {CONNECT CHOST "Expect: 100-continue\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/ HTTP/1.1\r\n" PHOST
	     "Expect: 100-continue\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {"POST http://example.com/ HTTP/1.1\r\n" PHOST
	     "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n",
		DENY_NONE, 0},
	    {"TRACE http://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_METHOD_REFUSED, 0},
	    {"TRACK http://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_METHOD_REFUSED, 0},
	    {"trace http://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_METHOD_REFUSED, 0},
	    {"get http://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_METHOD_REFUSED, 0},
	    {"connect example.com:443 HTTP/1.1\r\n" CHOST "\r\n",
		DENY_METHOD_REFUSED, 0},
	    {"BREW http://example.com/ HTTP/1.1\r\n" PHOST "\r\n",
		DENY_METHOD_REFUSED, 0},
	    {"PRI * HTTP/2.0\r\n\r\n", DENY_BAD_REQUEST, 505},
	    {"GET http://example.com/ HTTP/1.0\r\n\r\n", DENY_BAD_REQUEST, 505},
	    {"GET http://example.com/ HTTP/1.2\r\n" PHOST "\r\n",
		DENY_BAD_REQUEST, 505},
	    {"GET http://example.com/\r\n\r\n", DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/ HTTP/1.1\r\n" PHOST
	     "Connection: content-length\r\nContent-Length: 1\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/ HTTP/1.1\r\n" PHOST
	     "Connection: close, Transfer-Encoding\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	    {"GET http://example.com/ HTTP/1.1\r\n" PHOST
	     "Connection: host\r\n\r\n",
		DENY_BAD_REQUEST, 0},
	};

	(void)state;
	PLAY(rows);
}

static void
b070_reads_only_the_head(void **state)
{
	static const char bytes[] = CONNECT CHOST "\r\n\x16\x03\x01tail";
	struct connect_request request;

	(void)state;
	assert_int_equal(
	    connect_request_parse(bytes, sizeof(bytes) - 1, &request),
	    CONNECT_REQUEST_OK);
	assert_int_equal(request.head.head_len, sizeof(bytes) - 1 - 7);
	assert_int_equal(connect_request_parse(bytes, 40, &request),
	    CONNECT_REQUEST_NEED_MORE);
}

/* Parse, rewrite, compare. */
static void
rewrites_to(const char *bytes, const char *expected)
{
	struct connect_request request;
	struct buffer head;

	assert_int_equal(connect_request_parse(bytes, strlen(bytes), &request),
	    CONNECT_REQUEST_OK);
	assert_true(request.plain_http);
	buffer_init(&head, 4096);
	assert_int_equal(connect_request_rewrite(&request, &head), RESULT_OK);
	assert_int_equal(buffer_append(&head, "", 1), RESULT_OK);
	assert_string_equal((const char *)buffer_bytes_borrow(&head), expected);
	buffer_free(&head);
}

static void
b053_b054_rewritten_head(void **state)
{
	(void)state;
	rewrites_to("GET http://Example.com./a%0d%0aX:%20y?q=%2F HTTP/1.1\r\n"
		    "User-Agent: t\r\nhost: EXAMPLE.com\r\n"
		    "Proxy-Authorization: Basic eA==\r\n"
		    "Proxy-Connection: keep-alive\r\n"
		    "Connection: keep-alive , X-Api-Key,x-hop\r\n"
		    "x-api-key: secret\r\nX-Hop: 1\r\nX-Stays: 2\r\n"
		    "Keep-Alive: timeout=5\r\nTE: trailers\r\n"
		    "Upgrade: h2c\r\nHTTP2-Settings: AAA\r\n"
		    "Trailer: X-Sum\r\n\r\n",
	    "GET /a%0d%0aX:%20y?q=%2F HTTP/1.1\r\n"
	    "Host: example.com\r\n"
	    "User-Agent: t\r\n"
	    "X-Stays: 2\r\n"
	    "Connection: close\r\n\r\n");
	rewrites_to("POST http://example.com:8080?q HTTP/1.0\r\n"
		    "Host: example.com:8080\r\nContent-Length: 2\r\n\r\n",
	    "POST /?q HTTP/1.0\r\nHost: example.com:8080\r\n"
	    "Content-Length: 2\r\nConnection: close\r\n\r\n");
	rewrites_to("GET http://[2001:db8::1] HTTP/1.1\r\n"
		    "Host: [2001:db8::1]\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n"
	    "Connection: close\r\n\r\n");
	rewrites_to("PUT http://[2001:db8::1]:81/x HTTP/1.1\r\n"
		    "Host: [2001:db8::1]:81\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n",
	    "PUT /x HTTP/1.1\r\nHost: [2001:db8::1]:81\r\n"
	    "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

static void
i11_rewrite_is_bounded(void **state)
{
	static const char bytes[] =
	    "GET http://example.com/ HTTP/1.1\r\n" PHOST "\r\n";
	struct connect_request request;
	struct buffer head;

	(void)state;
	assert_int_equal(
	    connect_request_parse(bytes, sizeof(bytes) - 1, &request),
	    CONNECT_REQUEST_OK);
	buffer_init(&head, 20);
	assert_int_equal(
	    connect_request_rewrite(&request, &head), RESULT_TOO_LONG);
	buffer_free(&head);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b047_b048_host_equals_target),
	    cmocka_unit_test(b049_b050_authorities),
	    cmocka_unit_test(b049_targets),
	    cmocka_unit_test(b051_b059_heads),
	    cmocka_unit_test(b053_b054_rewritten_head),
	    cmocka_unit_test(b070_reads_only_the_head),
	    cmocka_unit_test(i11_rewrite_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
