/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From view and plan to the launch record (see the header). Called once per
 * start by engine_native.c; opens nothing of the host, makes nothing, and
 * must never let a step through that it does not understand.
 */
#include "supervisor/engine/native_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/cgroup_make.h"
#include "supervisor/sandbox_plan.h"

#define NATIVE_PLAN_HOSTNAME "sandbox"

enum result
native_plan_new(struct native_plan **native_r)
{
	struct native_plan *native = calloc(1, sizeof(*native));

	*native_r = native;
	if (native == NULL)
		return RESULT_NO_MEMORY;
	native->launch_fd = -1;
	return RESULT_OK;
}

void
native_plan_free(struct native_plan **native)
{
	struct native_plan *gone = *native;

	if (gone == NULL)
		return;
	*native = NULL;
	fd_close(&gone->launch_fd);
	free(gone->launch);
	free(gone);
}

void
native_plan_record(const struct native_plan *native, json_t *record)
{
	static const char *const modes[] = {
	    "read-only", "workspace-write", "danger-full-access"};

	if (native == NULL)
		return;
	(void)json_object_set_new(record, "boundary", json_string("native"));
	(void)json_object_set_new(
	    record, "mode", json_string(modes[native->mode]));
	if (native->workspace[0] != '\0')
		(void)json_object_set_new(
		    record, "workspace", json_string(native->workspace));
}

static bool
native_plan_is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (len == 1)
		return true; /* "/" */
	return strncmp(path, above, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

/* The step whose source's owner owns what this one shows: the outermost
 * writable tree, or the workspace, that it is in; -1: a part of the system.
 * The outermost, so that nobody else's directory in it becomes ours; "/" is
 * outermost for what no other is. */
static int32_t
native_plan_owner(const struct native_view *view, size_t index)
{
	const struct native_step *step = &view->steps[index];
	int32_t owner = -1;
	size_t best = 0;

	if (step->kind != NATIVE_STEP_BIND && step->kind != NATIVE_STEP_BIND_RW)
		return -1;
	for (size_t i = 0; i <= index; i++) {
		const struct native_step *other = &view->steps[i];
		size_t len = strlen(other->target);
		bool tree = other->kind == NATIVE_STEP_BIND_RW ||
			    (other->kind == NATIVE_STEP_BIND &&
				strcmp(other->target, view->workspace) == 0);

		if (!tree || !native_plan_is_below(step->target, other->target))
			continue;
		if (owner < 0 || best == 1 || (len > 1 && len < best)) {
			owner = (int32_t)i;
			best = len;
		}
	}
	return owner;
}

static bool
native_plan_has_tmpfs(const struct native_view *view, const char *target)
{
	for (size_t i = 0; i < view->count; i++) {
		if (view->steps[i].kind == NATIVE_STEP_TMPFS &&
		    strcmp(view->steps[i].target, target) == 0)
			return true;
	}
	return false;
}

static uint32_t
native_plan_mode(const struct native_step *step)
{
	if (!step->owned)
		return 0755; /* and read-only in the end */
	return strcmp(step->target, "/tmp") == 0 ? 01777 : 0700;
}

/* With all of the host's file system there is no place for more. */
static bool
native_plan_leaves_out(
    const struct native_view *view, const struct run_argv_tmpfs *tmpfs)
{
	return native_plan_has_tmpfs(view, tmpfs->target) ||
	       view->mode == NATIVE_DANGER;
}

static void
native_plan_steps(struct native_launch *launch, struct sandbox_plan *plan,
    const struct native_view *view)
{
	const struct run_argv_input *input = &plan->input;
	uint32_t count = 0;

	for (size_t i = 0; i < view->count; i++) {
		struct native_launch_step *one = &launch->steps[count++];

		one->step = view->steps[i];
		one->owner = native_plan_owner(view, i);
		if (one->step.kind == NATIVE_STEP_TMPFS)
			one->mode = native_plan_mode(&one->step);
	}
	for (size_t i = 0; i < input->tmpfs_count; i++) {
		const struct run_argv_tmpfs *tmpfs = &input->tmpfs[i];
		struct native_launch_step *one = &launch->steps[count];

		if (native_plan_leaves_out(view, tmpfs))
			continue;
		one->step.kind = NATIVE_STEP_TMPFS;
		(void)snprintf(one->step.target, sizeof(one->step.target), "%s",
		    tmpfs->target);
		one->step.size = tmpfs->size;
		one->step.exec = tmpfs->exec;
		one->owner = -1;
		one->mode = tmpfs->mode;
		count++;
	}
	launch->step_count = count;
}

static enum result
native_plan_hosts(
    struct native_launch *launch, const struct run_argv_input *input)
{
	int len = snprintf(launch->hosts, sizeof(launch->hosts),
	    "127.0.0.1 localhost " NATIVE_PLAN_HOSTNAME "\n::1 localhost\n");
	size_t used = (size_t)len;

	for (size_t i = 0; i < input->host_count; i++) {
		len = snprintf(launch->hosts + used,
		    sizeof(launch->hosts) - used, "%s %s\n",
		    input->hosts[i].address, input->hosts[i].name);
		if (len < 0 || (size_t)len >= sizeof(launch->hosts) - used)
			return RESULT_TOO_LONG;
		used += (size_t)len;
	}
	launch->hosts_len = (uint32_t)used;
	return RESULT_OK;
}

static void
native_plan_limit(
    struct native_launch *launch, unsigned resource, uint64_t value)
{
	struct native_launch_limit *one =
	    &launch->limits[launch->limit_count++];

	one->resource = resource;
	one->value = value;
}

/* Always; without control groups also a bound on each process's memory. */
static void
native_plan_limits(
    struct native_launch *launch, const struct sandbox_plan *plan)
{
	native_plan_limit(launch, RLIMIT_CORE, 0);
	native_plan_limit(launch, RLIMIT_NOFILE, plan->input.files);
	native_plan_limit(launch, RLIMIT_NPROC, plan->limits.pids);
	native_plan_limit(launch, RLIMIT_MSGQUEUE, 0);
	native_plan_limit(launch, RLIMIT_RTPRIO, 0);
	if (plan->no_limits)
		native_plan_limit(launch, RLIMIT_DATA, plan->limits.memory);
}

static enum result
native_plan_header(
    struct native_launch *launch, const struct sandbox_plan *plan)
{
	const struct native_plan *native = plan->native;
	const char *home = "/sandbox-home";

	launch->magic = NATIVE_LAUNCH_MAGIC;
	launch->version = NATIVE_LAUNCH_VERSION;
	launch->rootless = plan->host.memory.rootless ? 1 : 0;
	launch->uid = plan->uid.uid;
	launch->gid = plan->uid.uid;
	launch->group_count = (uint32_t)native->groups.count;
	(void)snprintf(launch->hostname, sizeof(launch->hostname), "%s",
	    NATIVE_PLAN_HOSTNAME);
	(void)snprintf(launch->home, sizeof(launch->home), "%s", home);
	for (size_t i = 0; i < native->groups.count; i++)
		cgroup_make_join(&native->groups.dirs[i], launch->groups[i],
		    sizeof(launch->groups[i]));
	native_plan_limits(launch, plan);
	return native_plan_hosts(launch, &plan->input);
}

static enum result
native_plan_writable(struct init_setup *setup, const char *path)
{
	for (uint32_t i = 0; i < setup->writable_count; i++) {
		if (native_plan_is_below(path, setup->writable[i]))
			return RESULT_OK;
	}
	if (setup->writable_count >= INIT_WRITABLE_MAX ||
	    strlen(path) >= INIT_PATH_MAX)
		return RESULT_TOO_LONG;
	memcpy(
	    setup->writable[setup->writable_count++], path, strlen(path) + 1);
	return RESULT_OK;
}

/* First the tmpfs of ours, where the walls are tried; then the user's
 * places, in which nothing is made before the workload runs. */
static enum result
native_plan_writables(struct init_setup *setup, const struct native_view *view)
{
	enum result result = RESULT_OK;

	if (view->mode == NATIVE_DANGER)
		setup->writable_count = 0; /* those of a container */
	for (size_t i = 0; i < view->count && result == RESULT_OK; i++) {
		const struct native_step *step = &view->steps[i];

		if (step->kind != NATIVE_STEP_TMPFS || !step->owned)
			continue;
		result = native_plan_writable(setup, step->target);
		setup->writable_exec |= step->exec ? 1 : 0;
	}
	setup->writable_tried = setup->writable_count;
	for (size_t i = 0; i < view->count && result == RESULT_OK; i++) {
		if (view->steps[i].kind != NATIVE_STEP_BIND_RW)
			continue;
		result = native_plan_writable(setup, view->steps[i].target);
		setup->writable_exec = 1;
		setup->host_written = 1;
	}
	return result;
}

static enum result
native_plan_seal(struct native_plan *native, struct native_launch *launch)
{
	launch->size = (uint32_t)native_launch_size(launch->step_count);
	if (!native_launch_valid(launch, launch->size))
		return RESULT_BAD;
	return fd_sealed_memfd(
	    "agentnode-native", launch, launch->size, &native->launch_fd);
}

enum result
native_plan_fill(struct sandbox_plan *plan, const struct native_view *view,
    struct sandbox_plan_fault *fault_r)
{
	struct native_plan *native = plan->native;
	size_t most = view->count + plan->input.tmpfs_count;
	int groups = getgroups(0, NULL);
	enum result result;

	if (view->count > NATIVE_VIEW_STEPS_MAX ||
	    most > NATIVE_LAUNCH_STEPS_MAX)
		return sandbox_plan_fail(fault_r, RESULT_TOO_LONG, "bad_spec",
		    "the view has too many parts: at most %u",
		    NATIVE_LAUNCH_STEPS_MAX);
	native->mode = view->mode;
	memcpy(native->workspace, view->workspace, sizeof(native->workspace));
	native->group_count = groups > 0 ? (unsigned)groups : 0;
	native->launch = calloc(1, native_launch_size(most));
	if (native->launch == NULL)
		return sandbox_plan_fail(
		    fault_r, RESULT_NO_MEMORY, "internal", "out of memory");
	native_plan_steps(native->launch, plan, view);
	result = native_plan_writables(&plan->setup, view);
	if (result == RESULT_OK)
		result = native_plan_header(native->launch, plan);
	if (result == RESULT_OK)
		result = native_plan_mounts(native);
	if (result == RESULT_OK)
		result = native_plan_seal(native, native->launch);
	if (result != RESULT_OK)
		return sandbox_plan_fail(fault_r, result, "bad_spec",
		    "the view of the sandbox cannot be used: a path in it is "
		    "too long or not canonical, or it has more than %u "
		    "writable places",
		    INIT_WRITABLE_MAX);
	return RESULT_OK;
}
