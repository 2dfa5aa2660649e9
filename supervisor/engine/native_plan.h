/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor decides about a native sandbox: the launch record for
 * agentnode-native, made from a view and the plan, and what init must
 * report of it. Used by engine_native.c alone; freed with the plan.
 */
#ifndef SUPERVISOR_ENGINE_NATIVE_PLAN_H
#define SUPERVISOR_ENGINE_NATIVE_PLAN_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/native/native_launch.h"

struct sandbox_plan;       /* supervisor/sandbox_plan.h */
struct sandbox_plan_fault; /* supervisor/sandbox_plan.h */

#define NATIVE_PLAN_POINT_MAX 512U

struct native_plan {
	struct cgroup groups; /* to be made; count 0: none can be had */
	int launch_fd;        /* the sealed record; -1: not made yet */
	enum native_mode mode;
	char workspace[NATIVE_VIEW_PATH_MAX];
	unsigned group_count; /* of the user, which the kernel keeps */
	struct native_launch *launch;
	/* What init must report: once each, and what may be besides. */
	struct wall_table_mount mounts[NATIVE_LAUNCH_STEPS_MAX];
	size_t mount_count;
	struct wall_table_mount allowed[NATIVE_LAUNCH_STEPS_MAX];
	size_t allowed_count;
	char points[2 * NATIVE_LAUNCH_STEPS_MAX][NATIVE_PLAN_POINT_MAX];
	size_t point_count;
};

/* What a launch record says of it; nothing when native is NULL. */
void native_plan_record(const struct native_plan *native, json_t *record);

enum result native_plan_new(struct native_plan **native_r);
/* Closes and frees. Accepts NULL, clears. */
void native_plan_free(struct native_plan **native);

/* The record and the expected mounts out of view and plan; writable places
 * go to the plan's setup. */
enum result native_plan_fill(struct sandbox_plan *plan,
    const struct native_view *view, struct sandbox_plan_fault *fault_r);

/* The expected mounts of a launch record (native_plan_mounts.c). */
enum result native_plan_mounts(struct native_plan *native);

#endif
