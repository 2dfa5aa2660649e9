/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init's own bridge (see the header). Called by init.c alone; must never
 * give a descriptor of the link to a child, nor read a byte of what passes.
 */
#include "supervisor/init/init_mux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/init/init_layers.h"
#include "supervisor/mux/mux_bridge.h"

#define INIT_MUX_PARK 64 /* above every number init uses */
#define INIT_MUX_OWN 2U  /* most of init's own descriptors to poll */
#define INIT_MUX_FLUSH_MS 1000U
#define INIT_MUX_PIPE (1 << 20)
#define INIT_MUX_STREAM (256 << 10) /* the workload's, likewise */

static struct mux_bridge init_mux_bridge;
static bool init_mux_on;

static uint64_t
init_mux_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A copy out of the way, and the number itself free for others. */
static int
init_mux_park(int fd)
{
	int parked = fcntl(fd, F_DUPFD_CLOEXEC, INIT_MUX_PARK);

	if (parked >= 0)
		(void)close(fd);
	return parked;
}

/* 0 to 2 lead nowhere: children start with them. */
static int
init_mux_nowhere(void)
{
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		return errno;
	for (int i = 0; i < 3; i++) {
		if (fd != i && dup2(fd, i) < 0)
			return errno;
	}
	if (fd > 2)
		(void)close(fd);
	return 0;
}

/* ends[at] becomes number; the other one is parked for the bridge. */
static int
init_mux_place(int ends[2], unsigned at, int number, int *ours_r)
{
	int theirs = fcntl(ends[at], F_DUPFD_CLOEXEC, INIT_MUX_PARK);

	*ours_r = fcntl(ends[1 - at], F_DUPFD_CLOEXEC, INIT_MUX_PARK);
	(void)close(ends[0]);
	(void)close(ends[1]);
	if (theirs < 0 || *ours_r < 0 || dup3(theirs, number, O_CLOEXEC) < 0)
		return errno;
	(void)close(theirs);
	return 0;
}

/* All that init expects to have been given. */
static int
init_mux_make(int *control_r, int streams_r[3])
{
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return errno;
	error = init_mux_place(ends, 0, INIT_CONTROL_FD, control_r);
	for (int i = 0; i < 3 && error == 0; i++) {
		if (pipe2(ends, O_CLOEXEC) != 0)
			return errno;
		(void)fcntl(ends[0], F_SETPIPE_SZ, INIT_MUX_STREAM);
		error = init_mux_place(
		    ends, i == 0 ? 0 : 1, INIT_STDIN_FD + i, &streams_r[i]);
	}
	return error;
}

int
init_mux_start(bool passed)
{
	int in, out, control = -1, streams[3] = {-1, -1, -1}, error;

	/* Before there is anything to see inside. */
	if (prctl(PR_SET_DUMPABLE, init_layers.dumpable, 0, 0, 0) != 0)
		return errno;
	(void)signal(SIGPIPE, SIG_IGN);
	/* Nothing else was meant for us. */
	if (syscall(SYS_close_range, INIT_CONTROL_FD, INT_MAX, 0) != 0)
		return errno;
	in = init_mux_park(STDIN_FILENO);
	out = init_mux_park(STDOUT_FILENO);
	if (in < 0 || out < 0)
		return errno;
	/* As much as it takes; less is slower only. */
	(void)fcntl(in, F_SETPIPE_SZ, INIT_MUX_PIPE);
	(void)fcntl(out, F_SETPIPE_SZ, INIT_MUX_PIPE);
	error = init_mux_nowhere();
	if (error == 0)
		error = init_mux_make(&control, streams);
	if (error != 0)
		return error;
	if (!mux_bridge_init(&init_mux_bridge, MUX_LINK_INSIDE, in, out,
		control, streams, init_mux_now()))
		return EIO;
	if (passed)
		mux_bridge_is_passed(&init_mux_bridge);
	init_mux_on = true;
	return 0;
}

unsigned
init_mux_lowest(void)
{
	return init_mux_on ? INIT_MUX_PARK : ~0U;
}

/* One poll of both; how many of init's own are ready, -1: errno. */
static int
init_mux_once(struct pollfd *polls, unsigned count, int timeout_ms)
{
	struct pollfd all[MUX_BRIDGE_POLLS + INIT_MUX_OWN];
	int wait, ready = 0;
	unsigned linked =
	    mux_bridge_polls(&init_mux_bridge, all, init_mux_now(), &wait);

	for (unsigned i = 0; i < count; i++)
		all[linked + i] = polls[i];
	if (timeout_ms >= 0 && (wait < 0 || timeout_ms < wait))
		wait = timeout_ms;
	if (poll(all, linked + count, wait) < 0)
		return -1;
	for (unsigned i = 0; i < count; i++) {
		polls[i].revents = all[linked + i].revents;
		ready += polls[i].revents != 0 ? 1 : 0;
	}
	mux_bridge_turn(&init_mux_bridge, all, linked, init_mux_now());
	return ready;
}

int
init_mux_poll(struct pollfd *polls, unsigned count, int timeout_ms)
{
	int ready;

	if (!init_mux_on || count > INIT_MUX_OWN)
		return poll(polls, count, timeout_ms);
	do
		ready = init_mux_once(polls, count, timeout_ms);
	while (ready == 0 && timeout_ms < 0);
	return ready;
}

void
init_mux_flush(void)
{
	uint64_t end = init_mux_now() + INIT_MUX_FLUSH_MS;
	unsigned idle = 0;

	if (!init_mux_on)
		return;
	/* Idle once more: a record may still be in the control socket. */
	while (idle < 2 && init_mux_now() < end) {
		if (init_mux_once(NULL, 0, 1) < 0 && errno != EINTR)
			return;
		idle = mux_bridge_idle(&init_mux_bridge) ? idle + 1 : 0;
	}
}
