/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kill everything in a container: one write where the kernel has
 * cgroup.kill, else every process of every group, found again each round.
 * Called by the sandbox's story until nothing is left; must never signal a
 * process that is not in the container's groups or pid namespace.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/cgroup.h"

/* What was asked for is not there (any more): by errno of the call before.
 * Whatever else went wrong, nothing was seen, and it may be alive. */
static bool
cgroup_kill_is_gone(void)
{
	return errno == ENOENT || errno == ENODEV || errno == ESRCH ||
	       errno == EINVAL;
}

/* The pid may have been used again since it was listed: signal through a
 * pidfd, after asking once more where that process is. */
static bool
cgroup_kill_pid(const struct cgroup *cgroup, long pid)
{
	int fd FD_CLEANUP = pidfd_open((pid_t)pid, 0);
	char dir[64], *groups;
	bool inside;

	if (cgroup->id[0] == '\0')
		return false; /* every group would contain it */
	if (fd < 0)
		return !cgroup_kill_is_gone();
	(void)snprintf(dir, sizeof(dir), "/proc/%ld", pid);
	groups = cgroup_text(dir, "cgroup");
	if (groups == NULL)
		return !cgroup_kill_is_gone();
	inside = strstr(groups, cgroup->id) != NULL;
	free(groups);
	if (inside)
		(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
	return inside;
}

/* v1: every process of one group. */
static size_t
cgroup_kill_procs(const struct cgroup *cgroup, const char *dir)
{
	char *text = cgroup_text(dir, "cgroup.procs"), *save = NULL;
	size_t count = 0;

	if (text == NULL)
		return cgroup_kill_is_gone() ? 0 : 1;
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		if (cgroup_kill_pid(cgroup, strtol(line, NULL, 10)))
			count++;
	}
	free(text);
	return count;
}

/* v2: how many are left after the one write; 0 when it has no such file. */
static bool
cgroup_kill_unified(const char *dir, size_t *count_r)
{
	char path[CGROUP_PATH_MAX + 64], *events;
	int fd FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "%s/cgroup.kill", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		return false;
	events = cgroup_text(dir, "cgroup.events");
	if (events == NULL ? !cgroup_kill_is_gone()
			   : strstr(events, "populated 1") != NULL)
		(*count_r)++;
	free(events);
	return true;
}

/* Our own pid namespace, or one that cannot be told from it, is never a
 * container's. */
static bool
cgroup_kill_is_foreign(const struct cgroup *cgroup)
{
	struct stat own;

	return cgroup->pidns_ino != 0 && stat("/proc/self/ns/pid", &own) == 0 &&
	       (own.st_ino != cgroup->pidns_ino ||
		   own.st_dev != cgroup->pidns_dev);
}

/* Without groups of its own: every process of its pid namespace. */
static size_t
cgroup_kill_namespace(const struct cgroup *cgroup)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = proc == NULL ? 1 : 0; /* not seen is not dead */

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		int fd FD_CLEANUP = -1;
		char path[300];
		struct stat info;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		fd = pidfd_open((pid_t)strtol(entry->d_name, NULL, 10), 0);
		(void)snprintf(
		    path, sizeof(path), "/proc/%s/ns/pid", entry->d_name);
		if (fd < 0 || stat(path, &info) != 0 ||
		    info.st_ino != cgroup->pidns_ino ||
		    info.st_dev != cgroup->pidns_dev)
			continue;
		if (pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0)
			count++;
	}
	if (proc != NULL)
		(void)closedir(proc);
	return count;
}

/* One group with the groups in it; rmdir(2) takes none that has anybody. */
static bool
cgroup_kill_rmdir(const char *path)
{
	struct dirent *entry;
	DIR *dir;

	if (rmdir(path) == 0 || errno == ENOENT)
		return true;
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return rmdir(path) == 0 || errno == ENOENT;
}

size_t
cgroup_kill_remove(const struct cgroup *cgroup)
{
	size_t left = 0;

	for (size_t i = 0; i < cgroup->count; i++) {
		if (!cgroup_kill_rmdir(cgroup->dirs[i].path))
			left++;
	}
	return left;
}

size_t
cgroup_kill(const struct cgroup *cgroup)
{
	size_t count = 0;

	for (size_t i = 0; i < cgroup->count; i++) {
		const struct cgroup_dir *dir = &cgroup->dirs[i];

		if (dir->controllers[0] == '\0' &&
		    cgroup_kill_unified(dir->path, &count))
			continue;
		count += cgroup_kill_procs(cgroup, dir->path);
	}
	if (cgroup->count == 0 && cgroup_kill_is_foreign(cgroup))
		count = cgroup_kill_namespace(cgroup);
	return count;
}
