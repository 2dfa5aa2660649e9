/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See the header. Both bridges turn until neither has anything to do, so
 * that a test says what goes in and looks at what came out.
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

#define MUX_PAIR_TURNS 20000

struct mux_bridge mux_pair_host, mux_pair_inside;
/* The supervisor's end, init's end, and the workload's streams: here, and
 * on the host. */
int mux_pair_supervisor, mux_pair_init, mux_pair_work[3], mux_pair_client[3];
uint8_t mux_pair_bytes[MUX_PAIR_BIG], mux_pair_got[MUX_PAIR_BIG];
uint64_t mux_pair_ahead;

static uint64_t
mux_pair_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return mux_pair_ahead + (uint64_t)now.tv_sec * 1000 +
	       (uint64_t)now.tv_nsec / 1000000;
}

static bool
mux_pair_turn_one(struct mux_bridge *bridge)
{
	struct pollfd polls[MUX_BRIDGE_POLLS];
	int timeout;
	unsigned count =
	    mux_bridge_polls(bridge, polls, mux_pair_now(), &timeout);
	int found = poll(polls, count, 0);

	assert_true(found >= 0);
	if (found == 0 && timeout != 0)
		return false;
	mux_bridge_turn(bridge, polls, count, mux_pair_now());
	return true;
}

/* Until neither has anything to do. */
void
mux_pair_turn(void)
{
	for (int i = 0; i < MUX_PAIR_TURNS; i++) {
		bool host = mux_pair_turn_one(&mux_pair_host);
		bool inside = mux_pair_turn_one(&mux_pair_inside);

		if (!host && !inside)
			return;
	}
	fail_msg("the two ends never come to rest");
}

int
mux_pair_begin(void **state)
{
	int up[2], down[2], control[2], init[2], in[3][2], out[3][2];
	int inside[3], host[3];

	(void)state;
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(fd_socketpair(control), RESULT_OK);
	assert_int_equal(fd_socketpair(init), RESULT_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pipe2(in[i], O_CLOEXEC), 0);
		assert_int_equal(pipe2(out[i], O_CLOEXEC), 0);
		/* The workload's stdin is read there, the others written. */
		inside[i] = in[i][i == 0 ? 1 : 0];
		mux_pair_work[i] = in[i][i == 0 ? 0 : 1];
		host[i] = out[i][i == 0 ? 0 : 1];
		mux_pair_client[i] = out[i][i == 0 ? 1 : 0];
		(void)fcntl(mux_pair_work[i], F_SETFL, O_NONBLOCK);
		(void)fcntl(mux_pair_client[i], F_SETFL, O_NONBLOCK);
	}
	mux_pair_supervisor = control[0];
	mux_pair_init = init[0];
	(void)fcntl(mux_pair_supervisor, F_SETFL, O_NONBLOCK);
	(void)fcntl(mux_pair_init, F_SETFL, O_NONBLOCK);
	assert_true(mux_bridge_init(&mux_pair_host, MUX_LINK_HOST, down[0],
	    up[1], control[1], host, mux_pair_now()));
	assert_true(mux_bridge_init(&mux_pair_inside, MUX_LINK_INSIDE, up[0],
	    down[1], init[1], inside, mux_pair_now()));
	for (size_t i = 0; i < sizeof(mux_pair_bytes); i++)
		mux_pair_bytes[i] = (uint8_t)(i * 7 + i / 251);
	mux_pair_turn();
	return 0;
}

int
mux_pair_end(void **state)
{
	(void)state;
	mux_bridge_close(&mux_pair_host, MUX_BRIDGE_CLOSED, "");
	mux_bridge_close(&mux_pair_inside, MUX_BRIDGE_CLOSED, "");
	fd_close(&mux_pair_supervisor);
	fd_close(&mux_pair_init);
	for (int i = 0; i < 3; i++) {
		fd_close(&mux_pair_work[i]);
		fd_close(&mux_pair_client[i]);
	}
	return 0;
}

void
mux_pair_say(int socket, enum init_type type, uint32_t value, const int *fds,
    size_t count)
{
	const struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type,
	    .value = value};

	assert_int_equal(
	    fd_send(socket, &record, sizeof(record), fds, count), RESULT_OK);
	mux_pair_turn();
}

/* The next record at socket; false: there is none. */
bool
mux_pair_hear(
    int socket, enum init_type type, uint32_t value, int *fds_r, size_t count)
{
	union {
		struct init_record record;
		char bytes[MUX_FRAME_RECORD_MAX];
	} got;
	size_t len, fds;
	enum result result =
	    fd_receive(socket, &got, sizeof(got), &len, fds_r, 2, &fds);

	if (result == RESULT_NEED_MORE)
		return false;
	assert_int_equal(result, RESULT_OK);
	assert_int_equal(got.record.type, type);
	assert_int_equal(got.record.value, value);
	assert_int_equal(fds, count);
	return true;
}

void
mux_pair_same_bytes(int fd, const uint8_t *bytes, size_t len)
{
	assert_true(fd_is_sealed(fd));
	assert_int_equal(pread(fd, mux_pair_got, sizeof(mux_pair_got), 0), len);
	assert_memory_equal(mux_pair_got, bytes, len);
	(void)close(fd);
}

/* A listener inside; what the supervisor gets for it, and its port. */
int
mux_pair_listener(uint32_t index, struct sockaddr_in *name_r)
{
	socklen_t len = sizeof(*name_r);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[2], type;

	*name_r = (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	assert_int_equal(bind(fd, (struct sockaddr *)name_r, len), 0);
	assert_int_equal(listen(fd, 300), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)name_r, &len), 0);
	mux_pair_say(mux_pair_init, INIT_LISTENER, index, &fd, 1);
	(void)close(fd);
	assert_true(
	    mux_pair_hear(mux_pair_supervisor, INIT_LISTENER, index, fds, 1));
	len = sizeof(type);
	assert_int_equal(
	    getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &type, &len), 0);
	assert_int_equal(type, SOCK_SEQPACKET);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	return fds[0];
}

/* A client inside, and what serves it on the host. */
void
mux_pair_connect(
    const struct sockaddr_in *name, int listener, int *client_r, int *served_r)
{
	size_t len, count;
	char byte;

	*client_r = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    connect(*client_r, (const struct sockaddr *)name, sizeof(*name)),
	    0);
	(void)fcntl(*client_r, F_SETFL, O_NONBLOCK);
	mux_pair_turn();
	assert_int_equal(
	    fd_receive(listener, &byte, 1, &len, served_r, 1, &count),
	    RESULT_OK);
	assert_int_equal(count, 1);
}

/* len bytes into one descriptor and, the same, out of the other. */
void
mux_pair_pass(int from, int to, size_t len)
{
	size_t in = 0, out = 0;

	for (int idle = 0; out < len && idle < 2000; idle++) {
		ssize_t put =
		    in < len ? write(from, mux_pair_bytes + in, len - in) : 0;
		ssize_t got;

		in += put > 0 ? (size_t)put : 0;
		mux_pair_turn();
		got = read(to, mux_pair_got + out, len - out);
		out += got > 0 ? (size_t)got : 0;
		if (put > 0 || got > 0)
			idle = 0;
		else if (idle > 900)
			(void)usleep(1000); /* TCP has timers of its own */
	}
	assert_int_equal(out, len);
	assert_memory_equal(mux_pair_got, mux_pair_bytes, len);
}

void
mux_pair_ended(int fd)
{
	char byte;

	mux_pair_turn();
	assert_int_equal(read(fd, &byte, 1), 0);
}
