/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a tool pack that serves; see pack_serve.h. It must never
 * start anything, and asks the same questions as a run of one tool.
 */
#include "supervisor/pack/pack_serve.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/pack/pack_run_plan.h"

#define PACK_SERVE_PLAN_MAX (100U * 1024U) /* bytes of one word of argv */

/* What the program needs to know of one tool. */
static json_t *
pack_serve_tool(const struct pack_package *package, const json_t *tool)
{
	static const char *const kept[] = {
	    "name", "description", "input_schema", NULL};
	struct pack_function function;
	struct json_fault fault = {""};
	json_t *row = NULL;

	if (pack_package_function(package,
		json_string_value(json_object_get(tool, "name")), &function,
		&fault) == RESULT_OK)
		row = pack_run_plan_called(package, &function);
	for (size_t i = 0; row != NULL && kept[i] != NULL; i++) {
		json_t *value = json_object_get(tool, kept[i]);

		if (value != NULL && json_object_set(row, kept[i], value) != 0)
			return NULL;
	}
	return row;
}

static char *
pack_serve_text(const struct pack_package *package, uint64_t result_max)
{
	json_t *rows = json_array(), *plan;
	const json_t *tool;
	char *text = NULL;
	size_t i;

	json_array_foreach(package->tools, i, tool)
	{
		if (json_array_append_new(
			rows, pack_serve_tool(package, tool)) != 0) {
			json_decref(rows);
			return NULL;
		}
	}
	plan = json_pack(
	    "{s:o, s:I}", "tools", rows, "result_max", (json_int_t)result_max);
	if (plan != NULL)
		text = json_dumps(plan, JSON_COMPACT);
	json_decref(plan);
	return text;
}

static enum result
pack_serve_word(struct mcp_run_plan *plan, const struct pack_package *package,
    const struct mcp_run_options *options, size_t count)
{
	struct run_entry *run = &plan->run;

	plan->owned[1] = pack_serve_text(package, options->caller->result_max);
	if (plan->owned[1] == NULL) {
		json_field_fault(&run->fault, "out of memory");
		return run_entry_fail(run, RESULT_NO_MEMORY, "internal");
	}
	if (strlen(plan->owned[1]) > PACK_SERVE_PLAN_MAX) {
		json_field_fault(&run->fault,
		    "%.60s: descriptions and schemas of its tools are longer "
		    "than %u bytes",
		    run->slug, PACK_SERVE_PLAN_MAX);
		return run_entry_fail(run, RESULT_REFUSED, "not_runnable");
	}
	plan->argv[count++] = "serve";
	plan->argv[count++] = plan->owned[1];
	plan->argv[count] = NULL;
	return RESULT_OK;
}

static enum result
pack_serve_pack(
    const struct mcp_run_options *options, struct mcp_run_plan *plan)
{
	struct run_entry *run = &plan->run;
	struct pack_package package;
	bool denied = false;
	size_t count = 0;
	enum result result =
	    pack_package_read(run->slug, run->entry, &package, &run->fault);

	if (result != RESULT_OK)
		return run_entry_fail(run, result, "not_runnable");
	result = pack_run_plan_allowed(run, &package);
	if (result == RESULT_OK)
		result =
		    run_secret_make(run, options->consent_once, &plan->secret);
	if (result == RESULT_OK)
		result =
		    pack_run_plan_egress(run, &package, &plan->egress, &denied);
	if (result == RESULT_OK)
		result = pack_run_plan_words(
		    run, &package, plan->argv, &count, &plan->owned[0]);
	if (result == RESULT_OK)
		result = pack_serve_word(plan, &package, options, count);
	if (result != RESULT_OK)
		return result;
	/* What the gate's options and the session ask of it. */
	plan->package.slug = package.slug;
	plan->package.version = package.version;
	plan->package.tools = package.tools;
	pack_run_plan_spec(&package, &plan->spec);
	plan->spec.argv = plan->argv;
	plan->spec.image = run->image;
	plan->spec.tier = tier_name(run->trust.tier);
	plan->spec.secret = &plan->secret;
	plan->spec.egress = plan->egress;
	return RESULT_OK;
}

enum result
pack_serve_plan(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r)
{
	enum result result = mcp_run_plan_open(options, plan_r);

	if (result != RESULT_OK)
		return result;
	if (pack_package_is_pack(plan_r->run.entry))
		return pack_serve_pack(options, plan_r);
	return mcp_run_plan_decide(options, plan_r);
}
