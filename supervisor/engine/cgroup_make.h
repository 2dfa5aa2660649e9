/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of our own for a sandbox that no engine makes them for:
 * where they may be made, made and limited, init's membership, and what a
 * supervisor that was killed left. Reading and killing are cgroup.h's.
 */
#ifndef SUPERVISOR_ENGINE_CGROUP_MAKE_H
#define SUPERVISOR_ENGINE_CGROUP_MAKE_H

#include <jansson.h>

#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/engine_files.h"

/* Every group's name is this and the run's id. */
#define CGROUP_MAKE_PREFIX "native-"

/* The groups below which ours may be made, one for each of memory, pids and
 * cpu (v1), or one for all (v2, the highest that is ours).
 * RESULT_UNSUPPORTED: there are none. */
enum result cgroup_make_find(struct cgroup *parents_r);

/* Parents become the groups of this run; nothing is made yet. */
void cgroup_make_name(struct cgroup *groups, const char *run);

/* On v1 the groups of the same name in the other hierarchies too, where a
 * runtime makes them: to be emptied and removed, never made. */
void cgroup_make_rest(struct cgroup *groups);

/* Make them and write the limits. What was made stays to be removed. */
enum result cgroup_make(const struct cgroup *groups,
    const struct cgroup_limits *limits, char *detail_r, size_t detail_size);

/* The file of a group in which a process of one thread writes "0" to be
 * inside. On v1 it moves itself alone, for which the kernel need not wait
 * until no process of the machine is between fork and exec. */
void cgroup_make_join(const struct cgroup_dir *dir, char *path_r, size_t size);

/* Is pid in all of them? RESULT_MISMATCH names one it is not in. */
enum result cgroup_make_check(const struct cgroup *groups, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size);

/* The name in a run file of ours, which only cgroup_make_gc forgets. */
bool cgroup_make_is_ours(const char *name);

/* End what dead supervisors left of native sandboxes: everything in their
 * groups is killed, the groups and run files are removed. With a report
 * (rows as in engine_gc.h) groups that no run file tells of are looked for
 * too; it may be NULL. */
void cgroup_make_gc(const struct engine_files *files, json_t *report);

#endif
