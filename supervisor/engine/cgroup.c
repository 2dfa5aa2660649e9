/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find a container's control groups and read its limits and counters.
 * Called by the sandbox's story and the probe; must never take a group
 * that is not the container's own. Killing is in cgroup_kill.c.
 */
#include "supervisor/engine/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"

#define CGROUP_FILE_MAX (1U << 20)
#define CGROUP_PREFIX "libpod-"

/* One mounted hierarchy. */
struct cgroup_mount {
	char options[256]; /* v1: controllers; v2: "" */
	char root[256], point[256];
};

bool
cgroup_own_path(const char *path, char *own_r, size_t size, char *id_r)
{
	const char *found = strstr(path, "/" CGROUP_PREFIX);
	size_t len = 0, end;

	if (found == NULL)
		return false;
	found += strlen("/" CGROUP_PREFIX);
	while (len < CGROUP_ID_MAX - 1 && isxdigit((unsigned char)found[len]))
		len++;
	if (len != 64)
		return false;
	end = (size_t)(found - path) + len + strcspn(found + len, "/");
	if (end >= size)
		return false;
	memcpy(own_r, path, end);
	own_r[end] = '\0';
	memcpy(id_r, found, len);
	id_r[len] = '\0';
	return true;
}

/* The same for a component "ID", "docker-ID.scope" or any other that ends
 * with this id. */
static bool
cgroup_id_path(const char *path, const char *id, char *own_r, size_t size)
{
	const char *found = strstr(path, id);
	const char *after;
	size_t end;

	if (found == NULL || found == path || strlen(id) != CGROUP_ID_MAX - 1 ||
	    strchr("/-", found[-1]) == NULL)
		return false;
	after = found + strlen(id);
	end = (size_t)(after - path) + strcspn(after, "/");
	if (end >= size || (*after != '\0' && *after != '/' && *after != '.'))
		return false;
	memcpy(own_r, path, end);
	own_r[end] = '\0';
	return true;
}

static enum result
cgroup_read(const char *path, char **text_r)
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	*text_r = NULL;
	if (fd < 0)
		return RESULT_SYSTEM;
	return fd_read_all(fd, CGROUP_FILE_MAX, text_r, &len);
}

/* A line of mountinfo; false when it is no cgroup mount. */
static bool
cgroup_mount_parse(const char *line, struct cgroup_mount *mount_r, bool *v2_r)
{
	const char *dash = strstr(line, " - ");
	char type[32], source[128];

	if (dash == NULL ||
	    sscanf(line, "%*d %*d %*s %255s %255s", mount_r->root,
		mount_r->point) != 2 ||
	    sscanf(dash + 3, "%31s %127s %255s", type, source,
		mount_r->options) != 3)
		return false;
	*v2_r = strcmp(type, "cgroup2") == 0;
	return *v2_r || strcmp(type, "cgroup") == 0;
}

/* True when the comma list has every word of wanted. */
static bool
cgroup_has_words(const char *list, const char *wanted)
{
	char copy[128], *word, *save = NULL;

	(void)snprintf(copy, sizeof(copy), "%s", wanted);
	for (word = strtok_r(copy, ",", &save); word != NULL;
	     word = strtok_r(NULL, ",", &save)) {
		const char *at = list;
		size_t len = strlen(word);

		while ((at = strstr(at, word)) != NULL) {
			bool starts = at == list || at[-1] == ',';
			bool ends = at[len] == '\0' || at[len] == ',';

			if (starts && ends)
				break;
			at += len;
		}
		if (at == NULL)
			return false;
	}
	return true;
}

/* The mounted directory of path in the hierarchy named by controllers. */
bool
cgroup_locate(const char *mountinfo, const char *controllers, const char *path,
    char *dir_r, size_t size)
{
	for (const char *line = mountinfo; line != NULL && *line != '\0';) {
		const char *next = strchr(line, '\n');
		struct cgroup_mount mount;
		const char *rest = path;
		bool v2 = false, fits;
		char text[1024];
		int len = snprintf(text, sizeof(text), "%.*s",
		    next != NULL ? (int)(next - line) : 1023, line);

		line = next != NULL ? next + 1 : NULL;
		if (len <= 0 || !cgroup_mount_parse(text, &mount, &v2))
			continue;
		fits =
		    controllers[0] == '\0'
			? v2
			: !v2 && cgroup_has_words(mount.options, controllers);
		if (!fits)
			continue;
		if (strcmp(mount.root, "/") != 0) {
			if (strncmp(path, mount.root, strlen(mount.root)) != 0)
				continue;
			rest += strlen(mount.root);
		}
		len = snprintf(dir_r, size, "%s%s", mount.point, rest);
		return len > 0 && (size_t)len < size;
	}
	return false;
}

/* One line of /proc/PID/cgroup; lines that are not the container's own
 * group are left out. known: its id, or NULL. */
static void
cgroup_take_line(
    struct cgroup *cgroup, const char *known, char *line, const char *mountinfo)
{
	char *controllers = strchr(line, ':');
	char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
	char own[CGROUP_PATH_MAX], id[CGROUP_ID_MAX] = "";
	struct cgroup_dir *dir = &cgroup->dirs[cgroup->count];
	struct stat info;

	if (path == NULL || cgroup->count >= CGROUP_DIRS_MAX)
		return;
	controllers++;
	*path++ = '\0';
	if (known != NULL)
		memcpy(id, known, sizeof(id));
	if (known != NULL ? !cgroup_id_path(path, known, own, sizeof(own))
			  : !cgroup_own_path(path, own, sizeof(own), id))
		return;
	if (cgroup->id[0] != '\0' && strcmp(cgroup->id, id) != 0)
		return;
	(void)snprintf(
	    dir->controllers, sizeof(dir->controllers), "%s", controllers);
	if (!cgroup_locate(
		mountinfo, controllers, own, dir->path, sizeof(dir->path)) ||
	    stat(dir->path, &info) != 0)
		return;
	memcpy(cgroup->id, id, sizeof(id));
	cgroup->count++;
}

/* A process of our own namespace is in no container: 0. */
static enum result
cgroup_take_namespace(struct cgroup *cgroup, pid_t pid)
{
	struct stat info, own;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/ns/pid", (long)pid);
	if (stat(path, &info) != 0 || stat("/proc/self/ns/pid", &own) != 0)
		return RESULT_SYSTEM;
	if (info.st_ino == own.st_ino && info.st_dev == own.st_dev)
		return RESULT_OK;
	cgroup->pidns_dev = info.st_dev;
	cgroup->pidns_ino = info.st_ino;
	return RESULT_OK;
}

enum result
cgroup_space(pid_t pid, struct cgroup *cgroup_r)
{
	memset(cgroup_r, 0, sizeof(*cgroup_r));
	return cgroup_take_namespace(cgroup_r, pid);
}

static enum result
cgroup_find_any(pid_t pid, const char *known, struct cgroup *cgroup_r,
    char *detail_r, size_t detail_size)
{
	char path[64], *lines = NULL, *mountinfo = NULL, *save = NULL;
	enum result result;

	memset(cgroup_r, 0, sizeof(*cgroup_r));
	(void)snprintf(path, sizeof(path), "/proc/%ld/cgroup", (long)pid);
	result = cgroup_take_namespace(cgroup_r, pid);
	/* Of another user's process it is not shown; it is for containers
	 * without groups, and this one has those with its id, or none. */
	if (result != RESULT_OK && known != NULL && errno == EACCES)
		result = RESULT_OK;
	if (result == RESULT_OK)
		result = cgroup_read(path, &lines);
	if (result == RESULT_OK)
		result = cgroup_read("/proc/self/mountinfo", &mountinfo);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "cannot read the control groups of the container: %m");
	else
		for (char *line = strtok_r(lines, "\n", &save); line != NULL;
		     line = strtok_r(NULL, "\n", &save))
			cgroup_take_line(cgroup_r, known, line, mountinfo);
	free(lines);
	free(mountinfo);
	return result;
}

enum result
cgroup_find(
    pid_t pid, struct cgroup *cgroup_r, char *detail_r, size_t detail_size)
{
	return cgroup_find_any(pid, NULL, cgroup_r, detail_r, detail_size);
}

enum result
cgroup_find_of(pid_t pid, const char *id, struct cgroup *cgroup_r,
    char *detail_r, size_t detail_size)
{
	if (strlen(id) != CGROUP_ID_MAX - 1) {
		(void)snprintf(detail_r, detail_size,
		    "the engine did not write down which container it made");
		memset(cgroup_r, 0, sizeof(*cgroup_r));
		return RESULT_NOT_FOUND;
	}
	return cgroup_find_any(pid, id, cgroup_r, detail_r, detail_size);
}

char *
cgroup_text(const char *dir, const char *file)
{
	char path[CGROUP_PATH_MAX + 320], *text = NULL;
	size_t len;
	int fd FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	errno = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 ||
	    fd_read_all(fd, CGROUP_FILE_MAX, &text, &len) != RESULT_OK)
		return NULL;
	return text;
}

/* Where engines make groups: below the root, by their two managers. */
static const struct {
	const char *before, *after; /* of the id */
} cgroup_places[] = {
    {"libpod_parent/" CGROUP_PREFIX, ""},
    {"machine.slice/" CGROUP_PREFIX, ".scope"},
    {"docker/", ""},
    {"system.slice/docker-", ".scope"},
};

static void
cgroup_take_id(
    struct cgroup *cgroup, const struct cgroup_mount *mount, const char *id)
{
	size_t places = sizeof(cgroup_places) / sizeof(cgroup_places[0]);

	for (size_t i = 0; i < places && cgroup->count < CGROUP_DIRS_MAX; i++) {
		struct cgroup_dir *dir = &cgroup->dirs[cgroup->count];
		struct stat info;

		(void)snprintf(dir->path, sizeof(dir->path), "%.255s/%s%.64s%s",
		    mount->point, cgroup_places[i].before, id,
		    cgroup_places[i].after);
		(void)snprintf(dir->controllers, sizeof(dir->controllers),
		    "%.127s", mount->options);
		if (lstat(dir->path, &info) == 0 && S_ISDIR(info.st_mode))
			cgroup->count++;
	}
}

void
cgroup_find_id(const char *id, struct cgroup *cgroup_r)
{
	char *mountinfo = NULL, *save = NULL;

	memset(cgroup_r, 0, sizeof(*cgroup_r));
	if (strlen(id) != CGROUP_ID_MAX - 1 ||
	    strspn(id, "0123456789abcdef") != CGROUP_ID_MAX - 1 ||
	    cgroup_read("/proc/self/mountinfo", &mountinfo) != RESULT_OK)
		return;
	memcpy(cgroup_r->id, id, CGROUP_ID_MAX);
	for (char *line = strtok_r(mountinfo, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		struct cgroup_mount mount;
		bool v2 = false;

		if (!cgroup_mount_parse(line, &mount, &v2))
			continue;
		if (v2)
			mount.options[0] = '\0';
		cgroup_take_id(cgroup_r, &mount, id);
	}
	free(mountinfo);
}

/* The text of FILE of the group that has controller (any on v2). */
static enum result
cgroup_value(const struct cgroup *cgroup, const char *controller,
    const char *v1_file, const char *v2_file, char *text_r, size_t size)
{
	for (size_t i = 0; i < cgroup->count; i++) {
		const struct cgroup_dir *dir = &cgroup->dirs[i];
		bool v2 = dir->controllers[0] == '\0';
		char path[CGROUP_PATH_MAX + 64], *text;

		if (!v2 && !cgroup_has_words(dir->controllers, controller))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir->path,
		    v2 ? v2_file : v1_file);
		if (cgroup_read(path, &text) != RESULT_OK)
			continue;
		(void)snprintf(text_r, size, "%s", text);
		free(text);
		return RESULT_OK;
	}
	return RESULT_NOT_FOUND;
}

struct cgroup_expect {
	const char *controller, *v1_file, *v2_file;
	char v1_text[64], v2_text[64];
	bool optional; /* the kernel may not have the file */
};

static bool
cgroup_is_unified(const struct cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->count; i++) {
		if (cgroup->dirs[i].controllers[0] != '\0')
			return false;
	}
	return cgroup->count > 0;
}

static enum result
cgroup_compare(const struct cgroup *cgroup, const struct cgroup_expect *expect,
    char *detail_r, size_t size)
{
	bool v2 = cgroup_is_unified(cgroup);
	const char *want = v2 ? expect->v2_text : expect->v1_text;
	const char *file = v2 ? expect->v2_file : expect->v1_file;
	char text[128];

	if (cgroup_value(cgroup, expect->controller, expect->v1_file,
		expect->v2_file, text, sizeof(text)) != RESULT_OK) {
		if (expect->optional)
			return RESULT_OK;
		(void)snprintf(detail_r, size,
		    "the container has no %s: its limit is not in force", file);
		return RESULT_UNSUPPORTED;
	}
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, want) == 0)
		return RESULT_OK;
	(void)snprintf(detail_r, size, "%s of the container is %s, not %s",
	    file, text, want);
	return RESULT_MISMATCH;
}

/* Memory is kept in pages: what was asked for, rounded down. */
static uint64_t
cgroup_round(uint64_t bytes)
{
	return bytes & ~(uint64_t)4095;
}

enum result
cgroup_check_limits(const struct cgroup *cgroup,
    const struct cgroup_limits *limits, char *detail_r, size_t detail_size)
{
	struct cgroup_expect expect[] = {
	    {"memory", "memory.limit_in_bytes", "memory.max", "", "", false},
	    {"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", "",
		"0", true},
	    {"pids", "pids.max", "pids.max", "", "", false},
	    {"cpu", "cpu.cfs_quota_us", "cpu.max", "", "", false}};
	enum result result = RESULT_OK;

	if (cgroup->count == 0) {
		(void)snprintf(detail_r, detail_size,
		    "the container has no control group of its own");
		return RESULT_UNSUPPORTED;
	}
	for (size_t i = 0; i < 2; i++)
		(void)snprintf(expect[i].v1_text, sizeof(expect[i].v1_text),
		    "%" PRIu64, cgroup_round(limits->memory));
	(void)snprintf(expect[0].v2_text, sizeof(expect[0].v2_text), "%" PRIu64,
	    cgroup_round(limits->memory));
	(void)snprintf(
	    expect[2].v1_text, sizeof(expect[2].v1_text), "%u", limits->pids);
	(void)snprintf(
	    expect[2].v2_text, sizeof(expect[2].v2_text), "%u", limits->pids);
	/* Quota in a period of 100 ms. */
	(void)snprintf(expect[3].v1_text, sizeof(expect[3].v1_text), "%u",
	    limits->cpu_milli * 100);
	(void)snprintf(expect[3].v2_text, sizeof(expect[3].v2_text),
	    "%u 100000", limits->cpu_milli * 100);
	for (size_t i = 0; i < 4 && result == RESULT_OK; i++)
		result =
		    cgroup_compare(cgroup, &expect[i], detail_r, detail_size);
	return result;
}

void
cgroup_counters(const struct cgroup *cgroup, uint64_t *peak_r, unsigned *oom_r)
{
	const char *found;
	char text[512];

	*peak_r = 0;
	*oom_r = 0;
	if (cgroup_value(cgroup, "memory", "memory.max_usage_in_bytes",
		"memory.peak", text, sizeof(text)) == RESULT_OK)
		*peak_r = strtoull(text, NULL, 10);
	if (cgroup_value(cgroup, "memory", "memory.oom_control",
		"memory.events", text, sizeof(text)) != RESULT_OK)
		return;
	found = strstr(text, "oom_kill ");
	if (found != NULL)
		*oom_r = (unsigned)strtoul(found + 9, NULL, 10);
}
