/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions of a tool's run before its start; see pack_run_plan.h. It must
 * never start anything, and never widen what lockfile, configuration and
 * operator say.
 */
#include "supervisor/pack/pack_run_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/pack/pack_admit.h"
#include "supervisor/pack/pack_arguments.h"
#include "supervisor/pack/shim_text.h"

/* The request is the arguments and a few names. */
#define PACK_RUN_PLAN_REQUEST_MAX (PACK_ADMIT_ARGUMENTS_MAX + 4096U)

/* ---- parts ---- */

static enum result
pack_run_plan_unasked(struct run_entry *run, const struct pack_package *package)
{
	size_t count = package->network == PACK_NETWORK_RESTRICTED
			   ? json_array_size(package->domains)
			   : 0;

	json_field_fault(&run->fault,
	    "%s: %.40s there has no consent on this host: %zu tools, network "
	    "%s, %zu hosts; 'agentnode lock seal' shows what it asks for and "
	    "consents, or 'agentnode install' it",
	    run_entry_shown(run), run->slug, json_array_size(package->tools),
	    pack_package_network_name(package->network), count);
	return RESULT_REFUSED;
}

/* Nothing on the host holds an allowlist. */
static enum result
pack_run_plan_host(struct run_entry *run, const struct pack_package *package)
{
	if (package->network != PACK_NETWORK_RESTRICTED)
		return RESULT_OK;
	json_field_fault(&run->fault,
	    "%.60s declares a restricted network, which holds in the sandbox "
	    "alone: install it again with --sandbox",
	    run->slug);
	return run_entry_fail(run, RESULT_REFUSED, "host_network");
}

enum result
pack_run_plan_allowed(struct run_entry *run, const struct pack_package *package)
{
	enum result result = run_entry_boundary(run);

	if (result != RESULT_OK)
		return result;
	result = run_entry_consent(run);
	if (result == RESULT_REFUSED)
		result = pack_run_plan_unasked(run, package);
	if (result == RESULT_OK && run->on_host)
		return pack_run_plan_host(run, package);
	if (result == RESULT_OK)
		result = run_entry_image(run);
	return result;
}

/* Does the host's owner name this package? */
static bool
pack_run_plan_is_named(const struct config *config, const char *slug)
{
	const json_t *names = config_json(config, "packs.unrestricted_network");
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		if (json_is_string(name) &&
		    strcmp(json_string_value(name), slug) == 0)
			return true;
	}
	return false;
}

enum result
pack_run_plan_egress(struct run_entry *run, const struct pack_package *package,
    json_t **egress_r, bool *denied_r)
{
	bool restricted = package->network == PACK_NETWORK_RESTRICTED;
	struct run_entry_hosts hosts = {
	    .domains = restricted ? package->domains : NULL,
	    .field = "permissions.allowed_domains",
	    .asker = POLICY_ENTRY_FROM_CONSENTED};
	enum result result;

	*egress_r = NULL;
	*denied_r = package->network == PACK_NETWORK_UNRESTRICTED &&
		    !pack_run_plan_is_named(run->config, run->slug);
	if (package->network == PACK_NETWORK_NONE || *denied_r ||
	    (restricted && json_array_size(package->domains) == 0))
		return RESULT_OK;
	result = run_entry_egress(run, &hosts, egress_r);
	/* What is sealed is all there is: the host's own list is for what
	 * has none. */
	if (result == RESULT_OK && restricted)
		(void)json_object_del(*egress_r, "configured");
	return result;
}

void
pack_run_plan_spec(
    const struct pack_package *package, struct sandbox_spec *spec)
{
	static const char *const environment[] = {"NODE_PATH=" PACK_PACKAGE_PACK
						  "/node_modules",
	    "PYTHONPATH=" PACK_PACKAGE_PACK, "PYTHONDONTWRITEBYTECODE=1",
	    "PYTHONUNBUFFERED=1", NULL};

	spec->kind = "toolpack";
	spec->package = package->slug;
	spec->version = package->version;
	spec->env = environment;
	spec->cwd = PACK_PACKAGE_PACK;
	spec->has_result = true;
	spec->mounts[0] = (struct sandbox_mount){.volume = package->volume,
	    .target = PACK_PACKAGE_PACK,
	    .content_hash = package->content_hash,
	    .host_path = package->host_path};
	spec->stdin_fd = spec->stdout_fd = spec->stderr_fd = -1;
}

enum result
pack_run_plan_words(struct run_entry *run, const struct pack_package *package,
    const char **argv, size_t *count_r, char **shim_r)
{
	/* Isolated: a pack does not take the place of a module of Python's
	 * before the program has its own. */
	static const char *const python[] = {
	    "python3", "-I", "-B", "-u", "-c", NULL};
	static const char *const node[] = {
	    "node", "--input-type=module", "-e", NULL};
	const char *const *start = package->is_node ? node : python;
	enum result result =
	    shim_text_load(package->is_node ? "pack/agentnode_tool.mjs"
					    : "pack/agentnode_tool.py",
		shim_r, &run->fault);

	*count_r = 0;
	if (result != RESULT_OK)
		return run_entry_fail(run, result, "not_installed");
	for (; start[*count_r] != NULL; (*count_r)++)
		argv[*count_r] = start[*count_r];
	argv[(*count_r)++] = *shim_r;
	argv[*count_r] = NULL;
	return RESULT_OK;
}

json_t *
pack_run_plan_called(
    const struct pack_package *package, const struct pack_function *function)
{
	const char *place = package->is_node ? "file" : "module";

	if (function->count == 1)
		return json_pack("{s:s, s:[s]}", place, function->place,
		    "functions", function->names[0]);
	return json_pack("{s:s, s:[s, s]}", place, function->place, "functions",
	    function->names[0], function->names[1]);
}

/* ---- one run ---- */

static enum result
pack_run_plan_package(
    struct pack_run_plan *plan, const struct pack_run_plan_options *options)
{
	struct run_entry *run = &plan->run;
	enum result result = pack_package_read(
	    run->slug, run->entry, &plan->package, &run->fault);

	if (result != RESULT_OK)
		return run_entry_fail(run, result, "not_runnable");
	result = pack_package_function(
	    &plan->package, options->tool, &plan->function, &run->fault);
	if (result != RESULT_OK)
		return run_entry_fail(run, result, "no_such_tool");
	return RESULT_OK;
}

static enum result
pack_run_plan_arguments(
    struct pack_run_plan *plan, const struct pack_run_plan_options *options)
{
	struct run_entry *run = &plan->run;
	struct pack_admit_call call = {
	    .package = &plan->package, .function = &plan->function};
	enum result result = pack_arguments_make(options->input, options->args,
	    options->arg_count,
	    json_object_get(plan->function.tool, "input_schema"),
	    &plan->arguments, &run->fault);

	if (result != RESULT_OK)
		return run_entry_fail(run, result, "bad_args");
	call.arguments = plan->arguments;
	return pack_admit(run, &call);
}

/* What the program reads from its standard input. */
static enum result
pack_run_plan_request(struct pack_run_plan *plan)
{
	json_t *request = pack_run_plan_called(&plan->package, &plan->function);
	enum result result = RESULT_NO_MEMORY;
	char *text = NULL;

	if (request != NULL &&
	    json_object_set(request, "kwargs", plan->arguments) == 0)
		text = json_dumps(request, JSON_COMPACT);
	if (text != NULL)
		result = fd_sealed_memfd(
		    "request", text, strlen(text), &plan->request_fd);
	free(text);
	json_decref(request);
	if (result == RESULT_OK)
		return RESULT_OK;
	json_field_fault(&plan->run.fault, "the request cannot be made");
	return run_entry_fail(&plan->run, result, "internal");
}

static enum result
pack_run_plan_time(
    struct pack_run_plan *plan, const struct pack_run_plan_options *options)
{
	int64_t most = config_int(plan->run.config, "packs.timeout_s");

	plan->spec.limits.wall_s =
	    options->timeout_s > 0 ? options->timeout_s : (unsigned)most;
	if ((int64_t)plan->spec.limits.wall_s <= most)
		return RESULT_OK;
	json_field_fault(&plan->run.fault,
	    "--timeout %u is more than packs.timeout_s, which is %lld",
	    options->timeout_s, (long long)most);
	return run_entry_fail(&plan->run, RESULT_REFUSED, "bad_args");
}

enum result
pack_run_plan_make(
    const struct pack_run_plan_options *options, struct pack_run_plan *plan_r)
{
	struct run_entry *run = &plan_r->run;
	size_t count = 0;
	enum result result;

	memset(plan_r, 0, sizeof(*plan_r));
	plan_r->request_fd = -1;
	result = run_entry_open(options->slug, options->lockfile, run);
	if (result == RESULT_OK)
		result = pack_run_plan_package(plan_r, options);
	if (result == RESULT_OK)
		result = pack_run_plan_allowed(run, &plan_r->package);
	if (result == RESULT_OK)
		result = pack_run_plan_arguments(plan_r, options);
	if (result == RESULT_OK)
		result = run_secret_make(
		    run, options->consent_once, &plan_r->secret);
	if (result == RESULT_OK)
		result = pack_run_plan_egress(run, &plan_r->package,
		    &plan_r->egress, &plan_r->network_denied);
	if (result == RESULT_OK)
		result = pack_run_plan_words(
		    run, &plan_r->package, plan_r->argv, &count, &plan_r->shim);
	if (result == RESULT_OK)
		result = pack_run_plan_request(plan_r);
	if (result != RESULT_OK)
		return result;
	pack_run_plan_spec(&plan_r->package, &plan_r->spec);
	plan_r->spec.argv = plan_r->argv;
	plan_r->spec.image = run->image;
	plan_r->spec.tier = tier_name(run->trust.tier);
	plan_r->spec.secret = &plan_r->secret;
	plan_r->spec.egress = plan_r->egress;
	return pack_run_plan_time(plan_r, options);
}

void
pack_run_plan_clear(struct pack_run_plan *plan)
{
	fd_close(&plan->request_fd);
	json_decref(plan->arguments);
	json_decref(plan->egress);
	run_secret_clear(&plan->secret);
	plan->arguments = plan->egress = NULL;
	free(plan->shim);
	plan->shim = NULL;
	run_entry_clear(&plan->run);
}

json_t *
pack_run_plan_gate(const struct pack_run_plan *plan, bool json)
{
	const struct config *config = plan->run.config;

	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:b, s:b, s:s, s:b}",
	    "mode", "pack", "package", plan->package.slug, "tier",
	    tier_name(plan->run.trust.tier), "arguments_max",
	    (json_int_t)PACK_RUN_PLAN_REQUEST_MAX, "tool_result_max",
	    (json_int_t)config_int(config, "packs.result_max"), "json", json,
	    "on_host", plan->run.on_host, "log_level",
	    config_text(config, "log.level"), "no_landlock",
	    config_override(config, "no_landlock"));
}
