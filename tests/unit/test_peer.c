/* SPDX-License-Identifier: Apache-2.0 */
/* common/peer over real socketpairs: order, bounds, descriptors in queued
 * messages, ends, freeing inside a callback, the first message. */
#include "common/peer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "common/fd.h"

struct test_peer {
	struct event_base *base;
	struct peer *peer;
	int other; /* the other end, raw and non-blocking */
	unsigned messages, ends;
	enum result why;
	char detail[256];
	uint64_t last_id;
	int kept_fd;
	bool free_in_message, free_in_end, echo;
};

static unsigned
test_peer_open_count(void)
{
	unsigned count = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			count++;
	return count;
}

static void
test_peer_on_message(struct ipc_message *message, void *context)
{
	struct test_peer *test = context;
	struct ipc_message answer;

	test->messages++;
	test->last_id = message->id;
	if (message->fd_count > 0 && test->kept_fd < 0)
		test->kept_fd = ipc_message_take_fd(message, 0);
	if (test->echo) {
		ipc_message_init(&answer, IPC_STATS, message->id);
		assert_int_equal(peer_send(test->peer, &answer), RESULT_OK);
	}
	if (test->free_in_message)
		peer_free(&test->peer);
}

static void
test_peer_on_end(enum result why, const char *detail, void *context)
{
	struct test_peer *test = context;
	struct ipc_message message;

	test->ends++;
	test->why = why;
	snprintf(test->detail, sizeof(test->detail), "%s", detail);
	ipc_message_init(&message, IPC_STATS, 1);
	assert_int_equal(peer_send(test->peer, &message), RESULT_CLOSED);
	if (test->free_in_end)
		peer_free(&test->peer);
}

/* We are the egress proxy; the test plays the supervisor at the raw end. */
static void
test_peer_open(struct test_peer *test)
{
	static const struct peer_handlers handlers = {
	    test_peer_on_message, test_peer_on_end};
	int pair[2];

	memset(test, 0, sizeof(*test));
	test->kept_fd = -1;
	assert_int_equal(event_loop_new(&test->base), RESULT_OK);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	test->other = pair[0];
	assert_int_equal(fd_set_nonblocking(pair[0], true), RESULT_OK);
	assert_int_equal(peer_new(test->base, pair[1], IPC_PROXY,
			     IPC_SUPERVISOR, &handlers, test, &test->peer),
	    RESULT_OK);
	peer_set_state(test->peer, IPC_RUNNING);
}

static void
test_peer_close(struct test_peer *test)
{
	peer_free(&test->peer);
	fd_close(&test->other);
	fd_close(&test->kept_fd);
	event_base_free(test->base);
}

static void
test_peer_turn(struct test_peer *test)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		assert_true(event_base_loop(test->base, EVLOOP_NONBLOCK) >= 0);
}

static void
test_peer_say(
    struct test_peer *test, const char *text, const int *fds, size_t fd_count)
{
	assert_int_equal(
	    fd_send(test->other, text, strlen(text), fds, fd_count), RESULT_OK);
}

static const char test_peer_stats[] = "{\"v\":1,\"type\":\"stats\",\"id\":3}";

static void
test_peer_receives(void **state)
{
	unsigned before = test_peer_open_count();
	struct test_peer test;
	unsigned i;
	int zero = 0;

	(void)state;
	test_peer_open(&test);
	for (i = 0; i < 50; i++)
		test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_turn(&test);
	assert_int_equal(test.messages, 50);
	assert_int_equal(test.last_id, 3);
	/* the first descriptor is kept, the second one not taken: closed */
	for (i = 0; i < 2; i++)
		test_peer_say(&test,
		    "{\"v\":1,\"type\":\"log_replace\",\"id\":0}", &zero, 1);
	test_peer_turn(&test);
	assert_int_equal(test.messages, 52);
	assert_true(fcntl(test.kept_fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(test.ends, 0);
	test_peer_close(&test);
	assert_int_equal(test_peer_open_count(), before);
}

static void
test_peer_ends_on_bad(void **state)
{
	struct test_peer test;

	(void)state;
	test_peer_open(&test);
	test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_say(&test, "{\"v\":1,\"type\":\"work\",\"id\":3}", NULL, 0);
	test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_turn(&test);
	assert_int_equal(test.messages, 1); /* nothing after the end */
	assert_int_equal(test.ends, 1);
	assert_int_equal(test.why, RESULT_BAD);
	assert_string_equal(test.detail, "work is not for the egress proxy");
	test_peer_close(&test);
}

static void
test_peer_state(void **state)
{
	struct ipc_message message;
	struct test_peer test;

	(void)state;
	test_peer_open(&test);
	peer_set_state(test.peer, IPC_STARTING);
	ipc_message_init(&message, IPC_STATS, 1);
	assert_int_equal(peer_send(test.peer, &message), RESULT_REFUSED);
	test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_turn(&test);
	assert_int_equal(test.why, RESULT_BAD);
	assert_string_equal(test.detail, "stats is not allowed at this point");
	test_peer_close(&test);
}

static void
test_peer_eof(void **state)
{
	struct test_peer test;

	(void)state;
	test_peer_open(&test);
	test_peer_say(&test, test_peer_stats, NULL, 0);
	fd_close(&test.other);
	test_peer_turn(&test);
	assert_int_equal(test.messages, 1); /* what was said last counts */
	assert_int_equal(test.ends, 1);
	assert_int_equal(test.why, RESULT_EOF);
	test_peer_turn(&test);
	assert_int_equal(test.ends, 1);
	test_peer_close(&test);
}

/* The last word arrives although our own message was never read. */
static void
test_peer_last_word(void **state)
{
	struct ipc_message message;
	struct test_peer test;

	(void)state;
	test_peer_open(&test);
	ipc_message_init(&message, IPC_STATS, 1);
	assert_int_equal(peer_send(test.peer, &message), RESULT_OK);
	test_peer_say(&test, test_peer_stats, NULL, 0);
	fd_close(&test.other);
	assert_int_equal(peer_send(test.peer, &message), RESULT_CLOSED);
	assert_int_equal(test.ends, 0); /* not from inside peer_send */
	test_peer_turn(&test);
	assert_int_equal(test.messages, 1);
	assert_int_equal(test.why, RESULT_EOF);
	test_peer_close(&test);
}

static void
test_peer_too_long(void **state)
{
	struct test_peer test;
	char *big = calloc(1, IPC_MESSAGE_MAX + 1);

	(void)state;
	test_peer_open(&test);
	assert_int_equal(
	    fd_send(test.other, big, IPC_MESSAGE_MAX + 1, NULL, 0), RESULT_OK);
	test_peer_turn(&test);
	assert_int_equal(test.why, RESULT_TOO_LONG);
	test_peer_close(&test);
	free(big);
}

/* Send until the queue is full, the other side not reading; ids count. */
static unsigned
test_peer_fill(struct test_peer *test)
{
	struct ipc_message message;
	enum result result = RESULT_OK;
	unsigned id = 0;

	while (result == RESULT_OK && id < 100000) {
		ipc_message_init(&message, IPC_STATS, id + 1);
		result = peer_send(test->peer, &message);
		if (result == RESULT_OK)
			id++;
	}
	assert_int_equal(result, RESULT_TOO_LONG);
	return id;
}

static void
test_peer_overflow(void **state)
{
	struct test_peer test;

	(void)state;
	test_peer_open(&test);
	assert_true(test_peer_fill(&test) >= 512);
	assert_int_equal(test.ends, 0); /* not from inside peer_send */
	test_peer_turn(&test);
	assert_int_equal(test.ends, 1);
	assert_int_equal(test.why, RESULT_TOO_LONG);
	test_peer_close(&test);
}

/* Everything queued arrives, in order, once the other side reads; a queued
 * descriptor is a duplicate, so that the caller may close its own. */
static void
test_peer_queue_order(void **state)
{
	unsigned before = test_peer_open_count(), sent = 0, got = 0;
	struct ipc_message message;
	struct test_peer test;
	char bytes[IPC_MESSAGE_MAX], fault[128];
	int fds[IPC_FDS_MAX];
	size_t len, count;

	(void)state;
	test_peer_open(&test);
	while (sent < 700) { /* more than the socket holds, less than all */
		ipc_message_init(&message, IPC_STATS, sent + 1);
		if (peer_send(test.peer, &message) != RESULT_OK)
			break;
		sent++;
	}
	assert_true(sent >= 512);
	while (got < sent) {
		if (fd_receive(test.other, bytes, sizeof(bytes), &len, fds,
			IPC_FDS_MAX, &count) == RESULT_NEED_MORE) {
			test_peer_turn(&test);
			continue;
		}
		ipc_message_init(&message, IPC_CONFIG, 0);
		assert_int_equal(
		    ipc_decode(bytes, len, 0, IPC_PROXY, IPC_SUPERVISOR,
			IPC_RUNNING, &message, fault, sizeof(fault)),
		    RESULT_OK);
		assert_int_equal(message.id, ++got);
		ipc_message_clear(&message);
	}
	test_peer_close(&test);
	assert_int_equal(test_peer_open_count(), before);
}

/* As the supervisor, whose messages may carry descriptors. */
static void
test_peer_queue_fds(void **state)
{
	static const struct peer_handlers handlers = {
	    test_peer_on_message, test_peer_on_end};
	unsigned before = test_peer_open_count(), sent = 0;
	struct ipc_message message;
	struct test_peer test = {.kept_fd = -1};
	enum result result = RESULT_OK;
	int pair[2], mine = memfd_create("m", MFD_CLOEXEC), own;

	(void)state;
	assert_int_equal(event_loop_new(&test.base), RESULT_OK);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	test.other = pair[0];
	assert_int_equal(peer_new(test.base, pair[1], IPC_SUPERVISOR, IPC_PROXY,
			     &handlers, &test, &test.peer),
	    RESULT_OK);
	peer_set_state(test.peer, IPC_RUNNING);
	while (result == RESULT_OK) {
		ipc_message_init(&message, IPC_LOG_REPLACE, 0);
		message.fds[0] = mine;
		message.fd_count = 1;
		result = peer_send(test.peer, &message);
		sent++;
	}
	assert_int_equal(result, RESULT_TOO_LONG);
	assert_true(sent > 256);
	own = mine;
	fd_close(&mine);
	assert_int_equal(fcntl(own, F_GETFD), -1);
	peer_free(&test.peer); /* closes every duplicate */
	fd_close(&test.other);
	event_base_free(test.base);
	assert_int_equal(test_peer_open_count(), before);
}

static void
test_peer_free_inside(void **state)
{
	struct test_peer test;

	(void)state;
	test_peer_open(&test);
	test.free_in_message = true;
	test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_turn(&test);
	assert_int_equal(test.messages, 1);
	assert_int_equal(test.ends, 0);
	assert_null(test.peer);
	test_peer_close(&test);
	test_peer_open(&test);
	test.free_in_end = true;
	fd_close(&test.other);
	test_peer_turn(&test);
	assert_int_equal(test.ends, 1);
	assert_null(test.peer);
	test_peer_close(&test);
	test_peer_open(&test);
	test.free_in_end = true;
	(void)test_peer_fill(&test);
	test_peer_turn(&test);
	assert_int_equal(test.ends, 1);
	test_peer_close(&test);
}

static void
test_peer_answers_inside(void **state)
{
	struct test_peer test;
	char bytes[128];
	size_t len, count;
	int fds[1];

	(void)state;
	test_peer_open(&test);
	test.echo = true;
	test_peer_say(&test, test_peer_stats, NULL, 0);
	test_peer_turn(&test);
	assert_int_equal(
	    fd_receive(test.other, bytes, sizeof(bytes), &len, fds, 1, &count),
	    RESULT_OK);
	assert_int_equal(len, strlen(test_peer_stats));
	test_peer_close(&test);
}

static void
test_peer_first_ok(void **state)
{
	static const char text[] =
	    "{\"v\":1,\"type\":\"config\",\"id\":0,\"sandbox\":\"ab\","
	    "\"options_fd\":1}";
	unsigned before = test_peer_open_count();
	struct ipc_message message;
	char detail[256];
	int pair[2], fds[2] = {0, -1};

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(
	    fd_sealed_memfd("o", "{\"a\":1}", 7, &fds[1]), RESULT_OK);
	assert_int_equal(
	    fd_send(pair[0], text, strlen(text), fds, 2), RESULT_OK);
	assert_int_equal(peer_receive_first(pair[1], IPC_GATE, IPC_SUPERVISOR,
			     1000, &message, detail, sizeof(detail)),
	    RESULT_OK);
	assert_string_equal(detail, "");
	assert_int_equal(json_integer_value(json_object_get(
			     json_object_get(message.body, "options"), "a")),
	    1);
	assert_null(json_object_get(message.body, "options_fd"));
	assert_true(message.fds[0] >= 0);
	assert_int_equal(message.fds[1], -1);
	ipc_message_clear(&message);
	fd_close(&fds[1]);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	assert_int_equal(test_peer_open_count(), before);
}

/* What the memfd must not be; NULL: not sealed. */
static void
test_peer_first_bad_options(void **state)
{
	static const char text[] =
	    "{\"v\":1,\"type\":\"config\",\"id\":0,\"options_fd\":0}";
	static const char *const contents[] = {
	    NULL, "[]", "{", "{\"a\":1,\"a\":1}", "big"};
	unsigned before = test_peer_open_count();
	char *big = malloc((1 << 20) + 1), detail[256];
	struct ipc_message message;
	int pair[2], fd;
	size_t i, len;

	(void)state;
	memset(big, ' ', (1 << 20) + 1);
	for (i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		const char *content = contents[i];

		len = content == NULL ? 0 : strlen(content);
		if (len == 3) {
			content = big;
			len = (1 << 20) + 1;
		}
		if (content == NULL)
			fd = memfd_create("o", MFD_CLOEXEC);
		else
			assert_int_equal(
			    fd_sealed_memfd("o", content, len, &fd), RESULT_OK);
		assert_int_equal(fd_socketpair(pair), RESULT_OK);
		assert_int_equal(
		    fd_send(pair[0], text, strlen(text), &fd, 1), RESULT_OK);
		assert_int_not_equal(
		    peer_receive_first(pair[1], IPC_GATE, IPC_SUPERVISOR, 1000,
			&message, detail, sizeof(detail)),
		    RESULT_OK);
		assert_true(strlen(detail) > 0);
		assert_null(message.body);
		fd_close(&fd);
		fd_close(&pair[0]);
		fd_close(&pair[1]);
	}
	free(big);
	assert_int_equal(test_peer_open_count(), before);
}

static void
test_peer_first_silence(void **state)
{
	struct ipc_message message;
	uint64_t start = event_loop_now_ms();
	char detail[256];
	int pair[2];

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(peer_receive_first(pair[1], IPC_GATE, IPC_SUPERVISOR,
			     80, &message, detail, sizeof(detail)),
	    RESULT_TIMEOUT);
	assert_in_range(event_loop_now_ms() - start, 60, 3000);
	fd_close(&pair[0]);
	assert_int_equal(peer_receive_first(pair[1], IPC_GATE, IPC_SUPERVISOR,
			     80, &message, detail, sizeof(detail)),
	    RESULT_EOF);
	fd_close(&pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_peer_receives),
	    cmocka_unit_test(test_peer_ends_on_bad),
	    cmocka_unit_test(test_peer_state),
	    cmocka_unit_test(test_peer_eof),
	    cmocka_unit_test(test_peer_last_word),
	    cmocka_unit_test(test_peer_too_long),
	    cmocka_unit_test(test_peer_overflow),
	    cmocka_unit_test(test_peer_queue_order),
	    cmocka_unit_test(test_peer_queue_fds),
	    cmocka_unit_test(test_peer_free_inside),
	    cmocka_unit_test(test_peer_answers_inside),
	    cmocka_unit_test(test_peer_first_ok),
	    cmocka_unit_test(test_peer_first_bad_options),
	    cmocka_unit_test(test_peer_first_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
