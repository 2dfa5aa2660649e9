/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts in children (see the header). Used by every probe that could
 * change or lose its process.
 */
#include "supervisor/probe/probe_try.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child alone has the other end of the pipe: not every kernel that it
 * runs on has pidfd_open. */
static int
probe_try_wait(pid_t child, int pipe_fd, int *status_r)
{
	struct pollfd end = {.fd = pipe_fd, .events = POLLIN};
	int ready;

	do
		ready = poll(&end, 1, PROBE_TRY_TIMEOUT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready != 1)
		(void)kill(child, SIGKILL);
	while (waitpid(child, status_r, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return ready;
}

static struct probe_try
probe_try_end_of(int ready, int status)
{
	struct probe_try result = {.end = PROBE_TRY_RETURNED};

	if (ready < 0) {
		result.end = PROBE_TRY_FAILED;
		result.value = errno;
	} else if (ready == 0)
		result.end = PROBE_TRY_TIMEOUT;
	else if (WIFSIGNALED(status)) {
		result.end = PROBE_TRY_KILLED;
		result.value = WTERMSIG(status);
	} else
		result.value = WEXITSTATUS(status);
	return result;
}

struct probe_try
probe_try_run(probe_try_attempt *attempt, const void *argument)
{
	struct probe_try result = {.end = PROBE_TRY_FAILED};
	uint64_t *progress = mmap(NULL, sizeof(*progress),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, ready, ends[2];
	pid_t child;

	if (progress == MAP_FAILED) {
		result.value = errno;
		return result;
	}
	if (pipe2(ends, O_CLOEXEC) != 0) {
		result.value = errno;
		munmap(progress, sizeof(*progress));
		return result;
	}
	child = fork();
	if (child == 0)
		_exit(attempt(argument, progress));
	close(ends[1]);
	if (child < 0)
		result.value = errno;
	else {
		ready = probe_try_wait(child, ends[0], &status);
		result = probe_try_end_of(ready, status);
	}
	close(ends[0]);
	result.progress = *progress;
	munmap(progress, sizeof(*progress));
	return result;
}

const char *
probe_try_error(int error)
{
	const char *name = error == 0 ? "success" : strerrorname_np(error);

	return name != NULL ? name : "an unknown error";
}

int
probe_try_file(const char *path, char *text_r, unsigned size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned len = 0;
	ssize_t got = 0;

	text_r[0] = '\0';
	if (fd < 0)
		return -1;
	while (len < size - 1 &&
	       (got = read(fd, text_r + len, size - 1 - len)) > 0)
		len += (unsigned)got;
	text_r[len] = '\0';
	close(fd);
	return got < 0 ? -1 : 0;
}

bool
probe_try_no_root(int error)
{
	char map[256];
	unsigned first = 0, count = 0;

	if (error == EPERM)
		return true;
	return error == EINVAL &&
	       probe_try_file("/proc/self/uid_map", map, sizeof(map)) >= 0 &&
	       sscanf(map, "%u %*u %u", &first, &count) == 2 && first > 0 &&
	       count == 1;
}
