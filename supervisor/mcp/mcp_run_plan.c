/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions of a run before its start. Called by mcp_run; it must never
 * start anything, and never widen what the lockfile and the operator say.
 */
#include "supervisor/mcp/mcp_run_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/gate_config.h"
#include "supervisor/policy/guard_make.h"

#define MCP_RUN_PLAN_AROUND 8192 /* bytes of a message around its content */

static enum result
mcp_run_plan_fail(
    struct mcp_run_plan *plan, enum result result, const char *code)
{
	return run_entry_fail(&plan->run, result, code);
}

static enum result
mcp_run_plan_package(struct mcp_run_plan *plan)
{
	struct run_entry *run = &plan->run;
	enum result result = mcp_package_read(
	    run->slug, run->entry, &plan->package, &run->fault);

	if (result != RESULT_OK)
		return mcp_run_plan_fail(plan, result,
		    result == RESULT_MISMATCH ? "integrity_entry"
					      : "not_runnable");
	return RESULT_OK;
}

/* Who wrote the lockfile says what it asks for, not who runs it. */
static void
mcp_run_plan_unasked(struct mcp_run_plan *plan)
{
	const struct mcp_package *package = &plan->package;
	size_t count = json_array_size(package->domains);
	const char *first =
	    json_string_value(json_array_get(package->domains, 0));

	json_field_fault(&plan->run.fault,
	    "%s: %.40s there has no consent on this host: it reaches %zu "
	    "hosts%s%.24s%s, reads %.32s; 'agentnode lock seal' consents, or "
	    "'agentnode mcp install' it",
	    run_entry_shown(&plan->run), package->slug, count,
	    count > 0 ? " (" : "", count > 0 ? first : "",
	    count > 1   ? ", ...)"
	    : count > 0 ? ")"
			: "",
	    package->files_dir != NULL ? package->files_dir : "no folder");
}

static enum result
mcp_run_plan_allowed(struct mcp_run_plan *plan)
{
	enum result result = run_entry_boundary(&plan->run);

	if (result != RESULT_OK)
		return result;
	result = run_entry_consent(&plan->run);
	if (result == RESULT_REFUSED)
		mcp_run_plan_unasked(plan);
	if (result == RESULT_OK)
		result = run_entry_image(&plan->run);
	plan->spec.image = plan->run.image;
	return result;
}

/* The sealed command, the words of the entry, the words of this call. */
static enum result
mcp_run_plan_command(
    struct mcp_run_plan *plan, const struct mcp_run_options *options)
{
	const json_t *words = plan->package.command;
	size_t i, own = json_array_size(words), count = 2;

	own = own > 0 ? own - 1 : 0; /* the first is the command's name */
	if (own + options->arg_count > MCP_RUN_PLAN_ARGS_MAX) {
		json_field_fault(&plan->run.fault,
		    "more than %u words for the server", MCP_RUN_PLAN_ARGS_MAX);
		return mcp_run_plan_fail(plan, RESULT_TOO_LONG, "bad_args");
	}
	plan->argv[0] = plan->package.program;
	plan->argv[1] = plan->package.entry;
	for (i = 0; i < own; i++)
		plan->argv[count++] =
		    json_string_value(json_array_get(words, i + 1));
	for (i = 0; i < options->arg_count; i++)
		plan->argv[count++] = options->args[i];
	plan->argv[count] = NULL;
	plan->spec.argv = plan->argv;
	return RESULT_OK;
}

/* Is this name given with the call? That one counts. */
static bool
mcp_run_plan_is_given(const struct mcp_run_options *options, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < options->env_count; i++) {
		if (strncmp(options->env[i], name, len) == 0 &&
		    options->env[i][len] == '=')
			return true;
	}
	return false;
}

/* What the entry keeps, as NAME=VALUE. */
static enum result
mcp_run_plan_kept(
    struct mcp_run_plan *plan, const struct mcp_run_options *options)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)plan->package.env, name, value)
	{
		if (mcp_run_plan_is_given(options, name))
			continue;
		if (plan->kept_count == ENV_ENTRY_MAX ||
		    asprintf(&plan->kept[plan->kept_count], "%s=%s", name,
			json_string_value(value)) < 0) {
			json_field_fault(&plan->run.fault, "out of memory");
			return mcp_run_plan_fail(
			    plan, RESULT_NO_MEMORY, "internal");
		}
		plan->kept_count++;
	}
	return RESULT_OK;
}

/* Ours, the entry's, then the operator's. A server that keeps state lives
 * in it. */
static void
mcp_run_plan_environment(
    struct mcp_run_plan *plan, const struct mcp_run_options *options)
{
	size_t i, count = 0;

	plan->env[count++] = "NODE_PATH=" MCP_PACKAGE_PACK "/node_modules";
	plan->env[count++] = "PYTHONDONTWRITEBYTECODE=1";
	plan->env[count++] = "PYTHONUNBUFFERED=1";
	plan->spec.cwd = "/sandbox-home";
	if (plan->package.files_dir != NULL)
		plan->spec.cwd = plan->package.files_target;
	if (plan->package.state_size > 0) {
		plan->env[count++] = "HOME=" MCP_PACKAGE_STATE;
		plan->spec.cwd = MCP_PACKAGE_STATE;
	}
	for (i = 0; i < plan->kept_count; i++)
		plan->env[count++] = plan->kept[i];
	for (i = 0; i < options->env_count; i++)
		plan->env[count++] = options->env[i];
	plan->env[count] = NULL;
	plan->spec.env = plan->env;
}

static enum result
mcp_run_plan_egress(
    struct mcp_run_plan *plan, const struct mcp_run_options *options)
{
	struct run_entry_hosts hosts = {.domains = plan->package.domains,
	    .field = "mcp_allowed_domains",
	    .asker = POLICY_ENTRY_FROM_CONSENTED,
	    .allow = options->allow,
	    .allow_count = options->allow_count,
	    .sealed = plan->secret.need.count > 0};
	enum result result =
	    run_entry_egress(&plan->run, &hosts, &plan->egress);

	plan->spec.egress = plan->egress;
	return result;
}

/* Its secrets, and that nothing else says the same variables. */
static enum result
mcp_run_plan_secret(
    struct mcp_run_plan *plan, const struct mcp_run_options *options)
{
	enum result result =
	    run_secret_make(&plan->run, options->consent_once, &plan->secret);
	size_t i;

	for (i = 0; i < options->env_count && result == RESULT_OK; i++)
		result = run_secret_clash(
		    &plan->run, &plan->secret, options->env[i]);
	for (i = 0; i < plan->kept_count && result == RESULT_OK; i++)
		result =
		    run_secret_clash(&plan->run, &plan->secret, plan->kept[i]);
	plan->spec.secret = &plan->secret;
	return result;
}

static void
mcp_run_plan_spec(struct mcp_run_plan *plan)
{
	struct sandbox_spec *spec = &plan->spec;
	const struct mcp_package *package = &plan->package;

	spec->kind = "mcp";
	spec->package = package->slug;
	spec->version = package->version;
	spec->tier = tier_name(plan->run.trust.tier);
	spec->mounts[0] = (struct sandbox_mount){.volume = package->volume,
	    .target = MCP_PACKAGE_PACK,
	    .content_hash = package->content_hash,
	    .host_path = package->host_path};
	spec->stdin_fd = spec->stdout_fd = spec->stderr_fd = -1;
}

enum result
mcp_run_plan_open(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r)
{
	memset(plan_r, 0, sizeof(*plan_r));
	return run_entry_open(options->slug, options->lockfile, &plan_r->run);
}

enum result
mcp_run_plan_decide(
    const struct mcp_run_options *options, struct mcp_run_plan *plan)
{
	enum result result = mcp_run_plan_package(plan);

	if (result == RESULT_OK)
		result = mcp_run_plan_allowed(plan);
	if (result == RESULT_OK)
		result = mcp_run_plan_command(plan, options);
	if (result == RESULT_OK)
		result = mcp_run_plan_kept(plan, options);
	if (result == RESULT_OK)
		result = mcp_run_plan_secret(plan, options);
	if (result == RESULT_OK)
		result = mcp_run_plan_egress(plan, options);
	if (result != RESULT_OK)
		return result;
	mcp_run_plan_environment(plan, options);
	mcp_run_plan_spec(plan);
	return RESULT_OK;
}

enum result
mcp_run_plan_make(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r)
{
	enum result result = mcp_run_plan_open(options, plan_r);

	return result == RESULT_OK ? mcp_run_plan_decide(options, plan_r)
				   : result;
}

void
mcp_run_plan_clear(struct mcp_run_plan *plan)
{
	json_decref(plan->egress);
	plan->egress = NULL;
	for (size_t i = 0; i < 2; i++) {
		free(plan->owned[i]);
		plan->owned[i] = NULL;
	}
	run_secret_clear(&plan->secret);
	while (plan->kept_count > 0)
		free(plan->kept[--plan->kept_count]);
	run_entry_clear(&plan->run);
}

/* Names only: an allowlist in the lockfile may hold objects with more. */
static json_t *
mcp_run_plan_tools(const json_t *tools)
{
	json_t *list = json_array();
	const json_t *item;
	size_t i;

	json_array_foreach(tools, i, item)
	{
		const json_t *name =
		    json_is_object(item) ? json_object_get(item, "name") : item;

		if (json_array_append(list, (json_t *)name) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static const char *
mcp_run_plan_mode(const struct mcp_run_options *options)
{
	if (options->caller != NULL)
		return "caller";
	return options->list_tools ? "tools" : "mcp";
}

/* A line holds the arguments or the result, and what is around them. */
static bool
mcp_run_plan_caller(
    json_t *object, const struct mcp_run_caller *caller, int64_t line_max)
{
	int64_t most = (int64_t)(caller->arguments_max > caller->result_max
				     ? caller->arguments_max
				     : caller->result_max);

	if (line_max < most + MCP_RUN_PLAN_AROUND)
		line_max = most + MCP_RUN_PLAN_AROUND;
	return json_object_set_new(
		   object, "line_max", json_integer(line_max)) == 0 &&
	       json_object_set_new(object, "request_timeout_s",
		   json_integer(caller->call_timeout_s)) == 0 &&
	       json_object_set_new(object, "arguments_max",
		   json_integer((json_int_t)caller->arguments_max)) == 0 &&
	       json_object_set_new(object, "tool_result_max",
		   json_integer((json_int_t)caller->result_max)) == 0;
}

json_t *
mcp_run_plan_guard(const struct mcp_run_plan *plan,
    const struct mcp_run_options *options, const struct config *config)
{
	const struct guard_make make = {.config = config,
	    .entry = plan->run.entry,
	    .consented = plan->run.agreed,
	    .slug = plan->package.slug,
	    .agent = options->caller != NULL ? options->caller->agent : NULL,
	    .agent_asks =
		options->caller != NULL ? options->caller->agent_asks : NULL,
	    .tier = plan->run.trust.tier,
	    .reaches = plan->egress != NULL,
	    .inside = !plan->run.on_host};

	return guard_make_plan(&make);
}

json_t *
mcp_run_plan_gate(
    const struct mcp_run_plan *plan, const struct mcp_run_options *options)
{
	const struct config *config = plan->run.config;
	int64_t line_max = config_int(config, "mcp.line_max");
	int64_t start_s = config_int(config, "mcp.start_timeout_s");
	json_t *tools = NULL, *object;
	bool good;

	if (line_max > GATE_CONFIG_LINE_MAX)
		line_max = GATE_CONFIG_LINE_MAX;
	object = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s, s:b}",
	    "mode", mcp_run_plan_mode(options), "package", plan->package.slug,
	    "tier", tier_name(plan->run.trust.tier), "line_max",
	    (json_int_t)line_max, "start_timeout_s", (json_int_t)start_s,
	    "list_timeout_s", (json_int_t)start_s, "json", options->json,
	    "log_level", config_text(config, "log.level"), "no_landlock",
	    config_override(config, "no_landlock"));
	good = object != NULL &&
	       json_object_set_new(object, "guard",
		   mcp_run_plan_guard(plan, options, plan->run.config)) == 0;
	if (good && options->caller != NULL)
		good = mcp_run_plan_caller(object, options->caller, line_max);
	if (good && plan->package.tools != NULL) {
		tools = mcp_run_plan_tools(plan->package.tools);
		good = tools != NULL &&
		       json_object_set_new(object, "tools", tools) == 0;
	}
	if (good)
		return object;
	json_decref(object);
	return NULL;
}
