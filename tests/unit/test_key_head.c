/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a canonical head: what the broker builds passes, and every
 * way to say another host, a credential or a second request is refused, for
 * its own reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/key/key_head.h"
#include "llm-broker/lane.h"

#define GET "GET /v1/models HTTP/1.1\r\n"
#define POST "POST /v1/messages?beta=true HTTP/1.1\r\n"
#define HOST "Host: api.example.test\r\n"

struct test_key_head_row {
	const char *head;
	size_t len; /* 0: strlen */
	uint64_t body_len;
	enum key_head_fault expected;
};

static enum key_head_fault
test_key_head_ask(const char *head, size_t len, uint64_t body_len)
{
	const struct key_head_expected expected = {.host = "api.example.test",
	    .authority = "api.example.test:8443",
	    .key_header = "X-Special-Key",
	    .body_len = body_len};
	/* Exactly as long, so that a sanitizer sees a byte too many. */
	char *copy = malloc(len > 0 ? len : 1);
	enum key_head_fault fault;

	assert_non_null(copy);
	memcpy(copy, head, len);
	fault = key_head_check(copy, len, &expected);
	free(copy);
	return fault;
}

static void
test_key_head_rows(const struct test_key_head_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len =
		    rows[i].len != 0 ? rows[i].len : strlen(rows[i].head);
		enum key_head_fault got =
		    test_key_head_ask(rows[i].head, len, rows[i].body_len);

		if (got != rows[i].expected)
			fail_msg("%s: got \"%s\", expected \"%s\"",
			    rows[i].head, key_head_fault_text(got),
			    key_head_fault_text(rows[i].expected));
	}
}

#define ROWS(rows) test_key_head_rows((rows), sizeof(rows) / sizeof((rows)[0]))

static void
test_key_head_good(void **state)
{
	static const struct test_key_head_row rows[] = {
	    {GET HOST, 0, 0, KEY_HEAD_OK},
	    {GET "Host: api.example.test:8443\r\n", 0, 0, KEY_HEAD_OK},
	    {GET "host: api.example.test\r\n", 0, 0, KEY_HEAD_OK},
	    {POST HOST "Content-Length: 17\r\n", 0, 17, KEY_HEAD_OK},
	    {POST HOST "Content-Length: 0\r\n", 0, 0, KEY_HEAD_OK},
	    {POST HOST "Accept: text/event-stream\r\n"
		       "Connection: keep-alive\r\nContent-Length: 1\r\n"
		       "anthropic-version: 2023-06-01\r\n",
		0, 1, KEY_HEAD_OK},
	    {GET HOST "Connection: close\r\n", 0, 0, KEY_HEAD_OK},
	    {"GET / HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_OK},
	};

	(void)state;
	ROWS(rows);
}

static void
i02_key_head_other_hosts(void **state)
{
	static const struct test_key_head_row rows[] = {
	    {GET, 0, 0, KEY_HEAD_BAD_HOST},
	    {GET HOST HOST, 0, 0, KEY_HEAD_BAD_HOST},
	    {GET "Host: evil.example.test\r\n", 0, 0, KEY_HEAD_BAD_HOST},
	    {GET "Host: api.example.test.evil\r\n", 0, 0, KEY_HEAD_BAD_HOST},
	    {GET "Host: api.example.test:443\r\n", 0, 0, KEY_HEAD_BAD_HOST},
	    {GET "Host: API.example.test\r\n", 0, 0, KEY_HEAD_BAD_HOST},
	    {GET "Host:  api.example.test\r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {"GET http://evil/ HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"GET //evil/ HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"CONNECT evil:443 HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"OPTIONS * HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	};

	(void)state;
	ROWS(rows);
}

static void
i02_key_head_credentials(void **state)
{
	static const char *const names[] = {"Authorization", "AUTHORIZATION",
	    "Proxy-Authorization", "x-api-key", "X-Api-Key", "api-key",
	    "x-goog-api-key", "Cookie", "x-special-key", "X-SPECIAL-KEY"};
	char head[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int len = snprintf(
		    head, sizeof(head), GET HOST "%s: x\r\n", names[i]);

		assert_int_equal(test_key_head_ask(head, (size_t)len, 0),
		    KEY_HEAD_CREDENTIAL);
	}
}

static void
i02_key_head_second_request(void **state)
{
	static const struct test_key_head_row rows[] = {
	    {GET HOST "\r\n" GET HOST, 0, 0, KEY_HEAD_BAD_END},
	    {GET HOST "\r\n", 0, 0, KEY_HEAD_BAD_END},
	    {GET HOST "A: b\n\nGET / HTTP/1.1\r\n", 0, 0, KEY_HEAD_BAD_BYTE},
	    {GET HOST "A: b\rC: d\r\n", 0, 0, KEY_HEAD_BAD_BYTE},
	    {GET HOST "A: b\0\r\n", sizeof(GET HOST "A: b\0\r\n") - 1, 0,
		KEY_HEAD_BAD_BYTE},
	    {GET HOST "A: b\tc\r\n", 0, 0, KEY_HEAD_BAD_BYTE},
	    {GET HOST "A: \xc3\xa9\r\n", 0, 0, KEY_HEAD_BAD_BYTE},
	    {GET HOST "Transfer-Encoding: chunked\r\n", 0, 0, KEY_HEAD_FRAMING},
	    {GET HOST "Upgrade: websocket\r\n", 0, 0, KEY_HEAD_FRAMING},
	    {GET HOST "Expect: 100-continue\r\n", 0, 0, KEY_HEAD_FRAMING},
	    {GET HOST "Connection: x-api-key\r\n", 0, 0, KEY_HEAD_FRAMING},
	    {GET HOST "Content-Length: 5\r\n", 0, 0, KEY_HEAD_FRAMING},
	    {POST HOST, 0, 5, KEY_HEAD_FRAMING},
	    {POST HOST "Content-Length: 4\r\n", 0, 5, KEY_HEAD_FRAMING},
	    {POST HOST "Content-Length: 5\r\nContent-Length: 5\r\n", 0, 5,
		KEY_HEAD_FRAMING},
	    {POST HOST "Content-Length: 05\r\n", 0, 5, KEY_HEAD_FRAMING},
	    {POST HOST "Content-Length: +5\r\n", 0, 5, KEY_HEAD_FRAMING},
	    {POST HOST "Content-Length: 0x5\r\n", 0, 5, KEY_HEAD_FRAMING},
	    {POST HOST "Content-Length: 5, 5\r\n", 0, 5, KEY_HEAD_FRAMING},
	    /* 2^64 + 5 */
	    {POST HOST "Content-Length: 18446744073709551621\r\n", 0, 5,
		KEY_HEAD_FRAMING},
	};

	(void)state;
	ROWS(rows);
}

static void
test_key_head_lines(void **state)
{
	static const struct test_key_head_row rows[] = {
	    {"", 0, 0, KEY_HEAD_BAD_END},
	    {"\r\n", 0, 0, KEY_HEAD_BAD_LINE},
	    {"GET / HTTP/1.1", 0, 0, KEY_HEAD_BAD_END},
	    {GET "Host: api.example.test", 0, 0, KEY_HEAD_BAD_END},
	    {"GET / HTTP/1.0\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"GET / HTTP/1.1 \r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"GET /a b HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"GET /a#b HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"GET  / HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {"get / HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {" / HTTP/1.1\r\n" HOST, 0, 0, KEY_HEAD_BAD_LINE},
	    {GET HOST " folded: x\r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {GET HOST "A : b\r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {GET HOST "A:b\r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {GET HOST "A: \r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {GET HOST "A: b \r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {GET HOST "A_b: c\r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	    {GET HOST ": c\r\n", 0, 0, KEY_HEAD_BAD_FIELD},
	};

	(void)state;
	ROWS(rows);
}

static void
i11_key_head_length(void **state)
{
	static char head[LANE_HEAD_MAX + 64];
	int start = snprintf(head, sizeof(head), GET HOST "A: ");

	(void)state;
	memset(head + start, 'x', LANE_HEAD_MAX - (size_t)start - 2);
	memcpy(head + LANE_HEAD_MAX - 2, "\r\n", 2);
	assert_int_equal(
	    test_key_head_ask(head, LANE_HEAD_MAX, 0), KEY_HEAD_OK);
	memcpy(head + LANE_HEAD_MAX - 2, "xx\r\n", 4);
	assert_int_equal(
	    test_key_head_ask(head, LANE_HEAD_MAX + 2, 0), KEY_HEAD_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_head_good),
	    cmocka_unit_test(i02_key_head_other_hosts),
	    cmocka_unit_test(i02_key_head_credentials),
	    cmocka_unit_test(i02_key_head_second_request),
	    cmocka_unit_test(test_key_head_lines),
	    cmocka_unit_test(i11_key_head_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
