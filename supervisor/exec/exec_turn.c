/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of starting commands; see exec_turn.h. Called by exec_run before
 * its loop; must never be a reason not to run.
 */
#include "supervisor/exec/exec_turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/policy/state_dir.h"

#define EXEC_TURN_PAUSE_NS 10000000L

static int
exec_turn_open(const struct state_dir *dir, unsigned number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "turn.%u", number);
	return openat(
	    dir->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* The first that is free; -1: none is. busy_r: somebody has one, so that it is
 * worth to wait; a limit of open files is not. */
static int
exec_turn_try(const struct state_dir *dir, unsigned first, bool *busy_r)
{
	*busy_r = false;
	for (unsigned i = 0; i < EXEC_TURN_COUNT; i++) {
		int fd = exec_turn_open(dir, (first + i) % EXEC_TURN_COUNT);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		*busy_r |= fd >= 0 && errno == EWOULDBLOCK;
		fd_close(&fd);
	}
	return -1;
}

static int
exec_turn_wait(
    const struct state_dir *dir, exec_turn_wanted *wanted, void *context)
{
	const struct timespec pause = {0, EXEC_TURN_PAUSE_NS};
	uint64_t until = event_loop_now_ms() + EXEC_TURN_WAIT_MS;
	bool busy;
	int fd = exec_turn_try(dir, (unsigned)getpid(), &busy);

	while (
	    fd < 0 && busy && event_loop_now_ms() < until && wanted(context)) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		fd = exec_turn_try(dir, (unsigned)getpid(), &busy);
	}
	return fd;
}

int
exec_turn_take(exec_turn_wanted *wanted, void *context)
{
	struct state_dir home = {.fd = -1}, dir = {.fd = -1};
	struct json_fault fault = {""};
	int fd = -1;

	if (state_dir_home(true, &home, &fault) == RESULT_OK &&
	    state_dir_sub(&home, "exec", &dir, &fault) == RESULT_OK)
		fd = exec_turn_wait(&dir, wanted, context);
	state_dir_close(&dir);
	state_dir_close(&home);
	return fd;
}
