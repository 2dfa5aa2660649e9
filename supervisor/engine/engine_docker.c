/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker behind engine.h: detached with the volume's wiring, so that the
 * daemon is in nobody's path once init runs, or attached with mux. Called by
 * the sandbox's story; starts nothing itself and must never leave a flag out:
 * run_argv has them all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/child.h"
#include "supervisor/engine/container_end.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/init/init_connect.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/sandbox_plan.h"

static void
engine_docker_input(struct sandbox_plan *plan)
{
	struct run_argv_input *input = &plan->input;

	run_lock_id_file(&plan->host.files, plan->lock.id, plan->id_file,
	    sizeof(plan->id_file));
	input->dialect = RUN_ARGV_DOCKER;
	input->client = plan->host.memory.client;
	input->seccomp = plan->seccomp;
	input->id_file = plan->id_file;
	input->kind = plan->kind;
	input->package = plan->package;
	input->id = plan->lock.id;
	input->image = plan->image;
	input->memory = plan->limits.memory;
	input->cpu_milli = plan->limits.cpu_milli;
	input->entrypoint = INIT_WIRING_PROGRAM;
	input->init_word = INIT_WORD_VOLUME;
	input->mounts[input->mount_count++] =
	    (struct run_argv_mount){plan->slot.volume, INIT_WIRING_DIR};
	plan->place =
	    (struct wiring_place){.dir = plan->slot.dir, .uid = input->uid};
	if (plan->wiring != WIRING_MUX)
		return;
	input->init_word = INIT_MUX_WORD;
	input->interactive = true;
}

static enum result
engine_docker_prepare(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	enum result result = child_shared_path(
	    "seccomp/agentnode.json", plan->seccomp, sizeof(plan->seccomp));

	(void)spec;
	if (result != RESULT_OK)
		return sandbox_plan_fail(fault, result, "seccomp_missing",
		    "%s is not installed beside agentnode", plan->seccomp);
	result = control_slot_take(
	    &plan->host, &plan->slot, fault->detail, sizeof(fault->detail));
	if (result != RESULT_OK) {
		(void)snprintf(
		    fault->code, sizeof(fault->code), "engine_failed");
		return result;
	}
	engine_docker_input(plan);
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
engine_docker_start(struct sandbox_plan *plan, struct engine_start *start_r,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	(void)groups_r; /* the engine makes them */
	(void)detail_r;
	(void)detail_size;
	*start_r =
	    (struct engine_start){.argv = plan->argv->words, .more_fd = -1};
	return RESULT_OK;
}

/* Who connected is in the groups of the container that the engine said it
 * made for us: another container's process has no such id in its path. */
static enum result
engine_docker_find(const struct sandbox_plan *plan, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size)
{
	char id[RUN_LOCK_CONTAINER_MAX];
	enum result result;

	run_lock_container(&plan->host.files, plan->lock.id, id);
	result = cgroup_find_of(pid, id, groups_r, detail_r, detail_size);
	if (result != RESULT_OK || groups_r->count > 0)
		return result;
	(void)snprintf(detail_r, detail_size,
	    "what connected to the control socket is not in the control "
	    "groups of the container");
	return RESULT_MISMATCH;
}

/* The runtime adds the sandbox's own group once more; which one it is, is
 * seen from outside (init_check.h). */
static void
engine_docker_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected)
{
	(void)plan;
	expected->native = false;
	expected->groups_max = 1;
	expected->docker = true;
}

/* The daemon removes it when init ends; that is waited for. */
static enum result
engine_docker_remove(struct container_end *end, bool client_clean)
{
	(void)client_clean;
	return container_end_remove(end, true);
}

const struct engine engine_docker = {
    .name = "docker",
    .wiring = WIRING_VOLUME,
    .may_mux = true,
    .open = engine_open_container,
    .prepare = engine_docker_prepare,
    .start = engine_docker_start,
    .find = engine_docker_find,
    .expect = engine_docker_expect,
    .remove = engine_docker_remove,
    .client_detaches = true,
    /* Docker has no word for them. no_new_privs takes the first away, the
     * devices group the second, and no such file is ever sealed. */
    .mounts_lack = INIT_REPORT_NOSUID | INIT_REPORT_NODEV,
};
