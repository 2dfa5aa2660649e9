/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which table a sandbox is started by (see the header). Called by
 * sandbox_plan.c; must never choose by what is installed: the spec and the
 * configuration say, and what was found to work.
 */
#include "supervisor/engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/container_end.h"
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

bool
engine_is_guest(const struct config *config)
{
	return strcmp(config_text(config, "sandbox.engine"), "oci") == 0 &&
	       strcmp(config_text(config, "sandbox.runtime"), "runsc") == 0;
}

enum result
engine_open_host(const struct config *config, struct sandbox_plan *plan,
    struct sandbox_plan_fault *fault)
{
	struct engine_host_fault host_fault;
	enum result result =
	    engine_host_open(config, plan->image, &plan->host, &host_fault);

	if (result != RESULT_OK)
		return sandbox_plan_fail(
		    fault, result, host_fault.code, "%s", host_fault.detail);
	plan->host_open = true;
	return RESULT_OK;
}

enum result
engine_name_groups(struct sandbox_plan *plan, struct cgroup *groups,
    struct sandbox_plan_fault *fault)
{
	char name[RUN_ARGV_NAME_MAX];

	if (run_argv_name(plan->kind, plan->package, plan->lock.id, name,
		sizeof(name)) != RESULT_OK)
		return sandbox_plan_fail(fault, RESULT_BAD, "bad_spec",
		    "kind or package of the sandbox must be letters, digits, "
		    "'.', '_' and '-'");
	(void)snprintf(plan->facts.name, sizeof(plan->facts.name),
	    CGROUP_MAKE_PREFIX "%s", plan->lock.id);
	cgroup_make_name(groups, plan->lock.id);
	return RESULT_OK;
}

enum result
engine_remove_groups(struct container_end *end, bool client_clean)
{
	(void)client_clean;
	return container_end_remove_groups(end);
}
