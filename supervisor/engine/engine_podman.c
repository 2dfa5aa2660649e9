/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container engine behind engine.h. Called by the sandbox's story;
 * starts nothing itself and must never leave a flag out: run_argv has them
 * all.
 */
#include "supervisor/engine/container_end.h"
#include "supervisor/engine/engine_container.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/sandbox_plan.h"

#define ENGINE_PODMAN_ENTRYPOINT "/proc/self/fd/4"

static enum result
engine_podman_prepare(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault)
{
	const struct engine_host *host = &plan->host;
	struct run_argv_input *input = &plan->input;
	enum result result = engine_container_input(plan, fault);

	(void)spec;
	if (result != RESULT_OK)
		return result;
	input->runtime = host->memory.runtime;
	input->cgroup_manager = host->memory.cgroup_manager;
	input->hooks = host->files.hooks;
	input->mounts_conf = host->files.mounts;
	input->fd_count = INIT_FD_COUNT;
	input->entrypoint = ENGINE_PODMAN_ENTRYPOINT;
	if (plan->wiring == WIRING_MUX) {
		/* init itself by descriptor still, nothing else. */
		input->fd_count = INIT_PROGRAM_FD - 2;
		input->interactive = true;
		input->init_word = INIT_MUX_WORD;
	}
	return engine_container_words(plan, fault);
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
    .open = engine_container_open,
    .prepare = engine_podman_prepare,
    .start = engine_container_start,
    .find = engine_podman_find,
    .expect = engine_podman_expect,
    .remove = container_end_remove,
};
