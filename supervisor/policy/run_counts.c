/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a run. Called by run_record.c. It must never keep a name that an
 * agent made up: models are kept of calls that were served alone.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/policy/run_counts.h"

static const char *const run_counts_names[RUN_COUNTS_ENDS] = {
    [RUN_COUNTS_OK] = "ok",
    [RUN_COUNTS_REFUSED_DISABLED] = "refused_disabled",
    [RUN_COUNTS_REFUSED_LIMIT] = "refused_limit",
    [RUN_COUNTS_REFUSED_INPUT] = "refused_input",
    [RUN_COUNTS_REFUSED_OUTPUT] = "refused_output",
    [RUN_COUNTS_REFUSED_MODEL] = "refused_model",
    [RUN_COUNTS_REFUSED_REQUEST] = "refused_request",
    [RUN_COUNTS_PROVIDER_ERRORS] = "provider_errors",
    [RUN_COUNTS_CANCELLED] = "cancelled",
};

enum run_counts_end
run_counts_end_of(const char *code)
{
	static const struct {
		const char *code;
		enum run_counts_end end;
	} rows[] = {
	    {"", RUN_COUNTS_OK},
	    {"provider_not_allowed", RUN_COUNTS_REFUSED_DISABLED},
	    {"path_not_allowed", RUN_COUNTS_REFUSED_DISABLED},
	    {"policy_unavailable", RUN_COUNTS_REFUSED_DISABLED},
	    {"budget_exceeded", RUN_COUNTS_REFUSED_LIMIT},
	    {"too_many_calls", RUN_COUNTS_REFUSED_LIMIT},
	    {"too_large", RUN_COUNTS_REFUSED_INPUT},
	    {"output_limit", RUN_COUNTS_REFUSED_OUTPUT},
	    {"model_not_allowed", RUN_COUNTS_REFUSED_MODEL},
	    {"bad_request", RUN_COUNTS_REFUSED_REQUEST},
	    {"method_refused", RUN_COUNTS_REFUSED_REQUEST},
	    {"misdirected", RUN_COUNTS_REFUSED_REQUEST},
	    {"upgrade_refused", RUN_COUNTS_REFUSED_REQUEST},
	    {"field_not_allowed", RUN_COUNTS_REFUSED_REQUEST},
	    {"header_not_allowed", RUN_COUNTS_REFUSED_REQUEST},
	    {"cancelled", RUN_COUNTS_CANCELLED},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].end;
	return RUN_COUNTS_PROVIDER_ERRORS;
}

static void
run_counts_add(int64_t *sum, int64_t value)
{
	if (value > 0 && __builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static int64_t
run_counts_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void
run_counts_model(struct run_counts *counts, const json_t *usage)
{
	const char *provider =
	    json_string_value(json_object_get(usage, "provider"));
	const char *model = json_string_value(json_object_get(usage, "model"));
	char name[RUN_COUNTS_NAME_MAX];
	unsigned i;

	(void)snprintf(name, sizeof(name), "%s/%s",
	    provider != NULL ? provider : "", model != NULL ? model : "");
	for (i = 0; i < counts->model_count; i++)
		if (strcmp(counts->models[i], name) == 0)
			return;
	counts->more_models = counts->model_count == RUN_COUNTS_MODELS;
	if (!counts->more_models)
		memcpy(
		    counts->models[counts->model_count++], name, sizeof(name));
}

void
run_counts_usage(struct run_counts *counts, const json_t *usage)
{
	const json_t *amounts = json_object_get(usage, "amounts");
	const char *code = json_string_value(json_object_get(usage, "code"));
	enum run_counts_end end = run_counts_end_of(code != NULL ? code : "?");
	int64_t count = run_counts_number(usage, "count");
	int64_t cost = run_counts_number(amounts, "cost_microusd");

	run_counts_add(&counts->requests, count);
	run_counts_add(&counts->ends[end], count);
	run_counts_add(&counts->calls, run_counts_number(amounts, "requests"));
	run_counts_add(
	    &counts->input_chars, run_counts_number(amounts, "input_chars"));
	run_counts_add(
	    &counts->output_chars, run_counts_number(amounts, "output_chars"));
	run_counts_add(&counts->tokens, run_counts_number(amounts, "tokens"));
	run_counts_add(&counts->cost_microusd, cost);
	if (json_is_true(json_object_get(usage, "estimated")))
		run_counts_add(&counts->estimated, count);
	if (cost < 0)
		run_counts_add(&counts->unpriced, count);
	if (end == RUN_COUNTS_OK)
		run_counts_model(counts, usage);
}

void
run_counts_tool(struct run_counts *counts, const char *code, bool refused)
{
	if (refused)
		run_counts_add(&counts->tool_refusals, 1);
	else
		run_counts_add(&counts->tool_calls, 1);
	if (!refused && code[0] != '\0')
		run_counts_add(&counts->tool_errors, 1);
}

json_t *
run_counts_json(const struct run_counts *counts)
{
	json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "requests", (json_int_t)counts->requests, "calls",
	    (json_int_t)counts->calls, "input_chars",
	    (json_int_t)counts->input_chars, "output_chars",
	    (json_int_t)counts->output_chars, "tokens",
	    (json_int_t)counts->tokens, "cost_microusd",
	    (json_int_t)counts->cost_microusd, "estimated",
	    (json_int_t)counts->estimated, "unpriced",
	    (json_int_t)counts->unpriced);
	json_t *models = json_array();
	unsigned i;

	for (i = 0; i < RUN_COUNTS_ENDS; i++)
		(void)json_object_set_new(
		    object, run_counts_names[i], json_integer(counts->ends[i]));
	for (i = 0; i < counts->model_count; i++)
		(void)json_array_append_new(
		    models, json_string(counts->models[i]));
	if (counts->more_models)
		(void)json_array_append_new(models, json_string("(others)"));
	(void)json_object_set_new(object, "models", models);
	return object;
}
