/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker behind engine.h: detached with the volume's wiring, so that the
 * daemon is in nobody's path once init runs, or attached with mux. Called by
 * the sandbox's story; starts nothing itself and must never leave a flag out:
 * run_argv has them all.
 */
#include <stdio.h>

#include "supervisor/engine/container_end.h"
#include "supervisor/engine/engine_container.h"
#include "supervisor/engine/engine_docker.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/init/init_connect.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/sandbox_plan.h"

enum result
engine_docker_input(struct sandbox_plan *plan, struct sandbox_plan_fault *fault)
{
	enum result result = engine_container_input(plan, fault);

	plan->input.dialect = RUN_ARGV_DOCKER;
	plan->facts.docker = true;
	return result;
}

void
engine_docker_mount(struct sandbox_plan *plan)
{
	struct run_argv_input *input = &plan->input;

	input->entrypoint = INIT_WIRING_PROGRAM;
	input->mounts[input->mount_count++] =
	    (struct run_argv_mount){plan->slot.volume, INIT_WIRING_DIR};
}

/* The client only makes it; the way in is attached before it is started. */
void
engine_docker_attach(struct sandbox_plan *plan)
{
	plan->place.daemon = engine_files_daemon(&plan->host.files);
	plan->input.interactive = true;
	plan->input.made = plan->place.daemon != NULL;
}

static void
engine_docker_wire(struct sandbox_plan *plan)
{
	struct run_argv_input *input = &plan->input;

	engine_docker_mount(plan);
	plan->place =
	    (struct wiring_place){.dir = plan->slot.dir, .uid = input->uid};
	if (plan->wiring == WIRING_MUX)
		engine_docker_attach(plan);
	input->init_word =
	    input->interactive ? INIT_MUX_WORD_PASSED : INIT_WORD_VOLUME;
}

static enum result
engine_docker_prepare(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	enum result result = engine_docker_input(plan, fault);

	(void)spec;
	if (result != RESULT_OK)
		return result;
	result = control_slot_take(
	    &plan->host, &plan->slot, fault->detail, sizeof(fault->detail));
	if (result != RESULT_OK) {
		(void)snprintf(
		    fault->code, sizeof(fault->code), "engine_failed");
		return result;
	}
	engine_docker_wire(plan);
	return engine_container_words(plan, fault);
}

/* Who connected is in the groups of the container that the engine said it
 * made for us: another container's process has no such id in its path. */
enum result
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
void
engine_docker_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected)
{
	(void)plan;
	expected->native = false;
	expected->groups_max = 1;
	expected->docker = true;
}

/* The daemon removes it when init ends; that is waited for, unless it was
 * never started. */
static enum result
engine_docker_remove(struct container_end *end, bool client_clean)
{
	return container_end_remove(end, client_clean);
}

const struct engine engine_docker = {
    .name = "docker",
    .wiring = WIRING_VOLUME,
    .may_mux = true,
    .open = engine_container_open,
    .prepare = engine_docker_prepare,
    .start = engine_container_start,
    .find = engine_docker_find,
    .expect = engine_docker_expect,
    .remove = engine_docker_remove,
    .client_detaches = true,
    /* Docker has no word for them. no_new_privs takes the first away, the
     * devices group the second, and no such file is ever sealed. */
    .mounts_lack = INIT_REPORT_NOSUID | INIT_REPORT_NODEV,
};
