/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that lives while the host's configuration or the team's policy
 * changes: what they take away ends it, what they add waits for the next
 * run. Called by agent_run_parts.c and by the watch; ends badly only through
 * agent_run_close.
 */
#include <string.h>

#include "common/log.h"
#include "llm-broker/grant.h"
#include "supervisor/agent/provider_files.h"
#include "supervisor/command/agent_run_state.h"
#include "supervisor/policy/llm_policy.h"

/* Does a limit of now take away from what the run was promised? An absent
 * number is no limit. */
static bool
agent_run_policy_limits(const json_t *now, const json_t *then)
{
	const char *scope, *amount;
	json_t *amounts, *value;

	json_object_foreach((json_t *)now, scope, amounts)
	{
		const json_t *old = json_object_get(then, scope);

		json_object_foreach(amounts, amount, value)
		{
			const json_t *before = json_object_get(old, amount);

			if (before == NULL || json_integer_value(value) <
						  json_integer_value(before))
				return false;
		}
	}
	return true;
}

static bool
agent_run_policy_grants(const json_t *now, const json_t *then)
{
	struct json_fault fault = {""};
	struct grant *new_grant = NULL, *old_grant = NULL;
	bool covers =
	    grant_load(now, "grant", &new_grant, &fault) == RESULT_OK &&
	    grant_load(then, "grant", &old_grant, &fault) == RESULT_OK &&
	    grant_covers(new_grant, old_grant);

	grant_free(&new_grant);
	grant_free(&old_grant);
	return covers;
}

/* Would this run get what it has, if it began now? */
static enum result
agent_run_policy_llm(struct agent_run *run, const struct config *config,
    bool *same_r, struct json_fault *fault)
{
	const struct agent_package *package = &run->plan.package;
	const struct llm_part_plan *plan = &run->plan.llm;
	json_t *files = NULL, *grant = NULL, *limits = NULL;
	enum result result =
	    provider_files_load(run->plan.run.home, &files, fault);

	if (result == RESULT_OK)
		result = llm_policy_make(config, package->llm,
		    package->max_iterations, files, &grant, &limits, fault);
	*same_r = result == RESULT_OK && grant != NULL &&
		  agent_run_policy_grants(grant, plan->grant) &&
		  agent_run_policy_limits(limits, plan->limits);
	json_decref(files);
	json_decref(grant);
	json_decref(limits);
	return result;
}

static void
agent_run_policy_on_changed(bool lost, void *context)
{
	struct agent_run *run = context;
	struct json_fault fault = {""};
	struct config *config = NULL;
	bool same = true;
	enum result result =
	    lost ? RESULT_SYSTEM : config_load(&config, &fault);

	if (result == RESULT_OK && run->plan.has_llm)
		result = agent_run_policy_llm(run, config, &same, &fault);
	if (result != RESULT_OK)
		agent_run_close(run, "policy_unavailable",
		    fault.text[0] != '\0'
			? fault.text
			: "the configuration cannot be watched any more");
	else if (!run_entry_still(&run->plan.run, config))
		agent_run_close(run, "policy_changed",
		    "agents of its tier were turned off, or its tier is "
		    "not proven any more");
	else if (!same)
		agent_run_close(run, "policy_changed",
		    "what agents may ask of models was narrowed");
	config_free(&config);
}

enum result
agent_run_policy_start(struct agent_run *run)
{
	return config_watch_new(run->base, agent_run_policy_on_changed, run,
	    &run->watch, &run->plan.run.fault);
}
