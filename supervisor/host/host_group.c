/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and removes a control group by its files (see the header). Called
 * by agentnode-host, which is static and links nothing but libc; it must
 * never touch a group that is not named after a run.
 */
#include "supervisor/host/host_group.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HOST_GROUP_ROOT "/sys/fs/cgroup"
#define HOST_GROUP_NAME "agentnode-host-"
#define HOST_GROUP_PERIOD_US 100000U
#define HOST_GROUP_TEXT 8192U

static const char *const host_group_controllers[HOST_GROUP_DIRS] = {
    "memory", "pids", "cpu"};

static int
host_group_read(const char *path, char *text_r, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno;
	do
		got = read(fd, text_r, size - 1);
	while (got < 0 && errno == EINTR);
	close(fd);
	text_r[got < 0 ? 0 : got] = '\0';
	return got < 0 ? EIO : 0;
}

static int
host_group_write(const char *dir, const char *name, const char *text)
{
	char path[HOST_GROUP_PATH_MAX + 64];
	size_t len = strlen(text);
	int fd, error = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (write(fd, text, len) != (ssize_t)len)
		error = errno != 0 ? errno : EIO;
	close(fd);
	return error;
}

static int
host_group_number(const char *dir, const char *name, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return host_group_write(dir, name, text);
}

/* ---- where ---- */

/* Is word one of the comma-separated? */
static bool
host_group_has(const char *list, size_t len, const char *word)
{
	size_t size = strlen(word), part;

	for (size_t at = 0; at < len; at += part + 1) {
		part = strcspn(list + at, ",:");
		if (part == size && strncmp(list + at, word, size) == 0)
			return true;
	}
	return false;
}

/* One line "N:controllers:/path". */
static int
host_group_line(const char *line, size_t len, bool is_unified, unsigned index,
    const char *id, struct host_group *group)
{
	const char *list = memchr(line, ':', len), *path;
	size_t list_len, path_len;
	int size;

	path = list == NULL
		   ? NULL
		   : memchr(list + 1, ':', len - (size_t)(list + 1 - line));
	if (path == NULL)
		return ENOENT;
	list++;
	list_len = (size_t)(path - list);
	path++;
	path_len = len - (size_t)(path - line);
	if (is_unified ? list_len != 0
		       : !host_group_has(
			     list, list_len, host_group_controllers[index]))
		return ENOENT;
	if (path_len == 0 || path[0] != '/' ||
	    memmem(path, path_len, "/..", 3) != NULL)
		return EINVAL; /* outside of what we see */
	/* v2: no group with processes may have limited groups below. */
	while (is_unified && path_len > 1 && path[path_len - 1] != '/')
		path_len--;
	while (path_len > 0 && path[path_len - 1] == '/')
		path_len--;
	size = snprintf(group->dirs[index], HOST_GROUP_PATH_MAX,
	    HOST_GROUP_ROOT "%s%.*s%.*s/" HOST_GROUP_NAME "%s",
	    is_unified ? "" : "/", (int)list_len, list, (int)path_len, path,
	    id);
	return size < 0 || size >= (int)HOST_GROUP_PATH_MAX ? ENAMETOOLONG : 0;
}

int
host_group_places(const char *text, bool is_unified, const char *id,
    struct host_group *group_r)
{
	unsigned count = is_unified ? 1 : HOST_GROUP_DIRS;

	memset(group_r, 0, sizeof(*group_r));
	group_r->is_unified = is_unified;
	if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16)
		return EINVAL;
	for (unsigned i = 0; i < count; i++) {
		const char *line = text;
		int error = ENOENT;

		while (*line != '\0' && error == ENOENT) {
			size_t len = strcspn(line, "\n");

			error = host_group_line(
			    line, len, is_unified, i, id, group_r);
			line += len + (line[len] == '\n');
		}
		if (error != 0)
			return error;
	}
	group_r->count = count;
	return 0;
}

int
host_group_find(const char *id, struct host_group *group_r)
{
	char text[HOST_GROUP_TEXT];
	struct statfs root;
	int error;

	memset(group_r, 0, sizeof(*group_r));
	if (statfs(HOST_GROUP_ROOT, &root) != 0)
		return errno;
	error = host_group_read("/proc/self/cgroup", text, sizeof(text));
	if (error != 0)
		return error;
	return host_group_places(
	    text, root.f_type == CGROUP2_SUPER_MAGIC, id, group_r);
}

/* ---- limits ---- */

/* A file that need not be there. */
static int
host_group_maybe(const char *dir, const char *name, uint64_t number)
{
	int error = host_group_number(dir, name, number);

	return error == ENOENT ? 0 : error;
}

static int
host_group_limit_unified(
    const char *dir, const struct host_group_limits *limits)
{
	char cpu[48];
	int error = host_group_number(dir, "memory.max", limits->memory);

	(void)snprintf(cpu, sizeof(cpu), "%llu %u",
	    (unsigned long long)limits->cpu_milli * HOST_GROUP_PERIOD_US / 1000,
	    HOST_GROUP_PERIOD_US);
	if (error == 0)
		error = host_group_maybe(dir, "memory.swap.max", 0);
	if (error == 0)
		error = host_group_number(dir, "pids.max", limits->pids);
	if (error == 0)
		error = host_group_write(dir, "cpu.max", cpu);
	return error;
}

static int
host_group_limit_old(
    const struct host_group *group, const struct host_group_limits *limits)
{
	int error = host_group_number(
	    group->dirs[0], "memory.limit_in_bytes", limits->memory);

	if (error == 0)
		error = host_group_maybe(group->dirs[0],
		    "memory.memsw.limit_in_bytes", limits->memory);
	if (error == 0)
		error =
		    host_group_number(group->dirs[1], "pids.max", limits->pids);
	if (error == 0)
		error = host_group_number(
		    group->dirs[2], "cpu.cfs_period_us", HOST_GROUP_PERIOD_US);
	if (error == 0)
		error = host_group_number(group->dirs[2], "cpu.cfs_quota_us",
		    (uint64_t)limits->cpu_milli * HOST_GROUP_PERIOD_US / 1000);
	return error;
}

/* The controllers of a new group are its parent's choice; one who may not
 * change it finds its files missing. */
static void
host_group_enable(const char *dir)
{
	char parent[HOST_GROUP_PATH_MAX];

	(void)snprintf(parent, sizeof(parent), "%s", dir);
	*strrchr(parent, '/') = '\0';
	for (unsigned i = 0; i < HOST_GROUP_DIRS; i++) {
		char word[16];

		(void)snprintf(
		    word, sizeof(word), "+%s", host_group_controllers[i]);
		(void)host_group_write(parent, "cgroup.subtree_control", word);
	}
}

int
host_group_make(
    struct host_group *group, const struct host_group_limits *limits)
{
	unsigned made;
	int error = 0;

	if (group->is_unified)
		host_group_enable(group->dirs[0]);
	for (made = 0; made < group->count && error == 0; made++) {
		if (mkdir(group->dirs[made], 0755) != 0)
			error = errno;
	}
	if (error != 0)
		made--; /* the last was not ours */
	else
		error = group->is_unified
			    ? host_group_limit_unified(group->dirs[0], limits)
			    : host_group_limit_old(group, limits);
	if (error == 0)
		return 0;
	group->count = made;
	host_group_remove(group);
	return error;
}

int
host_group_enter(const struct host_group *group)
{
	int error = 0;

	/* "tasks" of v1 moves this one thread, at once; the other file makes
	 * the kernel wait for every process between fork and exec. */
	for (unsigned i = 0; i < group->count && error == 0; i++)
		error = host_group_write(group->dirs[i],
		    group->is_unified ? "cgroup.procs" : "tasks", "0");
	return error;
}

/* ---- the end ---- */

void
host_group_shut(const struct host_group *group)
{
	if (group->count > 0)
		(void)host_group_number(
		    group->dirs[group->is_unified ? 0 : 1], "pids.max", 0);
}

static uint64_t
host_group_value(const char *dir, const char *name, const char *key)
{
	char path[HOST_GROUP_PATH_MAX + 64], text[1024];
	const char *at = text;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (host_group_read(path, text, sizeof(text)) != 0)
		return 0;
	if (key[0] != '\0')
		at = strstr(text, key);
	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

void
host_group_counters(
    const struct host_group *group, uint64_t *peak_r, uint32_t *oom_r)
{
	const char *dir = group->dirs[0];

	*peak_r = 0;
	*oom_r = 0;
	if (group->count == 0)
		return;
	*peak_r = host_group_value(dir,
	    group->is_unified ? "memory.peak" : "memory.max_usage_in_bytes",
	    "");
	*oom_r = (uint32_t)host_group_value(dir,
	    group->is_unified ? "memory.events" : "memory.oom_control",
	    "oom_kill ");
}

void
host_group_remove(struct host_group *group)
{
	for (unsigned i = 0; i < group->count; i++)
		(void)rmdir(group->dirs[i]);
	group->count = 0;
}
