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

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, mux_pair_begin, mux_pair_end)
	const struct CMUnitTest tests[] = {
	    TEST(test_mux_splice_stall),
	    TEST(test_mux_splice_break),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
