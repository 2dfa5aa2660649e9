/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of one run on the host, v1 or v2: beside our own (v2)
 * or below it (v1), so that what limits us limits it. Made where we may, and
 * never needed. Used by agentnode-host, and by host_run.c to look after it.
 */
#ifndef SUPERVISOR_HOST_GROUP_H
#define SUPERVISOR_HOST_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_GROUP_DIRS 3U /* memory, pids, cpu */
#define HOST_GROUP_PATH_MAX 512U

struct host_group {
	bool is_unified; /* v2: the first of dirs is all */
	unsigned count;  /* 0: none */
	char dirs[HOST_GROUP_DIRS][HOST_GROUP_PATH_MAX];
};

struct host_group_limits {
	uint64_t memory;
	uint32_t pids, cpu_milli;
};

/* Where the group of this run is, or would be. 0 or errno. */
int host_group_find(const char *id, struct host_group *group_r);
/* Make it, all limits in force, or nothing of it. 0 or errno. */
int host_group_make(
    struct host_group *group, const struct host_group_limits *limits);
/* The calling process goes into it. 0 or errno. */
int host_group_enter(const struct host_group *group);
/* No process can be added any more: a tree that grows can be ended. */
void host_group_shut(const struct host_group *group);
/* Peak memory in bytes (0: unknown), number of OOM kills. */
void host_group_counters(
    const struct host_group *group, uint64_t *peak_r, uint32_t *oom_r);
/* Nobody is in it: remove it. */
void host_group_remove(struct host_group *group);

/* --- for tests --- */

/* From the text of /proc/self/cgroup to the folders. Pure. */
int host_group_places(const char *text, bool is_unified, const char *id,
    struct host_group *group_r);

#endif
