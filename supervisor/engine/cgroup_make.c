/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes control groups (see the header). Called by engine_native.c,
 * engine_oci.c and gc;
 * must never limit or kill a group that is not named after a run of ours.
 */
#include "supervisor/engine/cgroup_make.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/run_lock.h"

#define CGROUP_MAKE_TEXT_MAX (1U << 20)
#define CGROUP_MAKE_PERIOD 100000U
#define CGROUP_MAKE_ROUNDS 100U
#define CGROUP_MAKE_PAUSE_NS 2000000L

static const char *const cgroup_make_controllers[] = {"memory", "pids", "cpu"};
#define CGROUP_MAKE_COUNT 3U

static char *
cgroup_make_read(const char *path)
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	if (fd < 0 ||
	    fd_read_all(fd, CGROUP_MAKE_TEXT_MAX, &text, &len) != RESULT_OK)
		return NULL;
	return text;
}

/* A v1 hierarchy as root, at its top. */
static bool
cgroup_make_v1(
    const char *mountinfo, const char *controller, struct cgroup_dir *dir_r)
{
	(void)snprintf(
	    dir_r->controllers, sizeof(dir_r->controllers), "%s", controller);
	return geteuid() == 0 &&
	       cgroup_locate(mountinfo, controller, "", dir_r->path,
		   sizeof(dir_r->path)) &&
	       access(dir_r->path, W_OK) == 0;
}

static bool
cgroup_make_writable(const char *path, const char *file)
{
	char text[CGROUP_PATH_MAX + 32];

	(void)snprintf(text, sizeof(text), "%s/%s", path, file);
	return access(text, W_OK) == 0;
}

/* The limits can be had below path: every controller is there, and handed
 * down, or can be. */
static bool
cgroup_make_hands_down(const char *path)
{
	char text[CGROUP_PATH_MAX + 32], *list;
	bool all = true;

	(void)snprintf(text, sizeof(text), "%s/cgroup.subtree_control", path);
	list = cgroup_make_read(text);
	for (size_t i = 0; i < CGROUP_MAKE_COUNT && all; i++)
		all = list != NULL &&
		      strstr(list, cgroup_make_controllers[i]) != NULL;
	free(list);
	if (!all) {
		int fd FD_CLEANUP = open(text, O_WRONLY | O_CLOEXEC);

		all = fd >= 0 && write(fd, "+memory +pids +cpu", 18) == 18;
	}
	return all;
}

/* v2: from our own group upwards, the highest that is still ours. */
static bool
cgroup_make_v2(const char *mountinfo, struct cgroup_dir *dir_r)
{
	char *own = cgroup_make_read("/proc/self/cgroup");
	char *path = own == NULL ? NULL : strstr(own, "0::/");
	char top[CGROUP_PATH_MAX], at[CGROUP_PATH_MAX];
	bool found = false;

	dir_r->controllers[0] = '\0';
	if (path != NULL) {
		path += 3;
		path[strcspn(path, "\n")] = '\0';
	}
	if (path != NULL &&
	    cgroup_locate(mountinfo, "", "", top, sizeof(top)) &&
	    cgroup_locate(mountinfo, "", path, at, sizeof(at))) {
		while (strlen(at) >= strlen(top) &&
		       cgroup_make_writable(at, "cgroup.procs") &&
		       cgroup_make_writable(at, ".")) {
			char *slash = strrchr(at, '/');

			memcpy(dir_r->path, at, sizeof(dir_r->path));
			found = true;
			if (slash == NULL || strcmp(at, top) == 0)
				break;
			*slash = '\0';
		}
	}
	free(own);
	return found && cgroup_make_hands_down(dir_r->path);
}

enum result
cgroup_make_find(struct cgroup *parents_r)
{
	char *mountinfo = cgroup_make_read("/proc/self/mountinfo");

	memset(parents_r, 0, sizeof(*parents_r));
	for (size_t i = 0; i < CGROUP_MAKE_COUNT && mountinfo != NULL; i++) {
		if (cgroup_make_v1(mountinfo, cgroup_make_controllers[i],
			&parents_r->dirs[parents_r->count]))
			parents_r->count++;
	}
	if (mountinfo != NULL && parents_r->count == 0 &&
	    cgroup_make_v2(mountinfo, &parents_r->dirs[0])) {
		parents_r->count = 1;
		free(mountinfo);
		return RESULT_OK;
	}
	free(mountinfo);
	if (parents_r->count == CGROUP_MAKE_COUNT)
		return RESULT_OK;
	parents_r->count = 0; /* some of the limits are none */
	return RESULT_UNSUPPORTED;
}

void
cgroup_make_name(struct cgroup *groups, const char *run)
{
	(void)snprintf(
	    groups->id, sizeof(groups->id), CGROUP_MAKE_PREFIX "%s", run);
	for (size_t i = 0; i < groups->count; i++) {
		char *path = groups->dirs[i].path;
		size_t len = strlen(path);

		(void)snprintf(path + len, sizeof(groups->dirs[i].path) - len,
		    "/%s", groups->id);
	}
}

/* "cpu,cpuacct" (up to end) has the controller; none is that of v2. */
static bool
cgroup_make_has(const char *list, const char *end, const char *controller)
{
	size_t len = strlen(controller);

	while (list < end && len > 0) {
		size_t word = strcspn(list, ",:");

		if (word == len && strncmp(list, controller, len) == 0)
			return true;
		list += word + 1;
	}
	return len == 0 && list == end;
}

/* One line of /proc/self/cgroup: a v1 hierarchy without a limit of ours. */
static void
cgroup_make_rest_line(
    struct cgroup *groups, const char *mountinfo, const char *line)
{
	struct cgroup_dir *dir = &groups->dirs[groups->count];
	const char *from = strchr(line, ':');
	const char *path = from == NULL ? NULL : strchr(from + 1, ':');
	size_t len = path == NULL ? 0 : (size_t)(path - from - 1), end;

	if (len == 0 || len >= sizeof(dir->controllers) ||
	    groups->count >= CGROUP_DIRS_MAX)
		return;
	for (size_t i = 0; i < CGROUP_MAKE_COUNT; i++) {
		if (cgroup_make_has(from + 1, path, cgroup_make_controllers[i]))
			return;
	}
	memcpy(dir->controllers, from + 1, len);
	dir->controllers[len] = '\0';
	if (!cgroup_locate(
		mountinfo, dir->controllers, "", dir->path, sizeof(dir->path)))
		return;
	len = strlen(dir->path);
	end = strlen(groups->id) + 1;
	if (len + 1 + end > sizeof(dir->path))
		return;
	dir->path[len] = '/';
	memcpy(dir->path + len + 1, groups->id, end);
	groups->count++;
}

void
cgroup_make_rest(struct cgroup *groups)
{
	char *mountinfo, *own, *save = NULL;

	if (groups->count != CGROUP_MAKE_COUNT)
		return; /* v2 has one hierarchy */
	mountinfo = cgroup_make_read("/proc/self/mountinfo");
	own = cgroup_make_read("/proc/self/cgroup");
	if (mountinfo != NULL && own != NULL) {
		for (char *line = strtok_r(own, "\n", &save); line != NULL;
		     line = strtok_r(NULL, "\n", &save))
			cgroup_make_rest_line(groups, mountinfo, line);
	}
	free(mountinfo);
	free(own);
}

static enum result
cgroup_make_write(const char *dir, const char *file, const char *text,
    char *detail_r, size_t size)
{
	char path[CGROUP_PATH_MAX + 64];
	int fd FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		return RESULT_OK;
	(void)snprintf(detail_r, size, "cannot write %s to %s: %s", text, path,
	    strerror(errno));
	return RESULT_SYSTEM;
}

struct cgroup_make_value {
	const char *controller, *v1_file, *v2_file;
	char v1_text[32], v2_text[64];
	bool optional; /* the kernel may not have the file */
};

static void
cgroup_make_values(
    const struct cgroup_limits *limits, struct cgroup_make_value values[4])
{
	unsigned quota = limits->cpu_milli * (CGROUP_MAKE_PERIOD / 1000);

	for (size_t i = 0; i < 2; i++)
		(void)snprintf(values[i].v1_text, sizeof(values[i].v1_text),
		    "%" PRIu64, limits->memory);
	(void)snprintf(values[0].v2_text, sizeof(values[0].v2_text), "%" PRIu64,
	    limits->memory);
	(void)snprintf(values[1].v2_text, sizeof(values[1].v2_text), "0");
	(void)snprintf(
	    values[2].v1_text, sizeof(values[2].v1_text), "%u", limits->pids);
	(void)snprintf(
	    values[2].v2_text, sizeof(values[2].v2_text), "%u", limits->pids);
	(void)snprintf(
	    values[3].v1_text, sizeof(values[3].v1_text), "%u", quota);
	(void)snprintf(values[3].v2_text, sizeof(values[3].v2_text), "%u %u",
	    quota, CGROUP_MAKE_PERIOD);
}

static enum result
cgroup_make_limit(const struct cgroup_dir *dir,
    const struct cgroup_limits *limits, char *detail_r, size_t size)
{
	struct cgroup_make_value values[] = {
	    {"memory", "memory.limit_in_bytes", "memory.max", "", "", false},
	    {"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", "", "",
		true},
	    {"pids", "pids.max", "pids.max", "", "", false},
	    {"cpu", "cpu.cfs_quota_us", "cpu.max", "", "", false}};
	bool v2 = dir->controllers[0] == '\0';
	enum result result = RESULT_OK;

	cgroup_make_values(limits, values);
	for (size_t i = 0; i < 4 && result == RESULT_OK; i++) {
		if (!v2 && strcmp(dir->controllers, values[i].controller) != 0)
			continue;
		result = cgroup_make_write(dir->path,
		    v2 ? values[i].v2_file : values[i].v1_file,
		    v2 ? values[i].v2_text : values[i].v1_text, detail_r, size);
		if (result != RESULT_OK && values[i].optional &&
		    errno == ENOENT)
			result = RESULT_OK;
	}
	return result;
}

enum result
cgroup_make(const struct cgroup *groups, const struct cgroup_limits *limits,
    char *detail_r, size_t detail_size)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < groups->count && result == RESULT_OK; i++) {
		const char *path = groups->dirs[i].path;

		if (mkdir(path, 0755) != 0) {
			(void)snprintf(detail_r, detail_size,
			    "cannot make the control group %s: %s", path,
			    strerror(errno));
			return RESULT_SYSTEM;
		}
		result = cgroup_make_limit(
		    &groups->dirs[i], limits, detail_r, detail_size);
	}
	return result;
}

void
cgroup_make_join(const struct cgroup_dir *dir, char *path_r, size_t size)
{
	(void)snprintf(path_r, size, "%s/%s", dir->path,
	    dir->controllers[0] == '\0' ? "cgroup.procs" : "tasks");
}

/* "4:memory:/name" of the group's own hierarchy, and its name. */
static bool
cgroup_make_is_line(
    const char *line, const struct cgroup_dir *dir, const char *id)
{
	const char *from = strchr(line, ':');
	const char *path = from == NULL ? NULL : strchr(from + 1, ':');
	size_t len = strlen(line), end = strlen(id);

	return path != NULL && end > 0 && len > end &&
	       cgroup_make_has(from + 1, path, dir->controllers) &&
	       line[len - end - 1] == '/' && strcmp(line + len - end, id) == 0;
}

enum result
cgroup_make_check(const struct cgroup *groups, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	char path[64], *text, *line, *save = NULL;
	size_t inside = 0;
	enum result result = cgroup_space(pid, groups_r);

	(void)snprintf(path, sizeof(path), "/proc/%ld/cgroup", (long)pid);
	text = cgroup_make_read(path);
	if (result != RESULT_OK || text == NULL) {
		free(text);
		(void)snprintf(detail_r, detail_size,
		    "cannot read the control groups of the sandbox");
		return RESULT_SYSTEM;
	}
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		for (size_t i = 0; i < groups->count; i++)
			inside += cgroup_make_is_line(
			    line, &groups->dirs[i], groups->id);
	}
	free(text);
	groups_r->count = groups->count;
	memcpy(groups_r->id, groups->id, sizeof(groups_r->id));
	memcpy(groups_r->dirs, groups->dirs, sizeof(groups_r->dirs));
	if (inside == groups->count)
		return RESULT_OK;
	(void)snprintf(detail_r, detail_size,
	    "init is in %zu of the sandbox's %zu control groups", inside,
	    groups->count);
	return RESULT_MISMATCH;
}

/* ---- what was left ---- */

/* Until nothing is in them; true when they are removed. */
static bool
cgroup_make_end(const char *run)
{
	const struct timespec pause = {.tv_nsec = CGROUP_MAKE_PAUSE_NS};
	struct cgroup groups;

	if (cgroup_make_find(&groups) != RESULT_OK)
		return true; /* none could be made */
	cgroup_make_name(&groups, run);
	cgroup_make_rest(&groups);
	for (unsigned i = 0; i < CGROUP_MAKE_ROUNDS; i++) {
		if (cgroup_kill(&groups) == 0 &&
		    cgroup_kill_remove(&groups) == 0)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

/* One that lives is met once in each hierarchy, and told of once. */
static bool
cgroup_make_told(const json_t *report, const char *name)
{
	const json_t *left = json_object_get(report, "left");

	for (size_t i = 0; i < json_array_size(left); i++) {
		const char *told = json_string_value(
		    json_object_get(json_array_get(left, i), "name"));

		if (told != NULL && strcmp(told, name) == 0)
			return true;
	}
	return false;
}

static void
cgroup_make_row(json_t *report, const char *name, bool gone)
{
	json_t *row =
	    json_pack("{s:s, s:s}", "kind", "native sandbox", "name", name);

	if (!gone)
		(void)json_object_set_new(row, "detail",
		    json_string("something in its control groups lives"));
	(void)json_array_append_new(
	    json_object_get(report, gone ? "removed" : "left"), row);
}

bool
cgroup_make_is_ours(const char *name)
{
	return strncmp(name, CGROUP_MAKE_PREFIX, strlen(CGROUP_MAKE_PREFIX)) ==
	       0;
}

/* Removed when nobody is in them: no file of ours tells of them, and who is
 * inside may be a run that keeps its files elsewhere (XDG_RUNTIME_DIR). */
static bool
cgroup_make_drop(const char *run)
{
	struct cgroup groups;

	if (cgroup_make_find(&groups) != RESULT_OK)
		return true; /* none could be made */
	cgroup_make_name(&groups, run);
	cgroup_make_rest(&groups);
	return cgroup_kill_remove(&groups) == 0;
}

/* Of one hierarchy: groups named after a run that nobody holds and no file
 * tells of. What is found goes from all of them. */
static void
cgroup_make_orphans_in(
    const struct engine_files *files, const char *path, json_t *report)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const char *run = entry->d_name + strlen(CGROUP_MAKE_PREFIX);

		if (!cgroup_make_is_ours(entry->d_name) ||
		    strlen(run) != RUN_LOCK_ID_MAX - 1 ||
		    strspn(run, "0123456789abcdef") != strlen(run) ||
		    run_lock_is_alive(files, run) ||
		    cgroup_make_told(report, entry->d_name))
			continue;
		cgroup_make_row(report, entry->d_name, cgroup_make_drop(run));
	}
	if (dir != NULL)
		(void)closedir(dir);
}

static void
cgroup_make_orphans(const struct engine_files *files, json_t *report)
{
	struct cgroup parents;

	if (cgroup_make_find(&parents) != RESULT_OK)
		return;
	cgroup_make_rest(&parents); /* of no name: the tops */
	for (size_t i = 0; i < parents.count; i++)
		cgroup_make_orphans_in(files, parents.dirs[i].path, report);
}

void
cgroup_make_gc(const struct engine_files *files, json_t *report)
{
	struct run_lock_stale stale[RUN_LOCK_STALE_MAX];
	size_t count =
	    run_lock_stale(files, RUN_LOCK_ALL, stale, RUN_LOCK_STALE_MAX);

	for (size_t i = 0; i < count; i++) {
		const char *name = stale[i].facts.name;
		bool gone;

		if (!cgroup_make_is_ours(name))
			continue;
		gone = cgroup_make_end(stale[i].id);
		if (gone)
			run_lock_forget(files, stale[i].id);
		if (report != NULL)
			cgroup_make_row(report, name, gone);
	}
	if (report != NULL)
		cgroup_make_orphans(files, report);
}
