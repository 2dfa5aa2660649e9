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

#include "common/fd.h"
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
	int on = 1;

	memset(test, 0, sizeof(*test));
	tcp_pair_make(test->client);
	tcp_pair_make(test->upstream);
	/* Small pieces arrive when they are sent. */
	assert_int_equal(setsockopt(test->upstream[1], IPPROTO_TCP, TCP_NODELAY,
			     &on, sizeof(on)),
	    0);
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
	    "Keep-Alive: 5\r\nx-agentnode-Reason: ip_blocked\r\nX-Ok: "
	    "3\r\nContent-Length: 2\r\n\r\nhi");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
	got = test_exchange_got(&test, test.client[1]);
	assert_memory_equal(got, "HTTP/1.1 200 ", 13);
	assert_non_null(strstr(got, "\r\nX-Ok: 3\r\n"));
	assert_non_null(strstr(got, "\r\nConnection: close\r\n\r\nhi"));
	assert_null(strstr(got, "X-Up"));
	assert_null(strstr(got, "Keep-Alive"));
	/* The proxy's word is nobody else's. */
	assert_null(strcasestr(got, "agentnode"));
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
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
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

/* HTTP/1.0 knows no chunks (RFC 9112 section 7.1): such a client gets what
 * is in them, ended by the end of the connection. */
static const char test_exchange_old_get[] =
    "GET http://plain.example.test/ HTTP/1.0\r\n"
    "Host: plain.example.test\r\n\r\n";
static const char test_exchange_chunks[] =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Ok: 3\r\n\r\n"
    "4;x=y\r\nWiki\r\n6\r\npedia!\r\n0\r\nT: u\r\n\r\n";

static void
test_exchange_old_client(void **state)
{
	struct test_exchange test;
	const char *got, *end;

	(void)state;
	test_exchange_open(&test, test_exchange_old_get);
	/* Byte by byte, and the upstream stays open behind the last chunk. */
	for (size_t i = 0; i < sizeof(test_exchange_chunks) - 2; i++) {
		assert_int_equal(
		    send(test.upstream[1], test_exchange_chunks + i, 1, 0), 1);
		assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	}
	test_exchange_send(test.upstream[1], "\nbehind");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
	got = test_exchange_got(&test, test.client[1]);
	assert_non_null(strstr(got, "\r\nX-Ok: 3\r\n"));
	assert_non_null(strstr(got, "\r\nConnection: close\r\n"));
	assert_null(strcasestr(got, "Transfer-Encoding"));
	end = strstr(got, "\r\n\r\n");
	assert_non_null(end);
	assert_string_equal(end, "\r\n\r\nWikipedia!");
	test_exchange_close(&test);
}

/* A client of HTTP/1.1 gets the chunks. */
static void
test_exchange_new_client(void **state)
{
	struct test_exchange test;
	const char *got;

	(void)state;
	test_exchange_open(&test, test_exchange_get);
	test_exchange_send(test.upstream[1], test_exchange_chunks);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
	got = test_exchange_got(&test, test.client[1]);
	assert_non_null(strstr(got, "\r\nTransfer-Encoding: chunked\r\n"));
	assert_non_null(strstr(got, "\r\n\r\n4\r\nWiki\r\n6\r\n"));
	test_exchange_close(&test);
}

/* Content larger than every buffer, in chunks of all sizes. */
static void
test_exchange_old_large(void **state)
{
	struct test_exchange test;
	size_t sent = 0, got = 0;
	char chunk[70000];

	(void)state;
	test_exchange_open(&test, test_exchange_old_get);
	test_exchange_send(test.upstream[1],
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	(void)test_exchange_got(&test, test.client[1]);
	for (int size = 1; size < 60000; size = size * 3 + 1) {
		(void)snprintf(chunk, sizeof(chunk), "%x\r\n%0*d\r\n",
		    (unsigned)size, size, 0);
		test_exchange_send(test.upstream[1], chunk);
		sent += (size_t)size;
		assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
		got += strspn(test_exchange_got(&test, test.client[1]), "0");
	}
	assert_int_equal(got, sent);
	test_exchange_send(test.upstream[1], "0\r\n\r\n");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
	assert_string_equal(test_exchange_got(&test, test.client[1]), "");
	test_exchange_close(&test);
}

/* An answer that breaks off, or whose chunks are malformed, must not end in
 * order: nothing else tells this client that something is missing. */
static void
test_exchange_old_broken(void **state)
{
	static const char *const rows[] = {"4\r\nWi", "4\r\nWiki\r\n",
	    "4\r\nWiki\r\n0\r\n", "4\r\nWikiX", "zz\r\n", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_exchange test;

		test_exchange_open(&test, test_exchange_old_get);
		test_exchange_send(test.upstream[1],
		    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		test_exchange_send(test.upstream[1], rows[i]);
		assert_int_equal(shutdown(test.upstream[1], SHUT_WR), 0);
		if (test_exchange_settle(&test) != EXCHANGE_BROKEN)
			fail_msg("ended in order: %s", rows[i]);
		test_exchange_close(&test);
	}
}

/* What has no body is not waited for, whatever its head says. */
static void
test_exchange_old_bodiless(void **state)
{
	static const char *const rows[][2] = {
	    {"HEAD", "200"}, {"GET", "204"}, {"GET", "304"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_exchange test;
		char text[256];

		(void)snprintf(text, sizeof(text), "%s%s", rows[i][0],
		    test_exchange_old_get + 3);
		test_exchange_open(&test, text);
		(void)snprintf(text, sizeof(text),
		    "HTTP/1.1 %s X\r\nTransfer-Encoding: chunked\r\n\r\n",
		    rows[i][1]);
		test_exchange_send(test.upstream[1], text);
		assert_int_equal(shutdown(test.upstream[1], SHUT_WR), 0);
		if (test_exchange_settle(&test) != EXCHANGE_DONE)
			fail_msg("%s %s", rows[i][0], rows[i][1]);
		assert_null(strcasestr(
		    test_exchange_got(&test, test.client[1]), "chunked"));
		test_exchange_close(&test);
	}
}

/* RFC 9110 section 10.1.1: no 100 for HTTP/1.0. */
static void
test_exchange_old_expect(void **state)
{
	struct test_exchange test;

	(void)state;
	test_exchange_open(&test,
	    "POST http://plain.example.test/ HTTP/1.0\r\n"
	    "Host: plain.example.test\r\nContent-Length: 2\r\n"
	    "Expect: 100-continue\r\n\r\nhi");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_string_equal(test_exchange_got(&test, test.client[1]), "");
	assert_non_null(
	    strstr(test_exchange_got(&test, test.upstream[1]), "\r\n\r\nhi"));
	test_exchange_close(&test);
}

/* An answer ends where its head says, the upstream's end or not. */
static void
test_exchange_whole_answer(void **state)
{
	static const struct {
		const char *method, *answer, *body;
	} rows[] = {
	    {"GET", "200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
	    {"GET", "200 OK\r\nContent-Length: 0\r\n\r\n", ""},
	    {"GET",
		"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n0\r\n\r\n",
		"5\r\nhello\r\n0\r\n\r\n"},
	    {"HEAD", "200 OK\r\nContent-Length: 5\r\n\r\n", ""},
	    {"GET", "204 No\r\n\r\n", ""},
	    {"GET", "304 No\r\nContent-Length: 5\r\n\r\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_exchange test;
		char text[300];
		const char *body;

		(void)snprintf(text, sizeof(text),
		    "%s http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		    rows[i].method);
		test_exchange_open(&test, text);
		(void)snprintf(
		    text, sizeof(text), "HTTP/1.1 %s", rows[i].answer);
		test_exchange_send(test.upstream[1], text);
		assert_int_equal(test_exchange_settle(&test), EXCHANGE_DONE);
		test_exchange_got(&test, test.client[1]);
		body = strstr(test.got, "\r\n\r\n");
		assert_non_null(body);
		assert_string_equal(body + 4, rows[i].body);
		test_exchange_close(&test);
	}
}

/* A reset client is noticed while the answer is awaited; a FIN is not
 * taken for one. */
static void
test_exchange_client_gone(void **state)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};
	struct test_exchange test;

	(void)state;
	test_exchange_open(
	    &test, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n");
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_int_equal(shutdown(test.client[1], SHUT_WR), 0);
	exchange_note(test.exchange, 0, TUNNEL_CAN_READ | TUNNEL_HUNG_UP);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
	assert_int_equal(setsockopt(test.client[1], SOL_SOCKET, SO_LINGER, &now,
			     sizeof(now)),
	    0);
	close(test.client[1]);
	test.client[1] = dup(test.client[0]);
	exchange_note(test.exchange, 0, TUNNEL_CAN_READ | TUNNEL_HUNG_UP);
	assert_int_equal(test_exchange_settle(&test), EXCHANGE_BROKEN);
	test_exchange_close(&test);
}

/* The same of one that was passed to us, a unix socket. */
static void
test_exchange_passed_client_gone(void **state)
{
	struct test_exchange test;
	int pair[2];

	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		test_exchange_open(&test, test_exchange_get);
		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
		    0);
		assert_true(dup2(pair[0], test.client[0]) >= 0);
		assert_true(dup2(pair[1], test.client[1]) >= 0);
		close(pair[0]);
		close(pair[1]);
		assert_int_equal(test_exchange_settle(&test), EXCHANGE_WAIT);
		assert_int_equal(shutdown(test.client[1], SHUT_WR), 0);
		if (reset == 1)
			fd_reset(&test.client[1]);
		exchange_note(
		    test.exchange, 0, TUNNEL_CAN_READ | TUNNEL_HUNG_UP);
		assert_int_equal(test_exchange_settle(&test),
		    reset == 1 ? EXCHANGE_BROKEN : EXCHANGE_WAIT);
		if (reset == 1)
			test.client[1] = dup(test.client[0]);
		test_exchange_close(&test);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exchange_whole_answer),
	    cmocka_unit_test(test_exchange_client_gone),
	    cmocka_unit_test(test_exchange_passed_client_gone),
	    cmocka_unit_test(test_exchange_simple),
	    cmocka_unit_test(test_exchange_one_request),
	    cmocka_unit_test(test_exchange_body),
	    cmocka_unit_test(test_exchange_bad_body),
	    cmocka_unit_test(test_exchange_cut_body),
	    cmocka_unit_test(test_exchange_bad_responses),
	    cmocka_unit_test(test_exchange_long_head),
	    cmocka_unit_test(test_exchange_early_answer),
	    cmocka_unit_test(test_exchange_old_client),
	    cmocka_unit_test(test_exchange_new_client),
	    cmocka_unit_test(test_exchange_old_large),
	    cmocka_unit_test(test_exchange_old_broken),
	    cmocka_unit_test(test_exchange_old_bodiless),
	    cmocka_unit_test(test_exchange_old_expect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
