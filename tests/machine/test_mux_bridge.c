/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a mux link joined by two pipes, in one process: what init and
 * the supervisor would say goes in at one end and must come out at the
 * other, with every descriptor a stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_bridge.h"
#include "tests/support/mux_pair.h"

/* ---- records ---- */

static void
test_mux_bridge_records(void **state)
{
	int fds[2] = {-1, -1};

	(void)state;
	mux_pair_say(mux_pair_init, INIT_HELLO, 0, NULL, 0);
	assert_true(mux_pair_hear(mux_pair_supervisor, INIT_HELLO, 0, fds, 0));
	assert_int_equal(
	    fd_sealed_memfd("report", mux_pair_bytes, 100003, &fds[0]),
	    RESULT_OK);
	mux_pair_say(mux_pair_init, INIT_REPORT, 0, fds, 1);
	(void)close(fds[0]);
	assert_true(mux_pair_hear(mux_pair_supervisor, INIT_REPORT, 0, fds, 1));
	mux_pair_same_bytes(fds[0], mux_pair_bytes, 100003);
	assert_int_equal(
	    fd_sealed_memfd("go", mux_pair_bytes, MUX_PAIR_BIG, &fds[0]),
	    RESULT_OK);
	assert_int_equal(
	    fd_sealed_memfd("secret", mux_pair_bytes + 9, 70000, &fds[1]),
	    RESULT_OK);
	mux_pair_say(mux_pair_supervisor, INIT_GO, 0, fds, 2);
	(void)close(fds[0]);
	(void)close(fds[1]);
	assert_true(mux_pair_hear(mux_pair_init, INIT_GO, 0, fds, 2));
	mux_pair_same_bytes(fds[0], mux_pair_bytes, MUX_PAIR_BIG);
	mux_pair_same_bytes(fds[1], mux_pair_bytes + 9, 70000);
	mux_pair_say(mux_pair_supervisor, INIT_KILL, 0, NULL, 0);
	assert_true(mux_pair_hear(mux_pair_init, INIT_KILL, 0, fds, 0));
	assert_false(mux_pair_hear(mux_pair_init, INIT_KILL, 0, fds, 0));
}

/* A status never overtakes the output it ends. */
static void
test_mux_bridge_order(void **state)
{
	size_t written = 0, read_back = 0;
	int fds[2];

	(void)state;
	while (written < MUX_PAIR_BIG) {
		ssize_t put = write(mux_pair_work[1], mux_pair_bytes + written,
		    MUX_PAIR_BIG - written);

		if (put <= 0)
			break;
		written += (size_t)put;
		mux_pair_turn();
	}
	assert_true(written > 65536);
	fd_close(&mux_pair_work[1]);
	fd_close(&mux_pair_work[2]);
	mux_pair_say(mux_pair_init, INIT_STATUS, 7, NULL, 0);
	assert_false(
	    mux_pair_hear(mux_pair_supervisor, INIT_STATUS, 7, fds, 0));
	for (;;) {
		ssize_t got;

		mux_pair_turn();
		got = read(mux_pair_client[1], mux_pair_got + read_back,
		    sizeof(mux_pair_got) - read_back);
		if (got <= 0)
			break;
		read_back += (size_t)got;
	}
	assert_int_equal(read_back, written);
	assert_memory_equal(mux_pair_got, mux_pair_bytes, written);
	assert_true(mux_pair_hear(mux_pair_supervisor, INIT_STATUS, 7, fds, 0));
	/* And what follows is heard, too. */
	mux_pair_say(mux_pair_init, INIT_EXPORTED, 0, NULL, 0);
	assert_true(
	    mux_pair_hear(mux_pair_supervisor, INIT_EXPORTED, 0, fds, 0));
}

/* However long the reader of the output takes: that the host does not listen
 * meanwhile is no silence. */
static void
test_mux_bridge_slow_reader(void **state)
{
	size_t want = 150000, got = 0;
	int fds[2];

	(void)state;
	for (size_t put = 0; put < want;) {
		ssize_t done =
		    write(mux_pair_work[1], mux_pair_bytes + put, want - put);

		assert_true(done > 0);
		put += (size_t)done;
		mux_pair_turn();
	}
	fd_close(&mux_pair_work[1]);
	fd_close(&mux_pair_work[2]);
	mux_pair_say(mux_pair_init, INIT_STATUS, 7, NULL, 0);
	assert_true(mux_pair_host.arriving.held);
	for (unsigned i = 0; i < 3 * MUX_LINK_SILENT_MS / 1000; i++) {
		mux_pair_ahead += 1000;
		mux_pair_turn();
	}
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_RUNNING);
	assert_int_equal(mux_pair_inside.state, MUX_BRIDGE_RUNNING);
	for (int idle = 0; got < want && idle < 100; idle++) {
		ssize_t done =
		    read(mux_pair_client[1], mux_pair_got + got, want - got);

		got += done > 0 ? (size_t)done : 0;
		mux_pair_turn();
	}
	assert_int_equal(got, want);
	assert_true(mux_pair_hear(mux_pair_supervisor, INIT_STATUS, 7, fds, 0));
}

static void
test_mux_bridge_trees(void **state)
{
	int ends[2], fds[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	mux_pair_say(mux_pair_supervisor, INIT_IMPORT, 0, &ends[0], 1);
	(void)close(ends[0]);
	assert_true(mux_pair_hear(mux_pair_init, INIT_IMPORT, 0, fds, 1));
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	mux_pair_pass(ends[1], fds[0], 300000);
	(void)close(ends[1]);
	mux_pair_ended(fds[0]);
	(void)close(fds[0]);
	/* Trees come out when the workload is dead. */
	fd_close(&mux_pair_work[1]);
	fd_close(&mux_pair_work[2]);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	mux_pair_say(mux_pair_supervisor, INIT_EXPORT, 0, &ends[1], 1);
	(void)close(ends[1]);
	assert_true(mux_pair_hear(mux_pair_init, INIT_EXPORT, 0, fds, 1));
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	mux_pair_pass(fds[0], ends[0], 300000);
	(void)close(fds[0]);
	mux_pair_say(mux_pair_init, INIT_EXPORTED, 0, NULL, 0);
	mux_pair_ended(ends[0]);
	assert_true(
	    mux_pair_hear(mux_pair_supervisor, INIT_EXPORTED, 0, fds, 0));
	(void)close(ends[0]);
}

/* ---- streams ---- */

static void
test_mux_bridge_standard(void **state)
{
	(void)state;
	mux_pair_pass(mux_pair_client[0], mux_pair_work[0], 500000);
	mux_pair_pass(mux_pair_work[1], mux_pair_client[1], 500000);
	mux_pair_pass(mux_pair_work[2], mux_pair_client[2], 5);
	fd_close(&mux_pair_client[0]);
	mux_pair_ended(mux_pair_work[0]);
	/* Nobody reads it: the workload is told so. */
	fd_close(&mux_pair_client[1]);
	(void)!write(mux_pair_work[1], "x", 1);
	mux_pair_turn();
	assert_int_equal(write(mux_pair_work[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	/* The third one lives. */
	mux_pair_pass(mux_pair_work[2], mux_pair_client[2], 5);
}

static void
test_mux_bridge_connections(void **state)
{
	struct sockaddr_in name;
	int listener = mux_pair_listener(3, &name), client, served;

	(void)state;
	/* Half-closed by the client first, then by the server. */
	for (int order = 0; order < 2; order++) {
		mux_pair_connect(&name, listener, &client, &served);
		mux_pair_pass(client, served, 1000000);
		mux_pair_pass(served, client, 1000000);
		(void)shutdown(order == 0 ? client : served, SHUT_WR);
		mux_pair_ended(order == 0 ? served : client);
		mux_pair_pass(order == 0 ? served : client,
		    order == 0 ? client : served, 200000);
		(void)shutdown(order == 0 ? served : client, SHUT_WR);
		mux_pair_ended(order == 0 ? client : served);
		(void)close(client);
		(void)close(served);
		mux_pair_turn();
		assert_int_equal(mux_pair_host.link.used, 3); /* the standard */
		assert_int_equal(mux_pair_inside.link.used, 3);
	}
	(void)close(listener);
}

/* The other end was cut off: what it had sent, and a reset behind it. */
static void
test_mux_bridge_cut(int fd, const char *before)
{
	char byte[8];

	mux_pair_turn();
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	if (before[0] != '\0')
		assert_int_equal(read(fd, byte, sizeof(byte)), strlen(before));
	assert_int_equal(read(fd, byte, 1), -1);
	assert_int_equal(errno, ECONNRESET);
}

/* An answer that broke off never looks whole, whichever directions had
 * ended before; one that was whole never looks broken off. */
static void
test_mux_bridge_cut_answer(void **state)
{
	struct sockaddr_in name;
	int listener = mux_pair_listener(0, &name), client, served;

	(void)state;
	for (int half = 0; half < 2; half++) {
		for (int cut = 0; cut < 2; cut++) {
			mux_pair_connect(&name, listener, &client, &served);
			mux_pair_pass(client, served, 10);
			if (half == 1) {
				(void)shutdown(client, SHUT_WR);
				mux_pair_ended(served);
				assert_false(fd_was_reset(served));
			}
			assert_int_equal(write(served, "half", 4), 4);
			if (cut == 1) {
				fd_reset(&served);
				test_mux_bridge_cut(client, "half");
			} else {
				fd_close(&served);
				mux_pair_turn();
				assert_int_equal(
				    read(client, mux_pair_got, 9), 4);
				mux_pair_ended(client);
			}
			(void)close(client);
			mux_pair_turn();
			assert_int_equal(mux_pair_host.link.used, 3);
			assert_int_equal(mux_pair_inside.link.used, 3);
		}
	}
	(void)close(listener);
}

/* Nor does what a client sent, when it is cut off. */
static void
test_mux_bridge_cut_request(void **state)
{
	struct sockaddr_in name;
	int listener = mux_pair_listener(0, &name), client, served;

	(void)state;
	for (int half = 0; half < 2; half++) {
		mux_pair_connect(&name, listener, &client, &served);
		if (half == 1) {
			(void)shutdown(served, SHUT_WR);
			mux_pair_ended(client);
		}
		mux_pair_pass(client, served, 10);
		fd_reset(&client);
		mux_pair_ended(served);
		assert_true(fd_was_reset(served));
		(void)close(served);
		mux_pair_turn();
		assert_int_equal(mux_pair_host.link.used, 3);
		assert_int_equal(mux_pair_inside.link.used, 3);
	}
	(void)close(listener);
}

/* The link ends: nobody takes that for an end of what was under way. */
static void
test_mux_bridge_cut_link(void **state)
{
	struct sockaddr_in name;
	int listener = mux_pair_listener(0, &name), client, served;

	(void)state;
	mux_pair_connect(&name, listener, &client, &served);
	(void)shutdown(client, SHUT_WR);
	mux_pair_ended(served);
	fd_close(&mux_pair_supervisor);
	test_mux_bridge_cut(client, "");
	assert_true(fd_was_reset(served));
	(void)close(client);
	(void)close(served);
	(void)close(listener);
}

static void
test_mux_bridge_reset(void **state)
{
	const struct linger now = {1, 0};
	struct sockaddr_in name;
	int listener = mux_pair_listener(0, &name), client, served;
	char byte;

	(void)state;
	/* The client breaks it. */
	mux_pair_connect(&name, listener, &client, &served);
	(void)setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(client);
	mux_pair_ended(served);
	assert_true(fd_was_reset(served));
	(void)close(served);
	/* The server is gone: what the client sends then breaks it there. */
	mux_pair_connect(&name, listener, &client, &served);
	(void)close(served);
	mux_pair_turn();
	(void)!write(client, mux_pair_bytes, 10);
	mux_pair_turn();
	(void)!write(client, mux_pair_bytes, 10);
	mux_pair_turn();
	assert_true(read(client, &byte, 1) <= 0);
	(void)close(client);
	/* Nobody serves: refused, and the link lives. */
	(void)close(listener);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    connect(client, (struct sockaddr *)&name, sizeof(name)), 0);
	mux_pair_turn();
	(void)fcntl(client, F_SETFL, O_NONBLOCK);
	assert_int_equal(read(client, &byte, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(client);
	mux_pair_turn();
	assert_int_equal(mux_pair_inside.link.used, 3);
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_RUNNING);
}

static void
test_mux_bridge_stall(void **state)
{
	struct sockaddr_in name;
	int listener = mux_pair_listener(1, &name);
	int client[2], served[2];
	size_t stuffed = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		mux_pair_connect(&name, listener, &client[i], &served[i]);
	/* Nobody reads the first. */
	for (int idle = 0; idle < 50; idle++) {
		ssize_t put = write(client[0], mux_pair_bytes, 65536);

		stuffed += put > 0 ? (size_t)put : 0;
		mux_pair_turn();
	}
	assert_true(stuffed > MUX_LINK_WINDOW);
	for (int i = 0; i < 8; i++) {
		mux_pair_pass(client[1], served[1], MUX_PAIR_BIG);
		mux_pair_pass(served[1], client[1], MUX_PAIR_BIG);
	}
	/* The first lost nothing of it. */
	while (stuffed > 0) {
		ssize_t got = read(
		    served[0], mux_pair_got, stuffed < 65536 ? stuffed : 65536);

		assert_true(got > 0);
		stuffed -= (size_t)got;
		mux_pair_turn();
	}
	for (int i = 0; i < 2; i++) {
		(void)close(client[i]);
		(void)close(served[i]);
	}
	(void)close(listener);
}

/* More clients than there are streams: the others wait to be accepted. */
static void
test_mux_bridge_many(void **state)
{
	struct sockaddr_in name;
	int listener = mux_pair_listener(71, &name);
	int client[MUX_LINK_CONNECTIONS + 4], served, last = -1;
	unsigned had = 0;
	size_t len, count;
	char byte;

	(void)state;
	for (unsigned i = 0; i < MUX_LINK_CONNECTIONS + 4; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(
		    connect(client[i], (struct sockaddr *)&name, sizeof(name)),
		    0);
		mux_pair_turn();
	}
	assert_int_equal(mux_pair_inside.link.used, MUX_LINK_CONNECTIONS);
	while (fd_receive(listener, &byte, 1, &len, &served, 1, &count) ==
	       RESULT_OK) {
		had++;
		(void)close(last);
		last = served;
	}
	assert_int_equal(had, MUX_LINK_CONNECTIONS - 3);
	(void)close(last);
	mux_pair_turn();
	for (unsigned i = 0; i < MUX_LINK_CONNECTIONS + 4; i++)
		(void)close(client[i]);
	mux_pair_turn();
	had = 0;
	while (fd_receive(listener, &byte, 1, &len, &served, 1, &count) ==
	       RESULT_OK) {
		had++;
		(void)close(served);
		mux_pair_turn();
	}
	assert_int_equal(had, 7);
	assert_int_equal(mux_pair_host.link.used, 3);
	assert_int_equal(mux_pair_inside.link.used, 3);
	(void)close(listener);
}

/* ---- ends ---- */

static void
test_mux_bridge_garbage(void **state)
{
	int fds[2];

	(void)state;
	assert_true(
	    write(mux_pair_inside.link_out, "GET / HTTP/1.0\r\n", 16) == 16);
	mux_pair_turn();
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_BROKEN);
	assert_string_equal(mux_pair_host.detail, "a frame of an unknown type");
	/* The other end sees the link go, and init its socket. */
	assert_int_equal(mux_pair_inside.state, MUX_BRIDGE_CLOSED);
	(void)fcntl(mux_pair_init, F_SETFL, 0);
	assert_int_equal(fd_receive(mux_pair_init, mux_pair_got, 100,
			     &(size_t){0}, fds, 2, &(size_t){0}),
	    RESULT_EOF);
	mux_pair_ended(mux_pair_work[0]);
}

static void
test_mux_bridge_supervisor_gone(void **state)
{
	(void)state;
	fd_close(&mux_pair_supervisor);
	mux_pair_turn();
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_CLOSED);
	assert_int_equal(mux_pair_inside.state, MUX_BRIDGE_CLOSED);
}

/* What only one of them may say is refused from the other. */
static void
test_mux_bridge_wrong_side(void **state)
{
	(void)state;
	mux_pair_say(mux_pair_init, INIT_BYE, 0, NULL, 0);
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_BROKEN);
	assert_string_equal(mux_pair_host.detail, "a record it must not send");
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, mux_pair_begin, mux_pair_end)
	const struct CMUnitTest tests[] = {
	    TEST(test_mux_bridge_records),
	    TEST(test_mux_bridge_order),
	    TEST(test_mux_bridge_slow_reader),
	    TEST(test_mux_bridge_trees),
	    TEST(test_mux_bridge_standard),
	    TEST(test_mux_bridge_connections),
	    TEST(test_mux_bridge_reset),
	    TEST(test_mux_bridge_cut_answer),
	    TEST(test_mux_bridge_cut_request),
	    TEST(test_mux_bridge_cut_link),
	    TEST(test_mux_bridge_stall),
	    TEST(test_mux_bridge_many),
	    TEST(test_mux_bridge_garbage),
	    TEST(test_mux_bridge_supervisor_gone),
	    TEST(test_mux_bridge_wrong_side),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
