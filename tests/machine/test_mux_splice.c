/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload that goes from pipe to pipe: a workload that does not read, and
 * one that is gone in the middle of a frame.
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
#include "tests/support/mux_pair.h"

/* A workload that does not read holds up nobody, though its bytes wait in
 * pipes and behind them in memory; they come out in order. */
static void
test_mux_splice_stall(void **state)
{
	size_t put = 0, got = 0;

	(void)state;
	for (int idle = 0; idle < 20; idle++) {
		/* Large ones, and small ones that fill pipes by number. */
		size_t most = idle % 4 == 0 ? 1 : 50000;
		ssize_t done = write(mux_pair_client[0], mux_pair_bytes + put,
		    most < MUX_PAIR_BIG - put ? most : MUX_PAIR_BIG - put);

		if (done > 0) {
			put += (size_t)done;
			idle = 0;
		}
		mux_pair_turn();
	}
	assert_true(put > 2 * MUX_LINK_WINDOW);
	mux_pair_pass(mux_pair_work[1], mux_pair_client[1], MUX_PAIR_BIG);
	mux_pair_pass(mux_pair_work[2], mux_pair_client[2], 70000);
	for (int idle = 0; got < put && idle < 1000; idle++) {
		ssize_t done =
		    read(mux_pair_work[0], mux_pair_got + got, put - got);

		if (done > 0) {
			got += (size_t)done;
			idle = 0;
		}
		mux_pair_turn();
	}
	assert_int_equal(got, put);
	assert_memory_equal(mux_pair_got, mux_pair_bytes, put);
	mux_pair_pass(mux_pair_client[0], mux_pair_work[0], MUX_PAIR_BIG);
	fd_close(&mux_pair_client[0]);
	mux_pair_ended(mux_pair_work[0]);
}

/* Frames of a stream whose reader is gone in the middle of them. */
static void
test_mux_splice_break(void **state)
{
	size_t len = 0;

	(void)state;
	mux_pair_pass(mux_pair_client[0], mux_pair_work[0], 300000);
	while (write(mux_pair_client[0], mux_pair_bytes, 65536) > 0 &&
	       len < MUX_PAIR_BIG) {
		len += 65536;
		mux_pair_turn();
	}
	fd_close(&mux_pair_work[0]);
	mux_pair_turn();
	(void)!write(mux_pair_client[0], mux_pair_bytes, 65536);
	mux_pair_turn();
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_RUNNING);
	assert_int_equal(mux_pair_inside.state, MUX_BRIDGE_RUNNING);
	assert_int_equal(mux_pair_host.link.used, 2);
	assert_int_equal(mux_pair_inside.link.used, 2);
	mux_pair_pass(mux_pair_work[1], mux_pair_client[1], MUX_PAIR_BIG);
}

/* Between the two ends somebody who reads so much at a time and writes it
 * on, as the shim of containerd does. */
static int test_mux_splice_relay[2] = {-1, -1};

static void
test_mux_splice_relayed(void)
{
	char block[4096];
	ssize_t got;

	do {
		mux_pair_turn();
		got = read(test_mux_splice_relay[0], block, sizeof(block));
		if (got > 0)
			assert_int_equal(
			    write(test_mux_splice_relay[1], block, got), got);
	} while (got > 0);
}

/* A workload whose pipe is one of packets cannot say where a frame begins,
 * whoever passes the link on. */
static void
test_mux_splice_packets(void **state)
{
	static const int flags[] = {0, O_DIRECT};
	size_t put = 0, got = 0;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	test_mux_splice_relay[0] = mux_pair_host.link_in;
	test_mux_splice_relay[1] = ends[1];
	mux_pair_host.link_in = ends[0];
	mux_bridge_is_passed(&mux_pair_inside);
	for (unsigned i = 0; i < 40; i++) {
		ssize_t done = write(mux_pair_work[1], mux_pair_bytes + put,
		    put < 3 * 16384 ? 16384 : 9000);

		assert_true(done > 0);
		put += (size_t)done;
		assert_int_equal(fcntl(mux_pair_work[1], F_SETFL,
				     O_NONBLOCK | flags[put >= 16384]),
		    0);
		test_mux_splice_relayed();
		done = read(
		    mux_pair_client[1], mux_pair_got + got, MUX_PAIR_BIG - got);
		got += done > 0 ? (size_t)done : 0;
	}
	assert_int_equal(got, put);
	assert_memory_equal(mux_pair_got, mux_pair_bytes, put);
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_RUNNING);
	fd_close(&test_mux_splice_relay[0]);
	fd_close(&test_mux_splice_relay[1]);
}

/* Nor where the gate reads itself what was never copied. */
static void
test_mux_splice_packets_read(void **state)
{
	(void)state;
	mux_pair_pass(mux_pair_work[1], mux_pair_client[1], 70000);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
		    fcntl(mux_pair_work[1], F_SETFL, O_NONBLOCK | O_DIRECT), 0);
		mux_pair_pass(
		    mux_pair_work[1], mux_pair_client[1], MUX_PAIR_BIG);
		assert_int_equal(
		    fcntl(mux_pair_work[1], F_SETFL, O_NONBLOCK), 0);
		mux_pair_pass(mux_pair_work[1], mux_pair_client[1], 99999);
	}
	assert_int_equal(mux_pair_host.state, MUX_BRIDGE_RUNNING);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, mux_pair_begin, mux_pair_end)
	const struct CMUnitTest tests[] = {
	    TEST(test_mux_splice_stall),
	    TEST(test_mux_splice_break),
	    TEST(test_mux_splice_packets),
	    TEST(test_mux_splice_packets_read),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
