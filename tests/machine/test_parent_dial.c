/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress-proxy/parent_dial against a corporate proxy on loopback that says
 * something else for every address: all judged addresses get their turn, the
 * first that it reaches wins, and nothing of the others is left.
 */
#include "egress-proxy/parent_dial.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "common/fd.h"

#define TEST_PARENT_DIAL_MAX 8

/* What the proxy does when it is asked for an address. */
struct test_parent_dial_row {
	const char *authority, *answer; /* NULL: nothing, for ever */
	bool close;
};

static const struct test_parent_dial_row test_parent_dial_rows[] = {
    {"192.0.2.1:443", "HTTP/1.1 403 No\r\n\r\n", false},
    {"192.0.2.2:443", NULL, false},
    {"192.0.2.3:443", "HTTP/1.1 200 Yes\r\nVia: x\r\n\r\nrest", false},
    {"192.0.2.4:443", "HTTP/1.1 200 Yes\r\n", true},
    {"192.0.2.5:443", "SSH-2.0-x\r\n\r\n", false},
    {"192.0.2.6:443", "HTTP/1.1 100 Continue\r\n\r\n", false},
    {"[2001:db8::7]:443", "HTTP/1.1 200 Yes\r\n\r\n", false},
};

struct test_parent_dial {
	struct event_base *base;
	struct event *on_accept, *on_asked[TEST_PARENT_DIAL_MAX];
	int listener, served[TEST_PARENT_DIAL_MAX];
	unsigned asked;
	char heads[TEST_PARENT_DIAL_MAX][256];
	uint16_t port;
	unsigned calls, before;
	enum result result;
	int fd;
	struct ip_addr target;
	char rest[64];
	uint64_t started_ms, took_ms;
};

static unsigned
test_parent_dial_open_count(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void
test_parent_dial_on_asked(evutil_socket_t fd, short what, void *context)
{
	char *head = context;
	ssize_t count = recv((int)fd, head, 255, 0);

	(void)what;
	if (count <= 0)
		return;
	for (size_t i = 0; i < sizeof(test_parent_dial_rows) /
				   sizeof(test_parent_dial_rows[0]);
	     i++) {
		const struct test_parent_dial_row *row =
		    &test_parent_dial_rows[i];

		if (strncmp(head + 8, row->authority, strlen(row->authority)) !=
		    0)
			continue;
		if (row->answer != NULL)
			assert_true(send((int)fd, row->answer,
					strlen(row->answer), 0) > 0);
		if (row->close)
			assert_int_equal(shutdown((int)fd, SHUT_WR), 0);
		return;
	}
	fail_msg("asked for %s", head);
}

static void
test_parent_dial_on_accept(evutil_socket_t fd, short what, void *context)
{
	struct test_parent_dial *test = context;
	unsigned at = test->asked++;

	(void)what;
	assert_true(at < TEST_PARENT_DIAL_MAX);
	test->served[at] = accept4((int)fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(test->served[at] >= 0);
	test->on_asked[at] = event_new(test->base, test->served[at], EV_READ,
	    test_parent_dial_on_asked, test->heads[at]);
	assert_int_equal(event_add(test->on_asked[at], NULL), 0);
}

static void
test_parent_dial_done(enum result result, int fd, const struct ip_addr *target,
    const struct buffer *rest, void *context)
{
	struct test_parent_dial *test = context;

	assert_true(rest->len < sizeof(test->rest));
	test->calls++;
	test->result = result;
	test->fd = fd;
	test->target = *target;
	memcpy(test->rest, buffer_bytes_borrow(rest), rest->len);
	test->took_ms = event_loop_now_ms() - test->started_ms;
	event_loop_stop(test->base);
}

static struct ip_addr
test_parent_dial_address(const char *text)
{
	struct ip_addr address;

	assert_int_equal(
	    ip_addr_parse(text, strlen(text), &address), RESULT_OK);
	return address;
}

static void
test_parent_dial_open(struct test_parent_dial *test)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	socklen_t len = sizeof(to);

	memset(test, 0, sizeof(*test));
	test->fd = -1;
	test->before = test_parent_dial_open_count();
	assert_int_equal(event_loop_new(&test->base), RESULT_OK);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	test->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(test->listener, (struct sockaddr *)&to, len), 0);
	assert_int_equal(listen(test->listener, 16), 0);
	assert_int_equal(
	    getsockname(test->listener, (struct sockaddr *)&to, &len), 0);
	test->port = ntohs(to.sin_port);
	test->on_accept = event_new(test->base, test->listener,
	    EV_READ | EV_PERSIST, test_parent_dial_on_accept, test);
	assert_int_equal(event_add(test->on_accept, NULL), 0);
}

static void
test_parent_dial_close(struct test_parent_dial *test)
{
	for (unsigned i = 0; i < test->asked; i++) {
		event_free(test->on_asked[i]);
		fd_close(&test->served[i]);
	}
	event_free(test->on_accept);
	fd_close(&test->listener);
	fd_close(&test->fd);
	event_base_free(test->base);
	assert_int_equal(test_parent_dial_open_count(), test->before);
}

static struct parent_dial *
test_parent_dial_begin(struct test_parent_dial *test, const char *proxy,
    const char *const *targets, size_t count)
{
	const struct ip_addr proxies[] = {test_parent_dial_address(proxy)};
	struct ip_addr addresses[DIAL_ADDRESSES_MAX + 1];
	struct parent_dial_plan plan = {.proxies = proxies,
	    .proxy_count = 1,
	    .proxy_port = test->port,
	    .targets = addresses,
	    .target_count = count,
	    .target_port = 443,
	    .options = {.timeout_ms = 3000}};
	struct parent_dial *parent;

	for (size_t i = 0; i < count; i++)
		addresses[i] = test_parent_dial_address(targets[i]);
	test->started_ms = event_loop_now_ms();
	assert_int_equal(parent_dial_start(test->base, &plan,
			     test_parent_dial_done, test, &parent),
	    RESULT_OK);
	assert_int_equal(test->calls, 0);
	memset(addresses, 0, sizeof(addresses)); /* were copied */
	return parent;
}

static void
test_parent_dial_run(
    struct test_parent_dial *test, const char *const *targets, size_t count)
{
	test_parent_dial_open(test);
	(void)test_parent_dial_begin(test, "127.0.0.1", targets, count);
	(void)event_base_dispatch(test->base);
	assert_int_equal(test->calls, 1);
}

/* Refused, silent, then reached: the refusal costs no time, the silence one
 * delay, and the answer's rest is kept. */
static void
test_parent_dial_all(void **unused)
{
	static const char *const targets[] = {
	    "192.0.2.1", "192.0.2.2", "192.0.2.3"};
	struct test_parent_dial test;
	struct ip_addr wanted = test_parent_dial_address(targets[2]);

	(void)unused;
	test_parent_dial_run(&test, targets, 3);
	assert_int_equal(test.result, RESULT_OK);
	assert_true(ip_addr_equal(&test.target, &wanted));
	assert_string_equal(test.rest, "rest");
	assert_int_equal(test.asked, 3);
	assert_true(test.took_ms >= 150 && test.took_ms < 2000);
	assert_string_equal(test.heads[0], "CONNECT 192.0.2.1:443 HTTP/1.1\r\n"
					   "Host: 192.0.2.1:443\r\n\r\n");
	/* The winner is a working socket, and not a blocking one. */
	assert_int_equal(send(test.fd, "x", 1, 0), 1);
	assert_true(fcntl(test.fd, F_GETFL) & O_NONBLOCK);
	test_parent_dial_close(&test);
}

/* IPv6 first, as for targets that are dialled directly. */
static void
test_parent_dial_order(void **unused)
{
	static const char *const targets[] = {"192.0.2.3", "2001:db8::7"};
	struct test_parent_dial test;

	(void)unused;
	test_parent_dial_run(&test, targets, 2);
	assert_int_equal(test.result, RESULT_OK);
	assert_int_equal(test.target.family, 6);
	assert_int_equal(test.asked, 1);
	assert_non_null(strstr(test.heads[0], "Host: [2001:db8::7]:443\r\n"));
	test_parent_dial_close(&test);
}

/* Nothing but a 2xx is an answer; the last fault is told. */
static void
test_parent_dial_none(void **unused)
{
	static const struct {
		const char *target;
		enum result result;
	} rows[] = {{"192.0.2.1", RESULT_REFUSED}, {"192.0.2.4", RESULT_CLOSED},
	    {"192.0.2.5", RESULT_REFUSED}, {"192.0.2.6", RESULT_REFUSED}};
	const char *all[4];
	struct test_parent_dial test;

	(void)unused;
	for (size_t i = 0; i < 4; i++) {
		all[i] = rows[i].target;
		test_parent_dial_run(&test, &all[i], 1);
		assert_int_equal(test.result, rows[i].result);
		assert_int_equal(test.fd, -1);
		test_parent_dial_close(&test);
	}
	test_parent_dial_run(&test, all, 4);
	assert_int_equal(test.result, RESULT_REFUSED);
	assert_int_equal(test.asked, 4);
	assert_true(test.took_ms < 1000);
	test_parent_dial_close(&test);
}

/* No proxy there at all. */
static void
test_parent_dial_nobody(void **unused)
{
	static const char *const targets[] = {"192.0.2.3", "192.0.2.2"};
	struct test_parent_dial test;

	(void)unused;
	test_parent_dial_open(&test);
	(void)test_parent_dial_begin(&test, "127.0.0.99", targets, 2);
	(void)event_base_dispatch(test.base);
	assert_int_equal(test.calls, 1);
	assert_int_equal(test.result, RESULT_SYSTEM);
	assert_int_equal(test.asked, 0);
	test_parent_dial_close(&test);
}

static void
test_parent_dial_stop(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	event_loop_stop(context);
}

/* Cancelled at once, and while two answers are due: silence afterwards. */
static void
test_parent_dial_cancelled(void **unused)
{
	static const char *const targets[] = {
	    "192.0.2.2", "192.0.2.2", "192.0.2.2"};
	const struct timeval soon = {0, 400000};
	struct test_parent_dial test;

	(void)unused;
	for (int late = 0; late < 2; late++) {
		struct parent_dial *parent;

		test_parent_dial_open(&test);
		parent = test_parent_dial_begin(&test, "127.0.0.1", targets, 3);
		if (late) {
			assert_int_equal(
			    event_base_once(test.base, -1, EV_TIMEOUT,
				test_parent_dial_stop, test.base, &soon),
			    0);
			(void)event_base_dispatch(test.base);
			assert_int_equal(test.asked, 2);
		}
		parent_dial_cancel(&parent);
		assert_null(parent);
		assert_int_equal(test.calls, 0);
		test_parent_dial_close(&test);
	}
}

static void
test_parent_dial_bounds(void **unused)
{
	const struct ip_addr one = test_parent_dial_address("192.0.2.3");
	struct parent_dial_plan plan = {.proxies = &one,
	    .proxy_count = 1,
	    .targets = &one,
	    .target_count = 0};
	struct parent_dial *parent;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(parent_dial_start(NULL, &plan,
				     test_parent_dial_done, NULL, &parent),
		    RESULT_TOO_LONG);
		assert_null(parent);
		plan.target_count = DIAL_ADDRESSES_MAX + 1;
	}
	plan.target_count = 1;
	plan.proxy_count = 0;
	assert_int_equal(parent_dial_start(
			     NULL, &plan, test_parent_dial_done, NULL, &parent),
	    RESULT_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parent_dial_all),
	    cmocka_unit_test(test_parent_dial_order),
	    cmocka_unit_test(test_parent_dial_none),
	    cmocka_unit_test(test_parent_dial_nobody),
	    cmocka_unit_test(test_parent_dial_cancelled),
	    cmocka_unit_test(test_parent_dial_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
