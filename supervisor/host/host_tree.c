/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds descendants by /proc/PID/task/TID/children and kills them (see the
 * header). Called by agentnode-host alone; it must never signal a process
 * that is not of the tree: a grandchild is signalled through a descriptor
 * whose parent was looked at after it was opened.
 */
#include "supervisor/host/host_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOST_TREE_DEPTH 64U
#define HOST_TREE_TEXT 4096U

/* At most size - 1 bytes of a file of /proc, NUL-terminated; -1: none. */
static ssize_t
host_tree_file(const char *path, char *text_r, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	do
		got = read(fd, text_r, size - 1);
	while (got < 0 && errno == EINTR);
	close(fd);
	text_r[got < 0 ? 0 : got] = '\0';
	return got;
}

int
host_tree_check(void)
{
	char path[64];

	(void)snprintf(
	    path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return access(path, R_OK) == 0 ? 0 : errno;
}

/* The parent of pid, which stands behind the last ')' of its stat; 0: it is
 * gone. */
static pid_t
host_tree_parent(pid_t pid)
{
	char path[64], text[1024], state;
	const char *end;
	int parent;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (host_tree_file(path, text, sizeof(text)) <= 0)
		return 0;
	end = strrchr(text, ')');
	if (end == NULL || sscanf(end + 1, " %c %d", &state, &parent) != 2)
		return 0;
	return (pid_t)parent;
}

static void
host_tree_signal(pid_t pid, pid_t parent)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd < 0)
		return;
	if (host_tree_parent(pid) == parent)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	close(pidfd);
}

static void host_tree_below(pid_t pid, unsigned depth);

/* The children of one thread. A list that does not fit is met again. */
static void
host_tree_children(pid_t pid, const char *thread, unsigned depth)
{
	char path[64], text[HOST_TREE_TEXT], *at = text, *end;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children",
	    (int)pid, thread);
	got = host_tree_file(path, text, sizeof(text));
	/* The last number may have been cut. */
	if (got == (ssize_t)sizeof(text) - 1)
		*strrchr(text, ' ') = '\0';
	while (got > 0) {
		long child = strtol(at, &end, 10);

		if (end == at || child <= 0)
			break;
		host_tree_below((pid_t)child, depth + 1);
		host_tree_signal((pid_t)child, pid);
		at = end;
	}
}

static void
host_tree_below(pid_t pid, unsigned depth)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	if (depth > HOST_TREE_DEPTH)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			host_tree_children(pid, entry->d_name, depth);
	}
	closedir(dir);
}

static uint64_t
host_tree_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool
host_tree_end(unsigned limit_ms, pid_t *main, int *status_r)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until = host_tree_now_ms() + limit_ms;
	int status;
	pid_t pid;

	for (;;) {
		host_tree_below(getpid(), 0);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != *main)
				continue;
			*status_r = status;
			*main = 0;
		}
		if (pid < 0 && errno == ECHILD)
			return true;
		if (host_tree_now_ms() >= until)
			return false;
		(void)nanosleep(&pause, NULL);
	}
}
