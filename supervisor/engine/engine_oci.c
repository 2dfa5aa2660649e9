/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OCI runtime without an engine behind engine.h: root, bundle, control
 * groups and the place it is started in are ours. Called by the sandbox's
 * story; must never start without limits unless the named override says so.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/container_end.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_gvisor.h"
#include "supervisor/engine/oci_plan.h"
#include "supervisor/engine/oci_root.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/engine/wiring_way.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox_plan.h"

/* The one that the configuration names, else crun, else runc; one with a
 * kernel of its own is slower, and only taken when it is asked for. */
static enum result
engine_oci_runtime(const struct config *config, struct oci_plan *oci)
{
	static const struct {
		const char *name;
		enum oci_runtime kind;
	} known[] = {{"crun", OCI_RUNTIME_CRUN}, {"runc", OCI_RUNTIME_RUNC},
	    {"runsc", OCI_RUNTIME_RUNSC}};
	const char *wanted = config_text(config, "sandbox.runtime");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(wanted, "auto") == 0
			? known[i].kind == OCI_RUNTIME_RUNSC
			: strcmp(wanted, known[i].name) != 0)
			continue;
		if (engine_call_find(known[i].name, oci->runtime,
			sizeof(oci->runtime)) != RESULT_OK)
			continue;
		oci->kind = known[i].kind;
		return RESULT_OK;
	}
	return RESULT_NOT_FOUND;
}

static enum result
engine_oci_limits(const struct config *config, struct sandbox_plan *plan,
    struct sandbox_plan_fault *fault)
{
	plan->no_limits = cgroup_make_find(&plan->oci->groups) != RESULT_OK;
	if (!plan->no_limits || config_override(config, "no_cgroup_limits"))
		return RESULT_OK;
	return sandbox_plan_fail(fault, RESULT_UNSUPPORTED,
	    "limits_unavailable",
	    "no control group can be made for memory, processes and CPU time "
	    "(rootless on cgroup v1?): run as root or with a delegated group "
	    "of cgroup v2, or set sandbox.overrides to no_cgroup_limits");
}

/* runsc hands no descriptors on, and as an ordinary user it would need the
 * user namespace that oci_place.c has made already. */
static enum result
engine_oci_guest_open(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault)
{
	if (plan->host.memory.rootless)
		return sandbox_plan_fail(fault, RESULT_UNSUPPORTED,
		    "runtime_unusable",
		    "sandbox.runtime runsc works as root only: use crun or "
		    "runc");
	plan->engine = &engine_oci_guest;
	return wiring_program(&plan->oci->place.program, fault->detail,
		   sizeof(fault->detail)) == RESULT_OK
		   ? RESULT_OK
		   : sandbox_plan_fail(fault, RESULT_NOT_FOUND, "internal",
			 "agentnode-init is not installed beside agentnode");
}

static enum result
engine_oci_open(const struct config *config, struct sandbox_plan *plan,
    struct sandbox_plan_fault *fault)
{
	char detail[400] = "";
	enum result result = engine_open_host(config, plan, fault);

	if (result != RESULT_OK)
		return result;
	if (oci_plan_new(&plan->oci) != RESULT_OK)
		return sandbox_plan_fail(
		    fault, RESULT_NO_MEMORY, "internal", "out of memory");
	result = engine_oci_runtime(config, plan->oci);
	if (result != RESULT_OK)
		return sandbox_plan_fail(fault, result, "runtime_unusable",
		    "the runtime of sandbox.runtime is not here: apt install "
		    "crun, runc or runsc");
	if (plan->oci->kind == OCI_RUNTIME_RUNSC)
		result = engine_oci_guest_open(plan, fault);
	if (result != RESULT_OK)
		return result;
	result = engine_oci_limits(config, plan, fault);
	if (result != RESULT_OK)
		return result;
	result = oci_root_open(config, &plan->host, plan->image,
	    &plan->oci->root_fd, detail, sizeof(detail));
	if (result != RESULT_OK)
		return sandbox_plan_fail(
		    fault, result, "image_refused", "%s", detail);
	return RESULT_OK;
}

static enum result
engine_oci_prepare(struct sandbox_plan *plan, const struct sandbox_spec *spec,
    struct sandbox_plan_fault *fault)
{
	enum result result =
	    engine_name_groups(plan, &plan->oci->groups, fault);

	(void)spec;
	if (plan->oci->kind == OCI_RUNTIME_RUNSC)
		plan->setup.guest_uid = plan->input.uid;
	return result == RESULT_OK ? oci_plan_fill(plan, fault) : result;
}

static enum result
engine_oci_start(struct sandbox_plan *plan, struct engine_start *start_r,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	struct oci_plan *oci = plan->oci;
	enum result result =
	    cgroup_make(&oci->groups, &plan->limits, detail_r, detail_size);

	*groups_r = oci->groups;
	cgroup_make_rest(groups_r);
	*start_r = (struct engine_start){.argv = oci->words,
	    .die_with_us = true,
	    .place = oci_place_enter,
	    .place_context = &oci->place};
	return result;
}

static enum result
engine_oci_find(const struct sandbox_plan *plan, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	enum result result = cgroup_make_check(
	    &plan->oci->groups, pid, groups_r, detail_r, detail_size);

	cgroup_make_rest(groups_r);
	return result;
}

static void
engine_oci_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected)
{
	(void)plan;
	expected->native = false;
	expected->hides_init = true;
}

const struct engine engine_oci = {
    .name = "container",
    .wiring = WIRING_FD,
    .open = engine_oci_open,
    .prepare = engine_oci_prepare,
    .start = engine_oci_start,
    .find = engine_oci_find,
    .expect = engine_oci_expect,
    .remove = engine_remove_groups,
    .client_is_launcher = true,
};

const struct engine engine_oci_guest = {
    .name = "container",
    .wiring = WIRING_MUX,
    .boundary = "gvisor",
    .open = engine_oci_open,
    .prepare = engine_oci_prepare,
    .start = engine_oci_start,
    .find = engine_oci_find,
    .locate = engine_gvisor_locate,
    .check = engine_gvisor_check,
    .places = engine_gvisor_places,
    .expect = engine_gvisor_expect,
    .remove = engine_remove_groups,
    .client_is_launcher = true,
    .mounts_lack = INIT_REPORT_NOSUID | INIT_REPORT_NODEV,
    .tmpfs_lack = INIT_REPORT_NOSUID | INIT_REPORT_NODEV,
};
