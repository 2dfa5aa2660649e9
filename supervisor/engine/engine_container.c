/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See engine_container.h. Starts nothing itself and must never leave a flag
 * out: run_argv has them all.
 */
#include "supervisor/engine/engine_container.h"

#include <stdio.h>
#include <stdlib.h>

#include "supervisor/child.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox_plan.h"

enum result
engine_container_open(const struct config *config, struct sandbox_plan *plan,
    struct sandbox_plan_fault *fault)
{
	enum result result = engine_open_host(config, plan, fault);

	if (result != RESULT_OK)
		return result;
	if (plan->host.memory.kind == ENGINE_MEMORY_DOCKER)
		plan->engine = engine_memory_by_group(&plan->host.memory)
				   ? &engine_docker_group
				   : &engine_docker;
	plan->no_limits = !plan->host.memory.limits;
	if (plan->no_limits && !config_override(config, "no_cgroup_limits"))
		return sandbox_plan_fail(fault, RESULT_UNSUPPORTED,
		    "limits_unavailable",
		    "memory, process and CPU limits are not in force for "
		    "containers here (rootless on cgroup v1?): boot with "
		    "cgroup v2, or run as root, or accept it with `agentnode "
		    "config set sandbox.overrides no_cgroup_limits`");
	return RESULT_OK;
}

enum result
engine_container_input(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault)
{
	const struct engine_host *host = &plan->host;
	struct run_argv_input *input = &plan->input;
	enum result result = child_shared_path(
	    "seccomp/agentnode.json", plan->seccomp, sizeof(plan->seccomp));

	if (result != RESULT_OK)
		return sandbox_plan_fail(fault, result, "seccomp_missing",
		    "%s is not installed beside agentnode", plan->seccomp);
	run_lock_id_file(
	    &host->files, plan->lock.id, plan->id_file, sizeof(plan->id_file));
	input->client = host->memory.client;
	input->seccomp = plan->seccomp;
	input->id_file = plan->id_file;
	input->kind = plan->kind;
	input->package = plan->package;
	input->id = plan->lock.id;
	input->owner = host->files.owner;
	input->image = plan->image;
	input->memory = plan->limits.memory;
	input->cpu_milli = plan->limits.cpu_milli;
	return RESULT_OK;
}

enum result
engine_container_words(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault)
{
	enum result result;

	plan->argv = calloc(1, sizeof(*plan->argv));
	if (plan->argv == NULL)
		return sandbox_plan_fail(
		    fault, RESULT_NO_MEMORY, "internal", "out of memory");
	result = run_argv_build(
	    &plan->input, plan->argv, fault->detail, sizeof(fault->detail));
	if (result != RESULT_OK) {
		(void)snprintf(fault->code, sizeof(fault->code), "bad_spec");
		return result;
	}
	(void)snprintf(
	    plan->facts.name, sizeof(plan->facts.name), "%s", plan->argv->name);
	return RESULT_OK;
}

enum result
engine_container_start(struct sandbox_plan *plan, struct engine_start *start_r,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	(void)groups_r;
	(void)detail_r;
	(void)detail_size;
	*start_r = (struct engine_start){.argv = plan->argv->words,
	    .hide_unified = plan->host.memory.hide_unified};
	return RESULT_OK;
}
