/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress-proxy/tunnel on real TCP sockets: both ways of moving, held bytes
 * under backpressure, half-close both ways, reset, quota, and that an idle
 * tunnel owns nothing.
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
#include "egress-proxy/tunnel.h"
#include "tests/support/tcp_pair.h"

#define TEST_TUNNEL_ALL (TUNNEL_CAN_READ | TUNNEL_CAN_WRITE)
#define TEST_TUNNEL_MANY (32U << 20)

struct test_tunnel {
	int client[2], upstream[2]; /* [1] is the far end */
	struct tunnel tunnel;
	struct tunnel_shared *shared;
	struct egress_quota quota;
};

static void
test_tunnel_open(struct test_tunnel *test, bool no_splice, size_t pipes)
{
	memset(test, 0, sizeof(*test));
	tcp_pair_make(test->client);
	tcp_pair_make(test->upstream);
	test->shared = calloc(1, sizeof(*test->shared));
	assert_non_null(test->shared);
	splice_pipe_pool_init(&test->shared->pipes, pipes, 1U << 18);
	test->shared->no_splice = no_splice;
	egress_quota_init(&test->quota, 0, 0, 0);
	tunnel_start(&test->tunnel, test->client[0], test->upstream[0]);
}

static void
test_tunnel_close(struct test_tunnel *test)
{
	tunnel_stop(&test->tunnel, test->shared);
	splice_pipe_pool_close(&test->shared->pipes);
	assert_int_equal(test->shared->pipes.open, 0);
	free(test->shared);
	for (int i = 0; i < 2; i++) {
		close(test->client[i]);
		close(test->upstream[i]);
	}
}

/* As if epoll had reported everything on both ends. */
static enum tunnel_status
test_tunnel_turn(struct test_tunnel *test)
{
	tunnel_note(&test->tunnel, 0, TEST_TUNNEL_ALL);
	tunnel_note(&test->tunnel, 1, TEST_TUNNEL_ALL);
	return tunnel_continue(&test->tunnel, test->shared, &test->quota);
}

static enum tunnel_status
test_tunnel_settle(struct test_tunnel *test)
{
	enum tunnel_status status;

	do {
		status = test_tunnel_turn(test);
	} while (status == TUNNEL_AGAIN);
	return status;
}

static void
test_tunnel_expect(int fd, const char *text)
{
	char bytes[64] = "";

	assert_int_equal(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT),
	    (ssize_t)strlen(text));
	assert_string_equal(bytes, text);
}

static void
test_tunnel_small(void **state)
{
	struct test_tunnel test;

	(void)state;
	test_tunnel_open(&test, false, 8);
	assert_int_equal(send(test.client[1], "ping", 4, 0), 4);
	assert_int_equal(test_tunnel_settle(&test), TUNNEL_WAIT);
	test_tunnel_expect(test.upstream[1], "ping");
	assert_int_equal(send(test.upstream[1], "pong!", 5, 0), 5);
	assert_int_equal(test_tunnel_settle(&test), TUNNEL_WAIT);
	test_tunnel_expect(test.client[1], "pong!");
	assert_int_equal(test.tunnel.ends[0].moved, 4);
	assert_int_equal(test.tunnel.ends[1].moved, 5);
	assert_int_equal(test.shared->pipes.open, 0); /* copied */
	test_tunnel_close(&test);
}

/* Bytes collected before come first, in both directions. */
static void
test_tunnel_preloaded(void **state)
{
	struct test_tunnel test;

	(void)state;
	test_tunnel_open(&test, false, 8);
	assert_int_equal(
	    tunnel_preload(&test.tunnel, 0, "hello ", 6), RESULT_OK);
	assert_int_equal(tunnel_preload(&test.tunnel, 1, "220 ", 4), RESULT_OK);
	assert_int_equal(send(test.client[1], "more", 4, 0), 4);
	assert_int_equal(test_tunnel_settle(&test), TUNNEL_WAIT);
	test_tunnel_expect(test.upstream[1], "hello more");
	test_tunnel_expect(test.client[1], "220 ");
	assert_null(test.tunnel.ends[0].held_bytes);
	test_tunnel_close(&test);
}

/* 32 MiB of a pattern through a slow reader, moved this way or that. */
static void
test_tunnel_bulk(bool no_splice, size_t pipes)
{
	struct test_tunnel test;
	static uint8_t out[65536], in[65536];
	size_t sent = 0, got = 0;

	test_tunnel_open(&test, no_splice, pipes);
	while (sent < TEST_TUNNEL_MANY || got < sent) {
		ssize_t count;

		for (size_t i = 0; i < sizeof(out); i++)
			out[i] = (uint8_t)((sent + i) * 2654435761U >> 13);
		count = sent < TEST_TUNNEL_MANY ? send(test.upstream[1], out,
						      sizeof(out), MSG_DONTWAIT)
						: 0;
		sent += count > 0 ? (size_t)count : 0;
		(void)test_tunnel_turn(&test);
		if (got % 3 == 0 && sent < TEST_TUNNEL_MANY && count > 0)
			continue; /* let it fill up first */
		count = recv(test.client[1], in, sizeof(in) / 2, MSG_DONTWAIT);
		for (ssize_t i = 0; i < count; i++)
			if (in[i] !=
			    (uint8_t)((got + (size_t)i) * 2654435761U >> 13))
				fail_msg("byte %zu differs", got + (size_t)i);
		got += count > 0 ? (size_t)count : 0;
	}
	assert_int_equal(got, sent);
	assert_int_equal(test.tunnel.ends[1].moved, got);
	assert_int_equal(test.tunnel.ends[1].held, 0);
	assert_null(test.tunnel.ends[1].pipe);
	test_tunnel_close(&test);
}

static void
test_tunnel_bulk_spliced(void **state)
{
	(void)state;
	test_tunnel_bulk(false, 8);
}

static void
test_tunnel_bulk_copied(void **state)
{
	(void)state;
	test_tunnel_bulk(true, 8);
}

static void
test_tunnel_bulk_without_pipes(void **state)
{
	(void)state;
	test_tunnel_bulk(false, 0);
}

/* What is held while nobody reads is bounded by one pipe or one buffer. */
static void
test_tunnel_backpressure(void **state)
{
	struct test_tunnel test;
	static uint8_t out[65536];
	unsigned stuck = 0;

	(void)state;
	test_tunnel_open(&test, false, 8);
	while (stuck < 100) {
		stuck = send(test.client[1], out, sizeof(out), MSG_DONTWAIT) < 0
			    ? stuck + 1
			    : 0;
		assert_true(test_tunnel_turn(&test) != TUNNEL_BROKEN);
	}
	assert_true(test.tunnel.ends[0].held > 0);
	assert_true(test.tunnel.ends[0].held <= 1U << 20);
	assert_int_equal(test.shared->pipes.open, 1);
	test.tunnel.ends[1].writable = 0;
	assert_true(tunnel_stuck(&test.tunnel, 0));
	assert_false(tunnel_stuck(&test.tunnel, 1));
	assert_false(tunnel_drained(&test.tunnel, 0)); /* more waits there */
	/* The other way is not held up by it. */
	assert_int_equal(send(test.upstream[1], "still", 5, 0), 5);
	(void)test_tunnel_settle(&test);
	test_tunnel_expect(test.client[1], "still");
	assert_true(tunnel_drained(&test.tunnel, 1));
	test_tunnel_close(&test);
}

/* A small rest between large reads does not make a stream copy again; small
 * reads alone do, and no pipe is kept for them. */
static void
test_tunnel_stays_a_stream(void **state)
{
	struct test_tunnel test;
	static uint8_t out[65536], in[65536];

	(void)state;
	test_tunnel_open(&test, false, 8);
	assert_int_equal(
	    send(test.client[1], out, sizeof(out), 0), (ssize_t)sizeof(out));
	(void)test_tunnel_settle(&test);
	assert_int_equal(test.tunnel.ends[0].stream, 7);
	for (unsigned left = 7; left-- > 0;) {
		assert_int_equal(send(test.client[1], out, 100, 0), 100);
		(void)test_tunnel_settle(&test);
		assert_int_equal(test.tunnel.ends[0].stream, left);
		assert_null(test.tunnel.ends[0].pipe);
	}
	while (recv(test.upstream[1], in, sizeof(in), MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(test.tunnel.ends[0].moved, sizeof(out) + 700);
	test_tunnel_close(&test);
}

/* FIN of one side reaches the other, and the way back stays open. */
static void
test_tunnel_half_close(void **state)
{
	struct test_tunnel test;
	char byte;

	(void)state;
	for (int side = 0; side < 2; side++) {
		test_tunnel_open(&test, false, 8);
		int near = side == 0 ? test.client[1] : test.upstream[1];
		int far = side == 0 ? test.upstream[1] : test.client[1];

		assert_int_equal(send(near, "last", 4, 0), 4);
		assert_int_equal(shutdown(near, SHUT_WR), 0);
		(void)test_tunnel_settle(&test);
		assert_int_equal(test_tunnel_settle(&test), TUNNEL_WAIT);
		test_tunnel_expect(far, "last");
		assert_int_equal(recv(far, &byte, 1, MSG_DONTWAIT), 0);
		assert_int_equal(send(far, "answer", 6, 0), 6);
		assert_int_equal(test_tunnel_settle(&test), TUNNEL_WAIT);
		test_tunnel_expect(near, "answer");
		assert_int_equal(shutdown(far, SHUT_WR), 0);
		assert_int_equal(test_tunnel_settle(&test), TUNNEL_DONE);
		test_tunnel_close(&test);
	}
}

/* A FIN that arrives together with data is not lost to a short read. */
static void
test_tunnel_fin_with_data(void **state)
{
	struct test_tunnel test;

	(void)state;
	test_tunnel_open(&test, false, 8);
	assert_int_equal(send(test.client[1], "bye", 3, 0), 3);
	assert_int_equal(shutdown(test.client[1], SHUT_WR), 0);
	tunnel_note(&test.tunnel, 0, TEST_TUNNEL_ALL | TUNNEL_HUNG_UP);
	assert_int_equal(
	    tunnel_continue(&test.tunnel, test.shared, &test.quota),
	    TUNNEL_WAIT);
	assert_int_equal(test.tunnel.ends[1].shut, 1);
	test_tunnel_close(&test);
}

static void
test_tunnel_reset(void **state)
{
	const struct linger now = {1, 0};
	struct test_tunnel test;

	(void)state;
	test_tunnel_open(&test, false, 8);
	assert_int_equal(setsockopt(test.client[1], SOL_SOCKET, SO_LINGER, &now,
			     sizeof(now)),
	    0);
	close(test.client[1]);
	test.client[1] = dup(0);
	assert_int_equal(test_tunnel_settle(&test), TUNNEL_BROKEN);
	assert_int_equal(errno, ECONNRESET);
	test_tunnel_close(&test);
}

/* A client that was passed to us is a unix socket: its reset is one, too,
 * and is told to the upstream as none of its ends. */
static void
test_tunnel_reset_passed(void **state)
{
	static uint8_t out[40000];
	struct test_tunnel test;

	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		for (int stream = 0; stream < 2; stream++) {
			test_tunnel_open(&test, false, 8);
			close(test.client[0]);
			close(test.client[1]);
			assert_int_equal(
			    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
				test.client),
			    0);
			test.tunnel.ends[0].fd = test.client[0];
			if (stream == 1) /* it is spliced then */
				assert_int_equal(
				    send(test.client[1], out, sizeof(out), 0),
				    (ssize_t)sizeof(out));
			(void)test_tunnel_settle(&test);
			if (reset == 1)
				fd_reset(&test.client[1]);
			else
				fd_close(&test.client[1]);
			assert_int_equal(test_tunnel_settle(&test),
			    reset == 1 ? TUNNEL_BROKEN : TUNNEL_WAIT);
			assert_int_equal(test.tunnel.ends[1].shut, reset == 0);
			test.client[1] = dup(0);
			test_tunnel_close(&test);
		}
	}
}

static void
test_tunnel_quota(void **state)
{
	struct test_tunnel test;
	char bytes[100];

	(void)state;
	test_tunnel_open(&test, false, 8);
	egress_quota_init(&test.quota, 10, 0, 1000);
	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(send(test.client[1], bytes, 25, 0), 25);
	assert_int_equal(test_tunnel_turn(&test), TUNNEL_THROTTLED);
	assert_int_equal(test.tunnel.ends[0].moved, 10);
	egress_quota_refill(&test.quota, 2000);
	assert_int_equal(test_tunnel_turn(&test), TUNNEL_THROTTLED);
	assert_int_equal(test.tunnel.ends[0].moved, 20);
	egress_quota_refill(&test.quota, 3000);
	assert_int_equal(test_tunnel_turn(&test), TUNNEL_WAIT);
	assert_int_equal(test.tunnel.ends[0].moved, 25);
	test_tunnel_close(&test);
}

/* One busy tunnel gives the loop back after its turn. */
static void
test_tunnel_takes_turns(void **state)
{
	struct test_tunnel test;
	static uint8_t out[65536];
	int size = 16 << 20;
	enum tunnel_status status = TUNNEL_WAIT;

	(void)state;
	test_tunnel_open(&test, false, 8);
	(void)setsockopt(
	    test.client[1], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	(void)setsockopt(
	    test.client[0], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	(void)setsockopt(
	    test.upstream[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	(void)setsockopt(
	    test.upstream[1], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	while (send(test.client[1], out, sizeof(out), MSG_DONTWAIT) > 0)
		continue;
	for (unsigned i = 0; i < 64 && status != TUNNEL_AGAIN; i++) {
		uint64_t before = test.tunnel.ends[0].moved;

		status = test_tunnel_turn(&test);
		assert_true(test.tunnel.ends[0].moved - before <= TUNNEL_TURN);
	}
	test_tunnel_close(&test);
}

/* After a burst all idle pipes but one go; a lent one stays. */
static void
test_tunnel_pipes_trimmed(void **state)
{
	struct splice_pipe_pool pool;
	struct splice_pipe *pipes[4], *lent;

	(void)state;
	splice_pipe_pool_init(&pool, 8, 1U << 18);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(splice_pipe_take(&pool, &pipes[i]), RESULT_OK);
	for (size_t i = 0; i < 4; i++)
		splice_pipe_give(&pool, &pipes[i], 1);
	assert_int_equal(splice_pipe_take(&pool, &lent), RESULT_OK);
	splice_pipe_trim(&pool);
	assert_int_equal(pool.open, 2);
	assert_int_equal(pool.idle_count, 1);
	splice_pipe_give(&pool, &lent, 1);
	splice_pipe_pool_close(&pool);
	assert_int_equal(pool.open, 0);
}

/* A crowd gets smaller ones, so that there are enough for it. */
static void
test_tunnel_pipes_for_a_crowd(void **state)
{
	struct splice_pipe_pool pool;
	struct splice_pipe *pipes[SPLICE_PIPE_FULL + 1];

	(void)state;
	splice_pipe_pool_init(&pool, SPLICE_PIPE_FULL + 1, 1U << 18);
	for (size_t i = 0; i <= SPLICE_PIPE_FULL; i++) {
		assert_int_equal(splice_pipe_take(&pool, &pipes[i]), RESULT_OK);
		assert_int_equal(pipes[i]->capacity,
		    i < SPLICE_PIPE_FULL ? 1U << 18 : 1U << 16);
	}
	for (size_t i = 0; i <= SPLICE_PIPE_FULL; i++)
		splice_pipe_give(&pool, &pipes[i], 1);
	assert_int_equal(pool.open, SPLICE_PIPE_KEEP);
	splice_pipe_pool_close(&pool);
}

/* More than the kernel grants its user: a smaller pipe, never a tiny one. */
static void
test_tunnel_pipe_granted(void **state)
{
	struct splice_pipe_pool pool;
	struct splice_pipe *pipe = NULL;
	uid_t own = geteuid();

	(void)state;
	assert_int_equal(own == 0 ? seteuid(65534) : 0, 0);
	splice_pipe_pool_init(&pool, 2, 1U << 30);
	assert_int_equal(splice_pipe_take(&pool, &pipe), RESULT_OK);
	assert_int_equal(seteuid(own), 0);
	assert_in_range(pipe->capacity, SPLICE_PIPE_LEAST, 1U << 28);
	splice_pipe_give(&pool, &pipe, 1);
	splice_pipe_pool_close(&pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tunnel_small),
	    cmocka_unit_test(test_tunnel_preloaded),
	    cmocka_unit_test(test_tunnel_bulk_spliced),
	    cmocka_unit_test(test_tunnel_bulk_copied),
	    cmocka_unit_test(test_tunnel_bulk_without_pipes),
	    cmocka_unit_test(test_tunnel_backpressure),
	    cmocka_unit_test(test_tunnel_stays_a_stream),
	    cmocka_unit_test(test_tunnel_half_close),
	    cmocka_unit_test(test_tunnel_fin_with_data),
	    cmocka_unit_test(test_tunnel_reset),
	    cmocka_unit_test(test_tunnel_reset_passed),
	    cmocka_unit_test(test_tunnel_pipes_for_a_crowd),
	    cmocka_unit_test(test_tunnel_pipes_trimmed),
	    cmocka_unit_test(test_tunnel_pipe_granted),
	    cmocka_unit_test(test_tunnel_quota),
	    cmocka_unit_test(test_tunnel_takes_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
