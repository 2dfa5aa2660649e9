/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that lives while the host's configuration or the team's policy
 * changes: what they take away of its grant of models is taken away at once,
 * after it was put on record; what the ledger holds it to, or whether it may
 * run at all, ends it; what they add waits for the next run. Called by
 * agent_run_parts.c and by the watch; ends badly only through
 * agent_run_close.
 */
#include <string.h>

#include "common/log.h"
#include "supervisor/agent/provider_files.h"
#include "supervisor/command/agent_run_state.h"
#include "supervisor/policy/llm_narrow.h"
#include "supervisor/policy/llm_policy.h"

/* On disk: now the broker hears of it. */
static void
agent_run_policy_on_synced(
    enum result result, const char *detail, void *context)
{
	struct agent_run *run = context;
	json_t *next = run->narrowed;

	run->narrowed = NULL;
	if (run->state != AGENT_RUN_OPEN) {
		json_decref(next);
		return;
	}
	if (result != RESULT_OK) {
		json_decref(next);
		agent_run_close(run, "audit_failed", detail);
		return;
	}
	json_decref(run->plan.llm.grant);
	run->plan.llm.grant = next;
	log_event(LOG_INFO_LEVEL, "grant_narrowed");
	if (run->llm != NULL && llm_part_narrow(run->llm) != RESULT_OK)
		agent_run_close(run, "broker_died",
		    "agentnode-llm-broker cannot be told its new policy");
	/* Again: there may have been a change meanwhile. */
	config_watch_again(run->watch, 0);
}

/* Takes next. */
static void
agent_run_policy_submit(struct agent_run *run, json_t *next)
{
	json_t *record = json_pack("{s:s, s:s, s:o}", "run", run->run_id,
	    "package", run->plan.package.slug, "llm", run_record_granted(next));
	enum result result = RESULT_NO_MEMORY;

	run->narrowed = next;
	if (record != NULL)
		result = audit_submit(run->audit, "policy_replace", record,
		    agent_run_policy_on_synced, run);
	json_decref(record);
	if (result == RESULT_OK)
		return;
	run->narrowed = NULL;
	json_decref(next);
	agent_run_close(
	    run, "audit_failed", "the narrowed grant cannot be recorded");
}

/* What a run would get now; *over_r: this one cannot go on with it. */
static enum result
agent_run_policy_llm(struct agent_run *run, const struct config *config,
    json_t **next_r, bool *over_r, struct json_fault *fault)
{
	const struct agent_package *package = &run->plan.package;
	const struct llm_part_plan *plan = &run->plan.llm;
	json_t *files = NULL, *grant = NULL, *limits = NULL;
	enum result result =
	    provider_files_load(run->plan.run.home, &files, fault);

	*next_r = NULL;
	if (result == RESULT_OK)
		result = llm_policy_make(config, package->llm,
		    package->max_iterations, files, &grant, &limits, fault);
	*over_r = grant == NULL || llm_narrow_ends(plan->limits, limits);
	if (result == RESULT_OK && !*over_r) {
		*next_r = llm_narrow_grant(plan->grant, grant);
		result = *next_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	json_decref(files);
	json_decref(grant);
	json_decref(limits);
	return result;
}

/* Takes next; NULL: no LLM. */
static void
agent_run_policy_apply(struct agent_run *run, json_t *next)
{
	if (next != NULL && run->narrowed == NULL &&
	    !json_equal(next, run->plan.llm.grant))
		agent_run_policy_submit(run, next);
	else
		json_decref(next); /* the record before is on its way */
}

static void
agent_run_policy_on_changed(bool lost, void *context)
{
	struct agent_run *run = context;
	struct json_fault fault = {""};
	struct config *config = NULL;
	json_t *next = NULL;
	bool over = false;
	enum result result =
	    lost ? RESULT_SYSTEM : config_load(&config, &fault);

	if (result == RESULT_OK && run->plan.has_llm)
		result =
		    agent_run_policy_llm(run, config, &next, &over, &fault);
	if (result == RESULT_OK && run_entry_still(&run->plan.run, config) &&
	    !over) {
		agent_run_policy_apply(run, next);
		config_free(&config);
		return;
	}
	json_decref(next);
	if (result != RESULT_OK)
		agent_run_close(run, "policy_unavailable",
		    fault.text[0] != '\0'
			? fault.text
			: "the configuration cannot be watched any more");
	else
		agent_run_close(run, "policy_changed",
		    over ? "models were turned off for agents, or their budget "
			   "of tokens, money or a day was narrowed"
			 : "agents of its tier were turned off, or its tier is "
			   "not proven any more");
	config_free(&config);
}

/* Its attestation expired. */
static void
agent_run_policy_on_over(void *context, const char *code, const char *detail)
{
	agent_run_close(context, code, detail);
}

enum result
agent_run_policy_start(struct agent_run *run)
{
	enum result result = run_term_new(run->base, &run->plan.run, 0,
	    agent_run_policy_on_over, run, &run->term);

	if (result != RESULT_OK)
		return result;
	return config_watch_new(run->base, agent_run_policy_on_changed, run,
	    &run->watch, &run->plan.run.fault);
}
