/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk through /proc. Called off the hot path, at bad ends; must never
 * signal a process that does not hold exactly what we passed.
 */
#include "supervisor/engine/holder_kill.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/init/init_protocol.h"

#define HOLDER_KILL_WORDS_MAX 65536U
#define HOLDER_KILL_MEMFD "/memfd:agentnode-init"
/* /proc is listed at once, and then looked through: a process that hands
 * what it holds to its child between the two is missed, and the child too.
 * It is handed on a few times only (client, monitor, the monitor's own
 * fork, runtime, init), so looks that find nobody must be more than that. */
#define HOLDER_KILL_LOOKS 7U
#define HOLDER_KILL_ROUNDS 200U

static bool
holder_kill_links(const char *pid, int fd, const char *start)
{
	char path[320], target[128];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%s/fd/%d", pid, fd);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	return strncmp(target, start, strlen(start)) == 0;
}

/* A word of 64 hex digits of its command line: a runtime names the
 * container it makes. */
static void
holder_kill_id(const char *pid, char *id_r)
{
	char path[64], *words = NULL;
	size_t len = 0, at = 0;
	int fd FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 ||
	    fd_read_all(fd, HOLDER_KILL_WORDS_MAX, &words, &len) != RESULT_OK)
		return;
	for (; at < len; at += strlen(words + at) + 1) {
		if (strlen(words + at) == CGROUP_ID_MAX - 1 &&
		    strspn(words + at, "0123456789abcdef") == CGROUP_ID_MAX - 1)
			memcpy(id_r, words + at, CGROUP_ID_MAX);
	}
	free(words);
}

/* The client is in no container: its groups are not wanted. */
static void
holder_kill_where(const char *pid, struct cgroup *cgroup_r)
{
	struct cgroup found;
	char detail[128];

	if (cgroup_r == NULL || cgroup_r->count > 0)
		return;
	if (cgroup_find((pid_t)strtol(pid, NULL, 10), &found, detail,
		sizeof(detail)) == RESULT_OK &&
	    found.id[0] != '\0')
		*cgroup_r = found;
	else if (cgroup_r->id[0] == '\0')
		holder_kill_id(pid, cgroup_r->id);
}

/* Signal through a pidfd taken before the look: the same process. */
static bool
holder_kill_one(
    const char *pid, const char *socket, bool kill, struct cgroup *cgroup_r)
{
	pid_t number = (pid_t)strtol(pid, NULL, 10);
	int fd FD_CLEANUP = pidfd_open(number, 0);
	if (fd < 0 || number == getpid() ||
	    !holder_kill_links(pid, INIT_CONTROL_FD, socket) ||
	    !holder_kill_links(pid, INIT_PROGRAM_FD, HOLDER_KILL_MEMFD))
		return false;
	holder_kill_where(pid, cgroup_r);
	if (kill)
		(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
	return true;
}

static size_t
holder_kill_look(const char *socket, bool kill, struct cgroup *cgroup_r)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = proc == NULL ? 1 : 0; /* not seen is not dead */

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    holder_kill_one(entry->d_name, socket, kill, cgroup_r))
			count++;
	}
	if (proc != NULL)
		(void)closedir(proc);
	return count;
}

size_t
holder_kill(ino_t socket, bool kill, struct cgroup *cgroup_r)
{
	size_t count = 0;
	char text[64];

	(void)snprintf(
	    text, sizeof(text), "socket:[%" PRIuMAX "]", (uintmax_t)socket);
	for (unsigned i = 0; i < HOLDER_KILL_LOOKS && socket != 0 && count == 0;
	     i++)
		count = holder_kill_look(text, kill, cgroup_r);
	return count;
}

void
holder_kill_all(ino_t socket, struct cgroup *cgroup_r)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	unsigned rounds = 0;

	while (holder_kill(socket, true, cgroup_r) > 0 &&
	       ++rounds < HOLDER_KILL_ROUNDS)
		(void)nanosleep(&pause, NULL);
}
