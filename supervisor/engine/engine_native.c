/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operating system's own walls behind engine.h: agentnode-native makes
 * the namespaces, the supervisor the control groups. Called by the
 * sandbox's story; must never start without limits unless the named
 * override says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/container_end.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/native_plan.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox_plan.h"

static enum result
engine_native_open(const struct config *config, struct sandbox_plan *plan,
    struct sandbox_plan_fault *fault)
{
	struct cgroup parents;
	char detail[400] = "";

	if (engine_files_prepare(&plan->host.files, detail, sizeof(detail)) !=
	    RESULT_OK)
		return sandbox_plan_fail(
		    fault, RESULT_SYSTEM, "engine_failed", "%s", detail);
	plan->host_open = true;
	plan->host.memory.rootless = geteuid() != 0;
	plan->no_limits = cgroup_make_find(&parents) != RESULT_OK;
	if (plan->no_limits && !config_override(config, "no_cgroup_limits"))
		return sandbox_plan_fail(fault, RESULT_UNSUPPORTED,
		    "limits_unavailable",
		    "memory, process and CPU limits cannot be had here: no "
		    "control group may be made (an ordinary user needs cgroup "
		    "v2 with a delegated group); run as root, or accept it "
		    "with `agentnode config set sandbox.overrides "
		    "no_cgroup_limits`");
	if (native_plan_new(&plan->native) != RESULT_OK)
		return sandbox_plan_fail(
		    fault, RESULT_NO_MEMORY, "internal", "out of memory");
	plan->native->groups = parents;
	return RESULT_OK;
}

static enum result
engine_native_prepare(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	enum result result;

	if (plan->input.mount_count > 0)
		return sandbox_plan_fail(fault, RESULT_REFUSED, "bad_spec",
		    "a native sandbox has no engine, so it has no volumes");
	result = engine_name_groups(plan, &plan->native->groups, fault);
	return result == RESULT_OK ? native_plan_fill(plan, spec->view, fault)
				   : result;
}

static enum result
engine_native_start(struct sandbox_plan *plan, struct engine_start *start_r,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	struct native_plan *native = plan->native;
	enum result result =
	    cgroup_make(&native->groups, &plan->limits, detail_r, detail_size);

	*groups_r = native->groups;
	*start_r = (struct engine_start){.record_fd = native->launch_fd};
	return result;
}

static enum result
engine_native_find(const struct sandbox_plan *plan, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	return cgroup_make_check(
	    &plan->native->groups, pid, groups_r, detail_r, detail_size);
}

static void
engine_native_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected)
{
	const struct native_plan *native = plan->native;

	expected->native = true;
	expected->open_root = native->mode == NATIVE_DANGER;
	expected->groups_max =
	    plan->host.memory.rootless ? native->group_count : 0;
	expected->mounts = native->mounts;
	expected->mount_count = native->mount_count;
	expected->allowed = native->allowed;
	expected->allowed_count = native->allowed_count;
}

const struct engine engine_native = {
    .name = "native",
    .wiring = WIRING_FD,
    .open = engine_native_open,
    .prepare = engine_native_prepare,
    .start = engine_native_start,
    .find = engine_native_find,
    .expect = engine_native_expect,
    .remove = engine_remove_groups,
    .client_is_launcher = true,
};
