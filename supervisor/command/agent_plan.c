/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions of an agent's run before its start; see agent_plan.h. Called by
 * agent_run; it must never start anything, and never widen what lockfile,
 * configuration and operator say.
 */
#include "supervisor/command/agent_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/agent/llm_plan.h"
#include "supervisor/pack/shim_text.h"
#include "supervisor/package/run_secret.h"
#include "supervisor/policy/run_record.h"
#include "supervisor/policy/stored_secret.h"

#define AGENT_PLAN_RESULT_MAX (1U << 20)

static enum result
agent_plan_fail(struct agent_plan *plan, enum result result, const char *code)
{
	return run_entry_fail(&plan->run, result, code);
}

static enum result
agent_plan_package(struct agent_plan *plan)
{
	struct run_entry *run = &plan->run;
	enum result result = agent_package_read(
	    run->slug, run->entry, &plan->package, &run->fault);

	if (result != RESULT_OK)
		return agent_plan_fail(plan, result, "not_runnable");
	return RESULT_OK;
}

/* Its packages' secrets are for them: nothing that starts from here on is
 * to show them. Then those of the keychain, so that no call of a tool waits
 * for it and nobody is asked in the middle of a run. */
static void
agent_plan_hide(struct agent_plan *plan)
{
	void (*const steps[])(const char *, const json_t *) = {
	    run_secret_hide, run_secret_prefetch};
	const json_t *slug;
	size_t i;

	for (size_t k = 0; k < 2; k++) {
		json_array_foreach(plan->package.packages, i, slug)
		{
			const char *text = json_string_value(slug);

			if (text != NULL)
				steps[k](text,
				    lockfile_entry(plan->run.lockfile, text));
		}
	}
	stored_secret_quiet();
}

static enum result
agent_plan_allowed(struct agent_plan *plan)
{
	struct run_entry *run = &plan->run;
	enum result result = run_entry_boundary(run);

	if (result != RESULT_OK)
		return result;
	result = run_entry_consent(run);
	if (result == RESULT_REFUSED)
		json_field_fault(&run->fault,
		    "%s: %.40s there has no consent on this host; 'agentnode "
		    "lock seal' shows what it asks for and consents, or "
		    "'agentnode install' it",
		    run_entry_shown(run), run->slug);
	if (result == RESULT_OK)
		result = run_entry_image(run);
	if (result == RESULT_OK)
		agent_plan_hide(plan);
	plan->spec.image = run->image;
	return result;
}

/* The program that starts a function, as a word of the command. */
static enum result
agent_plan_shim(struct agent_plan *plan)
{
	enum result result =
	    shim_text_load(plan->package.is_node ? "agent/agentnode_agent.mjs"
						 : "agent/agentnode_agent.py",
		&plan->shim, &plan->run.fault);

	if (result != RESULT_OK)
		return agent_plan_fail(plan, result, "not_installed");
	return RESULT_OK;
}

static enum result
agent_plan_command(struct agent_plan *plan)
{
	static const char *const python[] = {"python3", "-c", NULL};
	static const char *const node[] = {
	    "node", "--input-type=module", "-e", NULL};
	const char *const *start = plan->package.is_node ? node : python;
	const json_t *words = plan->package.command;
	size_t i, count = 0;
	enum result result;

	plan->spec.argv = plan->argv;
	plan->spec.cwd = AGENT_PACKAGE_PACK;
	if (words == NULL) {
		result = agent_plan_shim(plan);
		if (result != RESULT_OK)
			return result;
		for (; start[count] != NULL; count++)
			plan->argv[count] = start[count];
		plan->argv[count] = plan->shim;
		return RESULT_OK;
	}
	for (i = 0; i < json_array_size(words) && count < AGENT_PLAN_WORDS_MAX;
	     i++)
		plan->argv[count++] =
		    json_string_value(json_array_get(words, i));
	return RESULT_OK;
}

static enum result
agent_plan_egress(
    struct agent_plan *plan, const struct agent_run_options *options)
{
	struct run_entry_hosts hosts = {.domains = plan->package.domains,
	    .field = "permissions.allowed_domains",
	    .asker = POLICY_ENTRY_FROM_MANIFEST,
	    .allow = options->allow,
	    .allow_count = options->allow_count};
	enum result result =
	    run_entry_egress(&plan->run, &hosts, &plan->egress);

	plan->spec.egress = plan->egress;
	return result;
}

static enum result
agent_plan_environment(
    struct agent_plan *plan, const struct agent_run_options *options)
{
	enum result result = agent_env_start(
	    &plan->env, &plan->package, options->goal, options->input);

	if (result == RESULT_OK && plan->has_llm)
		result = llm_plan_environment(&plan->llm, &plan->env);
	plan->spec.env = (const char *const *)plan->env.words;
	if (result == RESULT_OK)
		return RESULT_OK;
	json_field_fault(&plan->run.fault,
	    result == RESULT_TOO_LONG
		? "goal and input are more than an environment holds"
		: "out of memory");
	return agent_plan_fail(plan, result, "bad_args");
}

static void
agent_plan_spec(struct agent_plan *plan)
{
	struct sandbox_spec *spec = &plan->spec;
	const struct agent_package *package = &plan->package;
	size_t count = 0;

	spec->kind = "agent";
	spec->package = package->slug;
	spec->version = package->version;
	spec->tier = tier_name(plan->run.trust.tier);
	spec->limits.wall_s = (unsigned)package->max_runtime_s;
	spec->mounts[0] = (struct sandbox_mount){.volume = package->volume,
	    .target = AGENT_PACKAGE_PACK,
	    .content_hash = package->content_hash,
	    .host_path = package->host_path};
	spec->stdin_fd = spec->stdout_fd = spec->stderr_fd = -1;
	plan->has_tools =
	    package->command == NULL || json_array_size(package->packages) > 0;
	if (plan->has_llm) {
		plan->llm_port = count;
		spec->ports[count++] =
		    (struct sandbox_port){"llm", AGENT_ENV_LLM_PORT};
	}
	if (plan->has_tools) {
		plan->tools_port = count;
		spec->ports[count++] =
		    (struct sandbox_port){"tools", AGENT_ENV_TOOLS_PORT};
	}
}

/* What it may ask of models and tools, for the record of its launch. */
static enum result
agent_plan_record(struct agent_plan *plan)
{
	const struct agent_package *package = &plan->package;
	json_t *tools = NULL, *llm = NULL;

	if (json_array_size(package->packages) > 0)
		tools = json_pack("{s:O, s:I}", "packages", package->packages,
		    "max_calls", (json_int_t)package->max_tool_calls);
	if (plan->has_llm) {
		llm = run_record_granted(plan->llm.grant);
		(void)json_object_set(llm, "budgets", plan->llm.limits);
	}
	plan->record = json_pack("{s:o?, s:o?, s:I}", "llm", llm, "tools",
	    tools, "max_runtime_seconds", (json_int_t)package->max_runtime_s);
	plan->spec.record = plan->record;
	if (plan->record != NULL)
		return RESULT_OK;
	json_field_fault(&plan->run.fault, "out of memory");
	return agent_plan_fail(plan, RESULT_NO_MEMORY, "internal");
}

/* The LLM, when the manifest asks for one and the host grants it. */
static enum result
agent_plan_llm(struct agent_plan *plan, const struct agent_run_options *options)
{
	struct run_entry *run = &plan->run;
	enum result result = llm_plan_make(run->config, run->home,
	    &plan->package, &plan->llm, &plan->has_llm, &run->fault);

	plan->llm.passphrase_fd = options->passphrase_fd;
	if (result != RESULT_OK)
		return agent_plan_fail(plan, result, "bad_config");
	return RESULT_OK;
}

enum result
agent_plan_make(
    const struct agent_run_options *options, struct agent_plan *plan_r)
{
	enum result result;

	memset(plan_r, 0, sizeof(*plan_r));
	llm_plan_init(&plan_r->llm);
	result = run_entry_open(options->slug, options->lockfile, &plan_r->run);
	if (result == RESULT_OK)
		result = agent_plan_package(plan_r);
	if (result == RESULT_OK)
		result = agent_plan_allowed(plan_r);
	if (result == RESULT_OK)
		result = agent_plan_command(plan_r);
	if (result == RESULT_OK)
		result = agent_plan_egress(plan_r, options);
	if (result == RESULT_OK)
		result = agent_plan_llm(plan_r, options);
	if (result == RESULT_OK)
		result = agent_plan_environment(plan_r, options);
	if (result == RESULT_OK)
		result = agent_plan_record(plan_r);
	if (result == RESULT_OK)
		agent_plan_spec(plan_r);
	return result;
}

void
agent_plan_clear(struct agent_plan *plan)
{
	llm_plan_clear(&plan->llm);
	agent_env_clear(&plan->env);
	json_decref(plan->egress);
	json_decref(plan->record);
	plan->egress = plan->record = NULL;
	free(plan->shim);
	plan->shim = NULL;
	run_entry_clear(&plan->run);
}

/* [{"slug":...}], in the manifest's order. */
static json_t *
agent_plan_packages(const struct agent_plan *plan)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < json_array_size(plan->package.packages); i++)
		if (json_array_append_new(list,
			json_pack("{s:O}", "slug",
			    json_array_get(plan->package.packages, i))) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

json_t *
agent_plan_gate(
    const struct agent_plan *plan, const struct agent_run_options *options)
{
	const struct config *config = plan->run.config;

	return json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:b, s:b, s:s, s:b}",
	    "mode", "agent", "package", plan->package.slug, "tier",
	    tier_name(plan->run.trust.tier), "packages",
	    agent_plan_packages(plan), "max_tool_calls",
	    (json_int_t)plan->package.max_tool_calls, "output_max",
	    (json_int_t)config_int(config, "sandbox.output_max"), "product",
	    plan->package.command != NULL, "raw", options->raw, "log_level",
	    config_text(config, "log.level"), "no_landlock",
	    config_override(config, "no_landlock"));
}
