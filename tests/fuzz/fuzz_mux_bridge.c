/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the link into a bridge with real descriptors behind it, at
 * either end: it goes on or it ends, and then nothing of it is open.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_bridge.h"

#define FUZZ_MUX_BRIDGE_MOST 60000U /* what a pipe takes at once */
#define FUZZ_MUX_BRIDGE_TURNS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mux_bridge fuzz_mux_bridge;

/* Whatever comes out is thrown away. */
static void
fuzz_mux_bridge_drain(int fd)
{
	char bytes[4096];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
}

static void
fuzz_mux_bridge_hear(int control)
{
	char bytes[MUX_FRAME_RECORD_MAX];
	int fds[FD_PASS_MAX];
	size_t len, count;

	while (fd_receive(control, bytes, sizeof(bytes), &len, fds, FD_PASS_MAX,
		   &count) == RESULT_OK) {
		for (size_t i = 0; i < count; i++)
			fd_close(&fds[i]);
	}
}

/* Turns until nothing happens. */
static void
fuzz_mux_bridge_run(struct mux_bridge *bridge, int out, int control)
{
	struct pollfd polls[MUX_BRIDGE_POLLS];
	int timeout, found = 1;

	for (int i = 0; i < FUZZ_MUX_BRIDGE_TURNS && found > 0; i++) {
		unsigned count = mux_bridge_polls(bridge, polls, 0, &timeout);

		found = poll(polls, count, 0);
		mux_bridge_turn(bridge, polls, count, 0);
		fuzz_mux_bridge_drain(out);
		fuzz_mux_bridge_hear(control);
	}
}

static int
fuzz_mux_bridge_count(void)
{
	int count = 0;

	for (int fd = 3; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
	return count;
}

static void
fuzz_mux_bridge_open(
    bool host, bool stalled, int *in_r, int *out_r, int *control_r)
{
	int in[2], out[2], control[2], streams[3], ends[1];

	if (pipe2(in, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    fd_socketpair(control) != RESULT_OK ||
	    fd_set_nonblocking(control[0], true) != RESULT_OK)
		abort();
	for (int i = 0; i < 3; i++) {
		streams[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (streams[i] < 0)
			abort();
	}
	/* One that is never read: what comes for it has to wait. */
	if (stalled) {
		fd_close(&streams[0]);
		fd_close(&streams[1]);
		if (pipe2(streams, O_CLOEXEC) != 0)
			abort();
		ends[0] = streams[0];
		streams[0] = streams[1];
		streams[1] = ends[0];
	}
	if (!mux_bridge_init(&fuzz_mux_bridge,
		host ? MUX_LINK_HOST : MUX_LINK_INSIDE, in[0], out[1],
		control[1], streams, 0))
		abort();
	*in_r = in[1];
	*out_r = out[0];
	*control_r = control[0];
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in, out, control, before;

	if (size < 2)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	before = fuzz_mux_bridge_count();
	fuzz_mux_bridge_open(
	    (data[0] & 1) != 0, (data[0] & 2) != 0, &in, &out, &control);
	size = size > FUZZ_MUX_BRIDGE_MOST ? FUZZ_MUX_BRIDGE_MOST : size;
	if (write(in, data + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	fuzz_mux_bridge_run(&fuzz_mux_bridge, out, control);
	fd_close(&in);
	fuzz_mux_bridge_run(&fuzz_mux_bridge, out, control);
	/* A record may wait for output, and output for its reader. */
	mux_bridge_close(&fuzz_mux_bridge, MUX_BRIDGE_CLOSED, "");
	fd_close(&out);
	fd_close(&control);
	if (fuzz_mux_bridge_count() != before)
		abort();
	return 0;
}
