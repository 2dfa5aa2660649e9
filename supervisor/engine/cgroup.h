/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of one container, v1 or v2: found from init's own
 * /proc entry, limits read back, everything inside killed, counters read.
 * Used by the sandbox's story, the probe and gc.
 */
#ifndef SUPERVISOR_ENGINE_CGROUP_H
#define SUPERVISOR_ENGINE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"

#define CGROUP_DIRS_MAX 16U
#define CGROUP_PATH_MAX 512U
#define CGROUP_ID_MAX 65U

struct cgroup_dir {
	char controllers[128]; /* "memory", "cpu,cpuacct", "" on v2 */
	char path[CGROUP_PATH_MAX];
};

struct cgroup {
	char id[CGROUP_ID_MAX]; /* the engine's container id */
	struct cgroup_dir dirs[CGROUP_DIRS_MAX];
	size_t count;    /* 0: the container has no group of its own */
	dev_t pidns_dev; /* its pid namespace, for where there is none */
	ino_t pidns_ino; /* 0: ours, so it is in no container */
};

struct cgroup_limits {
	uint64_t memory;
	unsigned pids, cpu_milli;
};

/* Find the groups of the container whose init is pid. Groups that are not
 * the container's own (rootless on v1 shares the caller's) are left out. */
enum result cgroup_find(
    pid_t pid, struct cgroup *cgroup_r, char *detail_r, size_t detail_size);

/* The same, of the container with this id alone: an engine whose groups are
 * known by nothing but that. Groups that are not named after it are left
 * out. */
enum result cgroup_find_of(pid_t pid, const char *id, struct cgroup *cgroup_r,
    char *detail_r, size_t detail_size);

/* The groups of the container with this id where the engine makes them,
 * found without a process to ask; count 0: there are none (any more). */
void cgroup_find_id(const char *id, struct cgroup *cgroup_r);

/* Compare what is in force with what was asked for. RESULT_MISMATCH names
 * file and value; RESULT_UNSUPPORTED: there is no group to limit. */
enum result cgroup_check_limits(const struct cgroup *cgroup,
    const struct cgroup_limits *limits, char *detail_r, size_t detail_size);

/* One round of SIGKILL to everything inside; how many were still there.
 * Called again until it is 0. */
size_t cgroup_kill(const struct cgroup *cgroup);

/* Remove its groups and what is below them, as far as nobody is in them;
 * how many are left. What a runtime that was killed halfway leaves. */
size_t cgroup_kill_remove(const struct cgroup *cgroup);

/* Peak memory in bytes (0 unknown) and number of OOM kills. */
void cgroup_counters(
    const struct cgroup *cgroup, uint64_t *peak_r, unsigned *oom_r);

/* A file of a group or of /proc/PID, NUL-terminated, for the caller to free;
 * NULL: errno says why, and 0 that it is too long. */
char *cgroup_text(const char *dir, const char *file);

/* --- for cgroup_make.c and tests --- */

/* The mounted directory of path in the hierarchy of controllers ("" v2). */
bool cgroup_locate(const char *mountinfo, const char *controllers,
    const char *path, char *dir_r, size_t size);

/* Fills pidns of an emptied cgroup. */
enum result cgroup_space(pid_t pid, struct cgroup *cgroup_r);

/* "0::/a/libpod-<64 hex>.scope/container" -> the path up to and with the
 * libpod component, and the id; false when there is none. */
bool cgroup_own_path(const char *path, char *own_r, size_t size, char *id_r);

#endif
