/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the kernel is asked for more: not after a short read, but for what
 * may stand behind one; the end and an error are never missed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "llm-broker/key/upstream_wire.h"

struct test_upstream_wire {
	struct upstream_wire wire;
	int peer;
};

/* A connection over loopback: only TCP has resets. */
static void
test_upstream_wire_connect(struct test_upstream_wire *test)
{
	struct sockaddr_in to = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(to);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(listener >= 0 && fd >= 0);
	assert_int_equal(bind(listener, (void *)&to, sizeof(to)), 0);
	assert_int_equal(getsockname(listener, (void *)&to, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(fd, (void *)&to, sizeof(to)), 0);
	test->peer = accept(listener, NULL, NULL);
	assert_true(test->peer >= 0);
	close(listener);
	upstream_wire_init(&test->wire, fd);
}

static void
test_upstream_wire_end(struct test_upstream_wire *test)
{
	upstream_wire_close(&test->wire);
	if (test->peer >= 0)
		close(test->peer);
}

static enum result
test_upstream_wire_read(struct test_upstream_wire *test, size_t size)
{
	char bytes[64];
	size_t len;

	assert_true(size <= sizeof(bytes));
	return upstream_wire_receive(&test->wire, bytes, size, &len);
}

static void
test_upstream_wire_say(struct test_upstream_wire *test, const char *text)
{
	assert_int_equal(
	    send(test->peer, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void
test_upstream_wire_short(void **state)
{
	struct test_upstream_wire test;

	(void)state;
	test_upstream_wire_connect(&test);
	test_upstream_wire_say(&test, "0123456789");
	assert_int_equal(test_upstream_wire_read(&test, 10), RESULT_OK);
	assert_false(test.wire.is_drained); /* it may not have been all */
	assert_int_equal(test_upstream_wire_read(&test, 10), RESULT_NEED_MORE);
	assert_false(upstream_wire_doubt(&test.wire)); /* it was asked */
	test_upstream_wire_say(&test, "0123456789");
	upstream_wire_note(&test.wire, false);
	assert_int_equal(test_upstream_wire_read(&test, 20), RESULT_OK);
	assert_false(test.wire.is_dry);
	test_upstream_wire_say(&test, "more");
	/* An edge tells of that, and it was not asked before. */
	assert_int_equal(test_upstream_wire_read(&test, 20), RESULT_NEED_MORE);
	assert_true(test.wire.is_dry);
	assert_true(upstream_wire_doubt(&test.wire));
	assert_int_equal(test_upstream_wire_read(&test, 20), RESULT_OK);
	test_upstream_wire_end(&test);
}

/* The edge said that the end is there: it is read to the end. */
static void
test_upstream_wire_hung_up(void **state)
{
	struct test_upstream_wire test;

	(void)state;
	test_upstream_wire_connect(&test);
	test_upstream_wire_say(&test, "last");
	assert_int_equal(shutdown(test.peer, SHUT_WR), 0);
	upstream_wire_note(&test.wire, true);
	assert_int_equal(test_upstream_wire_read(&test, 20), RESULT_OK);
	assert_int_equal(test_upstream_wire_read(&test, 20), RESULT_EOF);
	assert_true(test.wire.is_ended);
	test_upstream_wire_end(&test);
}

/* A reset behind content, without an edge of its own. */
static void
test_upstream_wire_reset(void **state)
{
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};
	struct test_upstream_wire test;
	enum result result;

	(void)state;
	test_upstream_wire_connect(&test);
	test_upstream_wire_say(&test, "half");
	assert_int_equal(
	    setsockopt(test.peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(test.peer);
	test.peer = -1;
	upstream_wire_note(&test.wire, false);
	result = test_upstream_wire_read(&test, 20);
	if (result == RESULT_OK) {
		assert_int_equal(
		    test_upstream_wire_read(&test, 20), RESULT_NEED_MORE);
		assert_true(upstream_wire_doubt(&test.wire));
		result = test_upstream_wire_read(&test, 20);
	}
	assert_int_equal(result, RESULT_CLOSED);
	test_upstream_wire_end(&test);
}

/* What rests is looked at, and nothing of it is taken. */
static void
test_upstream_wire_looks(void **state)
{
	struct test_upstream_wire test;

	(void)state;
	test_upstream_wire_connect(&test);
	upstream_wire_look(&test.wire);
	assert_true(test.wire.is_drained);
	test_upstream_wire_say(&test, "out of turn");
	upstream_wire_look(&test.wire);
	assert_false(test.wire.is_drained);
	assert_int_equal(test_upstream_wire_read(&test, 11), RESULT_OK);
	close(test.peer);
	test.peer = -1;
	upstream_wire_look(&test.wire);
	assert_false(test.wire.is_drained);
	assert_int_equal(test_upstream_wire_read(&test, 11), RESULT_EOF);
	test_upstream_wire_end(&test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_upstream_wire_short),
	    cmocka_unit_test(test_upstream_wire_hung_up),
	    cmocka_unit_test(test_upstream_wire_reset),
	    cmocka_unit_test(test_upstream_wire_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
