/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init's mountinfo must show of a launch record, and what it may show
 * besides: mounts below a bound tree, and directories held in their place.
 * Called by native_plan.c; the comparison itself is wall_place.c.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/engine/native_plan.h"

/* mountinfo writes four bytes as octal escapes. A point that is cut in the
 * report could not be told from another one: refused. */
static const char *
native_plan_mounts_point(
    struct native_plan *native, const char *path, const char *end)
{
	size_t used = 0;
	char *point;

	if (native->point_count >= 2 * NATIVE_LAUNCH_STEPS_MAX)
		return NULL;
	point = native->points[native->point_count];
	for (const char *at = path; *at != '\0'; at++) {
		bool escape = strchr(" \t\n\\", *at) != NULL;

		if (used + 5 + strlen(end) >= INIT_REPORT_POINT_MAX)
			return NULL;
		if (escape)
			used += (size_t)snprintf(
			    point + used, 5, "\\%03o", (unsigned char)*at);
		else
			point[used++] = *at;
	}
	(void)snprintf(point + used, NATIVE_PLAN_POINT_MAX - used, "%s", end);
	native->point_count++;
	return point;
}

static enum result
native_plan_mounts_add(struct native_plan *native,
    const struct native_step *step, const char *type, uint32_t flags,
    uint64_t size)
{
	const char *point = native_plan_mounts_point(native, step->target, "");

	if (point == NULL)
		return RESULT_TOO_LONG;
	native->mounts[native->mount_count++] =
	    (struct wall_table_mount){point, type, flags, size};
	return RESULT_OK;
}

static enum result
native_plan_mounts_below(
    struct native_plan *native, const struct native_step *step, uint32_t flags)
{
	bool root = step->target[1] == '\0';
	const char *point =
	    native_plan_mounts_point(native, root ? "" : step->target, "/");

	if (point == NULL)
		return RESULT_TOO_LONG;
	native->allowed[native->allowed_count++] =
	    (struct wall_table_mount){point, NULL, flags, 0};
	return RESULT_OK;
}

static enum result
native_plan_mounts_step(
    struct native_plan *native, const struct native_launch_step *one)
{
	const struct native_step *step = &one->step;
	const uint32_t plain = INIT_REPORT_NOSUID | INIT_REPORT_NODEV;
	enum result result;

	switch (step->kind) {
	case NATIVE_STEP_BIND:
	case NATIVE_STEP_BIND_RW: {
		uint32_t flags =
		    plain |
		    (step->kind == NATIVE_STEP_BIND ? INIT_REPORT_RDONLY : 0);

		result = native_plan_mounts_add(native, step, NULL, flags, 0);
		return result == RESULT_OK
			   ? native_plan_mounts_below(native, step, flags)
			   : result;
	}
	case NATIVE_STEP_MASK:
		return native_plan_mounts_add(native, step, "tmpfs",
		    plain | INIT_REPORT_RDONLY | INIT_REPORT_NOEXEC, 0);
	case NATIVE_STEP_TMPFS:
		return native_plan_mounts_add(native, step, "tmpfs",
		    plain | (step->exec ? 0 : INIT_REPORT_NOEXEC) |
			(one->mode == 0755 ? INIT_REPORT_RDONLY : 0),
		    step->size);
	case NATIVE_STEP_DIR:
	case NATIVE_STEP_PROC: /* in wall_place's own table */
	case NATIVE_STEP_DEV:
	case NATIVE_STEP_LINK:
		return RESULT_OK;
	}
	return RESULT_BAD;
}

enum result
native_plan_mounts(struct native_plan *native)
{
	enum result result = RESULT_OK;

	for (uint32_t i = 0;
	     i < native->launch->step_count && result == RESULT_OK; i++)
		result =
		    native_plan_mounts_step(native, &native->launch->steps[i]);
	return result;
}
