/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container engine behind engine.h. Called by the sandbox's story;
 * starts nothing itself and must never leave a flag out: run_argv has them
 * all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/child.h"
#include "supervisor/engine/container_end.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/sandbox_plan.h"

#define ENGINE_PODMAN_ENTRYPOINT "/proc/self/fd/4"

static void
engine_podman_input(struct sandbox_plan *plan)
{
	const struct engine_host *host = &plan->host;
	struct run_argv_input *input = &plan->input;

	input->client = host->memory.client;
	input->runtime = host->memory.runtime;
	input->cgroup_manager = host->memory.cgroup_manager;
	input->hooks = host->files.hooks;
	input->mounts_conf = host->files.mounts;
	input->seccomp = plan->seccomp;
	run_lock_id_file(
	    &host->files, plan->lock.id, plan->id_file, sizeof(plan->id_file));
	input->id_file = plan->id_file;
	input->kind = plan->kind;
	input->package = plan->package;
	input->id = plan->lock.id;
	input->image = plan->image;
	input->memory = plan->limits.memory;
	input->cpu_milli = plan->limits.cpu_milli;
	input->fd_count = INIT_FD_COUNT;
	input->entrypoint = ENGINE_PODMAN_ENTRYPOINT;
	if (plan->wiring != WIRING_MUX)
		return;
	/* init itself by descriptor still, nothing else. */
	input->fd_count = INIT_PROGRAM_FD - 2;
	input->interactive = true;
	input->init_word = INIT_MUX_WORD;
}

static enum result
engine_podman_prepare(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	enum result result = child_shared_path(
	    "seccomp/agentnode.json", plan->seccomp, sizeof(plan->seccomp));

	(void)spec;
	if (result != RESULT_OK)
		return sandbox_plan_fail(fault, result, "seccomp_missing",
		    "%s is not installed beside agentnode", plan->seccomp);
	engine_podman_input(plan);
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

static enum result
engine_podman_start(struct sandbox_plan *plan, struct engine_start *start_r,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	(void)groups_r; /* the engine makes them */
	(void)detail_r;
	(void)detail_size;
	*start_r = (struct engine_start){.argv = plan->argv->words,
	    .more_fd = -1,
	    .hide_unified = plan->host.memory.hide_unified};
	return RESULT_OK;
}

static enum result
engine_podman_find(const struct sandbox_plan *plan, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	(void)plan;
	return cgroup_find(pid, groups_r, detail_r, detail_size);
}

static void
engine_podman_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected)
{
	(void)plan;
	expected->native = false;
}

const struct engine engine_podman = {
    .name = "container",
    .wiring = WIRING_FD,
    .may_mux = true,
    .open = engine_open_container,
    .prepare = engine_podman_prepare,
    .start = engine_podman_start,
    .find = engine_podman_find,
    .expect = engine_podman_expect,
    .remove = container_end_remove,
};
