/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress-proxy/exchange and response_head on real TCP sockets: one request
 * and its response, heads written anew, bodies framed anew, and answers
 * that must not reach the client.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "egress-proxy/exchange.h"
#include "egress-proxy/tunnel.h"
#include "tests/support/tcp_pair.h"

#define TEST_EXCHANGE_ALL (TUNNEL_CAN_READ | TUNNEL_CAN_WRITE)

struct test_exchange {
	int client[2], upstream[2]; /* [1] is the far end */
	struct exchange *exchange;
	struct egress_quota quota;
	char got[70000];
};

static void
test_exchange_open(struct test_exchange *test, const char *request)
{
	struct connect_request parsed;
	size_t len = strlen(request);

	memset(test, 0, sizeof(*test));
	tcp_pair_make(test->client);
	tcp_pair_make(test->upstream);
	egress_quota_init(&test->quota, 0, 0, 0);
	assert_int_equal(
	    connect_request_parse(request, len, &parsed), CONNECT_REQUEST_OK);
	assert_int_equal(exchange_new(test->client[0], test->upstream[0],
			     &parsed, request + parsed.head.head_len,
			     len - parsed.head.head_len, &test->exchange),
	    RESULT_OK);
}

static void
test_exchange_close(struct test_exchange *test)
{
	exchange_free(&test->exchange);
	for (int i = 0; i < 2; i++) {
		close(test->client[i]);
		close(test->upstream[i]);
	}
}

static enum exchange_status
test_exchange_settle(struct test_exchange *test)
{
	enum exchange_status status;

	do {
		exchange_note(test->exchange, 0, TEST_EXCHANGE_ALL);
		exchange_note(test->exchange, 1, TEST_EXCHANGE_ALL);
		status = exchange_continue(test->exchange, &test->quota);
	} while (status == EXCHANGE_AGAIN);
	return status;
}

static void
test_exchange_send(int fd, const char *text)
{
	assert_int_equal(
	    send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static const char *
test_exchange_got(struct test_exchange *test, int fd)
{
	ssize_t count =
	    recv(fd, test->got, sizeof(test->got) - 1, MSG_DONTWAIT);

	test->got[count > 0 ? count : 0] = '\0';
	return test->got;
}

static const char test_exchange_get[] =
    "GET http://plain.example.test/x?y HTTP/1.1\r\n"
    "Host: plain.example.test\r\nProxy-Connection: keep-alive\r\n"
    "Connection: X-Hop\r\nX-Hop: 1\r\nX-Kept: 2\r\n\r\n";

static void
test_exchange_simple(void **state)
{
	struct test_exchange test;
	const char *got;

	(void)state;
	test_exchange_open(&test, test_exchange_get);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	got = test_exchange_got(&test, test.upstream[1]);
	assert_memory_equal(got, "GET /x?y HTTP/1.1\r\n", 19);
	assert_non_null(strstr(got, "\r\nHost: plain.example.test\r\n"));
	assert_non_null(strstr(got, "\r\nX-Kept: 2\r\n"));
	assert_null(strstr(got, "X-Hop"));
	assert_null(strstr(got, "Proxy-"));
	test_exchange_send(test.upstream[1],
	    "HTTP/1.1 200 OK\r\nConnection: X-Up, keep-alive\r\nX-Up: 1\r\n"
	    "Keep-Alive: 5\r\nX-Ok: 3\r\nContent-Length: 2\r\n\r\nhi");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	got = test_exchange_got(&test, test.client[1]);
	assert_memory_equal(got, "HTTP/1.1 200 ", 13);
	assert_non_null(strstr(got, "\r\nX-Ok: 3\r\n"));
	assert_non_null(strstr(got, "\r\nConnection: close\r\n\r\nhi"));
	assert_null(strstr(got, "X-Up"));
	assert_null(strstr(got, "Keep-Alive"));
	assert_int_equal(shutdown(test.upstream[1], SHUT_WR), 0);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
	assert_true(exchange_down_bytes(test.exchange) > 0);
	test_exchange_close(&test);
}

/* A second request behind the first goes nowhere. */
static void
test_exchange_one_request(void **state)
{
	struct test_exchange test;
	char request[1024];

	(void)state;
	(void)snprintf(request, sizeof(request), "%sGET http://evil/ HTTP/1.1",
	    test_exchange_get);
	test_exchange_open(&test, request);
	test_exchange_send(test.client[1], "\r\nHost: evil\r\n\r\n");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_null(strstr(test_exchange_got(&test, test.upstream[1]), "evil"));
	test_exchange_close(&test);
}

static const char test_exchange_post[] =
    "POST http://plain.example.test/ HTTP/1.1\r\n"
    "Host: plain.example.test\r\nTransfer-Encoding: chunked\r\n"
    "Expect: 100-continue\r\n\r\n";

static void
test_exchange_body(void **state)
{
	struct test_exchange test;

	(void)state;
	test_exchange_open(&test, test_exchange_post);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_string_equal(test_exchange_got(&test, test.client[1]),
	    "HTTP/1.1 100 Continue\r\n\r\n");
	(void)test_exchange_got(&test, test.upstream[1]);
	test_exchange_send(
	    test.client[1], "4;x=y\r\nWiki\r\n0\r\nT: u\r\n\r\nrest");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_string_equal(test_exchange_got(&test, test.upstream[1]),
	    "4\r\nWiki\r\n0\r\n\r\n");
	/* Its own 100 was answered already: dropped. */
	test_exchange_send(test.upstream[1],
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_memory_equal(
	    test_exchange_got(&test, test.client[1]), "HTTP/1.1 204 ", 13);
	test_exchange_close(&test);
}

static void
test_exchange_bad_body(void **state)
{
	struct test_exchange test;

	(void)state;
	test_exchange_open(&test, test_exchange_post);
	test_exchange_send(test.client[1], "zz\r\n");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_BAD_REQUEST);
	test_exchange_close(&test);
}

static void
test_exchange_cut_body(void **state)
{
	struct test_exchange test;

	(void)state;
	test_exchange_open(&test, test_exchange_post);
	test_exchange_send(test.client[1], "4\r\nWi");
	assert_int_equal(shutdown(test.client[1], SHUT_WR), 0);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_BROKEN);
	test_exchange_close(&test);
}

static void
test_exchange_bad_responses(void **state)
{
	static const char *const rows[] = {"SSH-2.0-x\r\n\r\n",
	    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	    "HTTP/1.1 200 OK\nX: y\n\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
	    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	     "Content-Length: 2\r\n\r\n")};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_exchange test;

		test_exchange_open(&test, test_exchange_get);
		test_exchange_send(test.upstream[1], rows[i]);
		if (test_exchange_settle(&test) != EXCHANGE_BAD_RESPONSE)
			fail_msg("passed: %s", rows[i]);
		assert_string_equal(
		    test_exchange_got(&test, test.client[1]), "");
		test_exchange_close(&test);
	}
}

/* A head that never ends is cut, and one that the upstream leaves. */
static void
test_exchange_long_head(void **state)
{
	struct test_exchange test;

	(void)state;
	test_exchange_open(&test, test_exchange_get);
	test_exchange_send(test.upstream[1], "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 40; i++) {
		char line[520];

		(void)snprintf(line, sizeof(line), "X-%d: %0500d\r\n", i, i);
		test_exchange_send(test.upstream[1], line);
	}
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_BAD_RESPONSE);
	test_exchange_close(&test);
	test_exchange_open(&test, test_exchange_get);
	test_exchange_send(test.upstream[1], "HTTP/1.1 200 OK\r\n");
	assert_int_equal(shutdown(test.upstream[1], SHUT_WR), 0);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_BAD_RESPONSE);
	test_exchange_close(&test);
}

/* An early answer reaches the client though its body is not all there. */
static void
test_exchange_early_answer(void **state)
{
	struct test_exchange test;

	(void)state;
	test_exchange_open(&test, test_exchange_post);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	(void)test_exchange_got(&test, test.client[1]);
	test_exchange_send(test.upstream[1], "HTTP/1.1 413 Big\r\n\r\nno");
	assert_int_equal(shutdown(test.upstream[1], SHUT_WR), 0);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
	assert_non_null(
	    strstr(test_exchange_got(&test, test.client[1]), "413"));
	test_exchange_close(&test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exchange_simple),
	    cmocka_unit_test(test_exchange_one_request),
	    cmocka_unit_test(test_exchange_body),
	    cmocka_unit_test(test_exchange_bad_body),
	    cmocka_unit_test(test_exchange_cut_body),
	    cmocka_unit_test(test_exchange_bad_responses),
	    cmocka_unit_test(test_exchange_long_head),
	    cmocka_unit_test(test_exchange_early_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
