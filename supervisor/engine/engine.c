/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which table a sandbox is started by (see the header). Called by
 * sandbox_plan.c; must never choose by what is installed: the spec and the
 * configuration say, and what was found to work.
 */
#include "supervisor/engine/engine.h"

#include <string.h>

#include "supervisor/policy/config.h"
#include "supervisor/sandbox.h"
#include "supervisor/sandbox_plan.h"

const struct engine *
engine_of(const struct config *config, const struct sandbox_spec *spec)
{
	if (spec->view != NULL)
		return &engine_native;
	if (strcmp(config_text(config, "sandbox.engine"), "oci") == 0)
		return &engine_oci;
	return &engine_podman;
}

enum result
engine_open_container(const struct config *config, struct sandbox_plan *plan,
    struct sandbox_plan_fault *fault)
{
	struct engine_host_fault host_fault;
	enum result result =
	    engine_host_open(config, plan->image, &plan->host, &host_fault);

	if (result != RESULT_OK)
		return sandbox_plan_fail(
		    fault, result, host_fault.code, "%s", host_fault.detail);
	plan->host_open = true;
	if (plan->host.memory.kind == ENGINE_MEMORY_DOCKER)
		plan->engine = &engine_docker;
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
