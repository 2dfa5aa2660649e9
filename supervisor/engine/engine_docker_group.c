/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker for a user of its group, behind engine.h: by mux alone, and what
 * root sees for itself (namespaces, mounts, content of volumes) is asked of
 * the daemon before go. Called by the sandbox's story; starts nothing itself
 * and must never go without one of those answers.
 */
#include <stdio.h>

#include "supervisor/engine/container_end.h"
#include "supervisor/engine/docker_program.h"
#include "supervisor/engine/engine_container.h"
#include "supervisor/engine/engine_docker.h"
#include "supervisor/engine/init_check.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/init/init_connect.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/sandbox_plan.h"

/* Each volume is read where it is mounted: in this container. What the
 * daemon's archive leaves out (sockets), init looks for. */
static enum result
engine_docker_group_places(struct sandbox_plan *plan)
{
	struct init_setup *setup = &plan->setup;

	for (size_t i = 0; i < plan->volume_count; i++) {
		struct volume_check_one *one = &plan->volumes[i];
		/* init's own is the last, and no package's. */
		const char *target = i < plan->seal_count
					 ? plan->seals[i].target
					 : INIT_WIRING_DIR;
		int len = snprintf(one->place, sizeof(one->place), "%s:%s",
		    plan->facts.name, target);
		if (len < 0 || (size_t)len >= sizeof(one->place))
			return RESULT_TOO_LONG;
		if (setup->look_count >= INIT_LOOK_MAX)
			return RESULT_TOO_LONG;
		len = snprintf(setup->look[setup->look_count++], INIT_PATH_MAX,
		    "%s", target);
		if (len < 0 || (size_t)len >= INIT_PATH_MAX)
			return RESULT_TOO_LONG;
	}
	return RESULT_OK;
}

static enum result
engine_docker_group_prepare(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	struct run_argv_input *input = &plan->input;
	enum result result = engine_docker_input(plan, fault);

	(void)spec;
	if (result != RESULT_OK)
		return result;
	result = docker_program_take(&plan->host, plan->image, plan->lock.id,
	    &plan->slot, &plan->volumes[plan->volume_count], fault->detail,
	    sizeof(fault->detail));
	if (result != RESULT_OK) {
		(void)snprintf(
		    fault->code, sizeof(fault->code), "engine_failed");
		return result;
	}
	plan->volume_count++;
	engine_docker_mount(plan);
	plan->place = (struct wiring_place){.program_is_there = true};
	engine_docker_attach(plan);
	input->init_word = INIT_MUX_WORD_PASSED;
	result = engine_container_words(plan, fault);
	if (result == RESULT_OK &&
	    engine_docker_group_places(plan) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_TOO_LONG, "bad_spec",
		    "the target of a volume is too long");
	return result;
}

/* What the kernel shows everybody of init; the rest is docker_look's. */
static enum result
engine_docker_group_check(const struct sandbox_plan *plan, pid_t pid,
    char *detail_r, size_t detail_size)
{
	return init_check_seen(pid, plan->uid.uid, detail_r, detail_size);
}

/* The daemon is asked: its folder is not to be looked into. */
static enum result
engine_docker_group_remove(struct container_end *end, bool client_clean)
{
	return container_end_remove(end, client_clean);
}

const struct engine engine_docker_group = {
    .name = "docker",
    .wiring = WIRING_MUX,
    .may_mux = true,
    .asks_engine = true,
    .open = engine_container_open,
    .prepare = engine_docker_group_prepare,
    .start = engine_container_start,
    .find = engine_docker_find,
    .expect = engine_docker_expect,
    .check = engine_docker_group_check,
    .remove = engine_docker_group_remove,
    .client_detaches = true,
    .mounts_lack = INIT_REPORT_NOSUID | INIT_REPORT_NODEV,
};
