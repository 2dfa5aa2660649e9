/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of LLM grants. Called by llm_policy.c. It must never grant
 * what the host did not, nor take something that is missing for permission.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/policy/config_llm.h"
#include "supervisor/policy/llm_ceiling.h"

#define LLM_CEILING_COUNT_MAX INT64_C(1000000000000)

/* The manifest's wishes, read strictly. */
struct llm_ceiling_wish {
	bool enabled;
	int64_t max_calls, max_input_chars, max_output_chars;
	const json_t *models; /* NULL: any */
};

static void
llm_ceiling_read(const json_t *llm_access, struct llm_ceiling_wish *wish_r,
    struct json_fault *fault)
{
	static const char *const keys[] = {"enabled", "max_calls",
	    "max_input_chars", "max_output_chars", "allowed_models", NULL};
	const char *path = "llm_access";

	*wish_r = (struct llm_ceiling_wish){.max_calls = LLM_CEILING_COUNT_MAX,
	    .max_input_chars = LLM_CEILING_COUNT_MAX,
	    .max_output_chars = LLM_CEILING_COUNT_MAX};
	json_field_only(llm_access, path, keys, fault);
	json_field_bool_opt(
	    llm_access, path, "enabled", &wish_r->enabled, fault);
	json_field_int_opt(llm_access, path, "max_calls", 0,
	    LLM_CEILING_COUNT_MAX, &wish_r->max_calls, fault);
	json_field_int_opt(llm_access, path, "max_input_chars", 0,
	    LLM_CEILING_COUNT_MAX, &wish_r->max_input_chars, fault);
	json_field_int_opt(llm_access, path, "max_output_chars", 0,
	    LLM_CEILING_COUNT_MAX, &wish_r->max_output_chars, fault);
	if (json_object_get(llm_access, "allowed_models") != NULL)
		json_field_array(llm_access, path, "allowed_models",
		    LLM_CEILING_MODELS_MAX, &wish_r->models, fault);
}

static int64_t
llm_ceiling_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What both lists allow; *models_r NULL: any. */
static enum result
llm_ceiling_models(
    const json_t *wished, const json_t *allowed, json_t **models_r)
{
	*models_r = NULL;
	if (wished == NULL && allowed == NULL)
		return RESULT_OK;
	if (wished == NULL || allowed == NULL)
		*models_r = json_deep_copy(wished == NULL ? allowed : wished);
	else
		*models_r = config_llm_meet_lists(wished, allowed);
	return *models_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

/* The models of one provider: NULL any; an empty list: none. */
static json_t *
llm_ceiling_models_of(const json_t *models, const char *provider)
{
	struct config_llm_model model;
	json_t *list;
	size_t i;

	if (models == NULL)
		return NULL;
	list = json_array();
	for (i = 0; i < json_array_size(models); i++) {
		const char *text = json_string_value(json_array_get(models, i));

		if (text == NULL || !config_llm_model_parse(text, &model) ||
		    (model.provider[0] != '\0' &&
			strcmp(model.provider, provider) != 0))
			continue;
		if (strcmp(model.model, "*") == 0) {
			json_decref(list);
			return NULL;
		}
		(void)json_array_append_new(list, json_string(model.model));
	}
	return list;
}

/* A model that two entries name is there once. */
static void
llm_ceiling_unique(json_t *list)
{
	size_t i, j;

	for (i = 0; i < json_array_size(list); i++)
		for (j = json_array_size(list) - 1; j > i; j--)
			if (json_equal(json_array_get(list, i),
				json_array_get(list, j)))
				(void)json_array_remove(list, j);
}

static enum result
llm_ceiling_add_provider(
    const char *name, json_t *models, json_t *rows, struct json_fault *fault)
{
	if (json_array_size(rows) == LLM_CEILING_PROVIDERS_MAX ||
	    json_array_size(models) > LLM_CEILING_MODELS_MAX) {
		json_field_fault(fault,
		    "more than %u providers or %u models of one would be "
		    "granted; name fewer in agent_sandbox.llm.allowed_models",
		    LLM_CEILING_PROVIDERS_MAX, LLM_CEILING_MODELS_MAX);
		json_decref(models);
		return RESULT_BAD;
	}
	if (json_array_append_new(rows, models == NULL
					    ? json_pack("{s:s}", "name", name)
					    : json_pack("{s:s, s:o}", "name",
						  name, "models", models)) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

/* Every provider of which a model may be used. */
static enum result
llm_ceiling_providers(const json_t *providers, const json_t *models,
    json_t *rows, struct json_fault *fault)
{
	enum result result = RESULT_OK;
	const char *name;
	json_t *value, *own;

	json_object_foreach((json_t *)(uintptr_t)providers, name, value)
	{
		own = llm_ceiling_models_of(models, name);
		llm_ceiling_unique(own);
		if (own != NULL && json_array_size(own) == 0) {
			json_decref(own);
			continue;
		}
		result = llm_ceiling_add_provider(name, own, rows, fault);
		if (result != RESULT_OK)
			return result;
	}
	return RESULT_OK;
}

static const json_t *
llm_ceiling_find(const json_t *rows, const char *provider)
{
	size_t i;

	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (strcmp(json_string_value(json_object_get(row, "name")),
			provider) == 0)
			return row;
	}
	return NULL;
}

static bool
llm_ceiling_grants(const json_t *row, const char *model)
{
	const json_t *models = json_object_get(row, "models");
	size_t i;

	if (models == NULL)
		return row != NULL;
	for (i = 0; i < json_array_size(models); i++)
		if (strcmp(json_string_value(json_array_get(models, i)),
			model) == 0)
			return true;
	return false;
}

/* Of call_llm: the host's choice where it is granted; where the host named
 * no model, the first that is. NULL: none. */
static json_t *
llm_ceiling_default(const struct llm_ceiling_host *host, const json_t *rows)
{
	const char *model = host->default_model;
	const json_t *row;

	if (host->default_provider == NULL)
		return NULL;
	row = llm_ceiling_find(rows, host->default_provider);
	if (model == NULL)
		model = json_string_value(
		    json_array_get(json_object_get(row, "models"), 0));
	if (row == NULL || model == NULL || !llm_ceiling_grants(row, model))
		return NULL;
	return json_pack(
	    "{s:s, s:s}", "provider", host->default_provider, "model", model);
}

/* Of what is granted. */
static json_t *
llm_ceiling_prices(const struct llm_ceiling_host *host, const json_t *rows)
{
	json_t *list = json_array(), *price;
	struct config_llm_model model;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)host->prices, name, price)
	{
		if (!config_llm_model_parse(name, &model) ||
		    !llm_ceiling_grants(
			llm_ceiling_find(rows, model.provider), model.model))
			continue;
		(void)json_array_append_new(
		    list, json_pack("{s:s, s:s, s:O, s:O}", "provider",
			      model.provider, "model", model.model,
			      "input_microusd_per_million",
			      json_object_get(price, "input"),
			      "output_microusd_per_million",
			      json_object_get(price, "output")));
	}
	return list;
}

static json_t *
llm_ceiling_call_limits(
    const struct llm_ceiling_host *host, const struct llm_ceiling_wish *least)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "requests", (json_int_t)least->max_calls, "concurrent",
	    (json_int_t)host->concurrent, "input_chars",
	    (json_int_t)least->max_input_chars, "output_chars",
	    (json_int_t)least->max_output_chars, "body_bytes",
	    (json_int_t)host->body_bytes, "decoded_bytes",
	    (json_int_t)host->decoded_bytes, "response_bytes",
	    (json_int_t)host->response_bytes, "first_byte_ms",
	    (json_int_t)host->first_byte_ms, "idle_ms",
	    (json_int_t)host->idle_ms, "total_ms", (json_int_t)host->total_ms);
}

/* The host's limits of days and of money, and the run's of this grant. */
static json_t *
llm_ceiling_budgets(
    const struct llm_ceiling_host *host, const struct llm_ceiling_wish *least)
{
	json_t *limits =
	    host->limits != NULL ? json_deep_copy(host->limits) : json_object();
	json_t *run = json_object_get(limits, "run");
	json_t *mine = json_pack("{s:I, s:I, s:I, s:I}", "requests",
	    (json_int_t)least->max_calls, "concurrent",
	    (json_int_t)host->concurrent, "input_chars",
	    (json_int_t)least->max_input_chars, "output_chars",
	    (json_int_t)least->max_output_chars);

	if (run == NULL) {
		run = json_object();
		(void)json_object_set_new(limits, "run", run);
	}
	if (mine == NULL || json_object_update(run, mine) != 0) {
		json_decref(limits);
		limits = NULL;
	}
	json_decref(mine);
	return limits;
}

static enum result
llm_ceiling_grant(const struct llm_ceiling_host *host,
    const struct llm_ceiling_wish *least, json_t *rows, json_t **grant_r)
{
	json_t *none = json_array();

	*grant_r = json_pack("{s:O, s:o*, s:O, s:o, s:o, s:b}", "providers",
	    rows, "default", llm_ceiling_default(host, rows), "opt_in",
	    host->opt_in != NULL ? host->opt_in : none, "limits",
	    llm_ceiling_call_limits(host, least), "prices",
	    llm_ceiling_prices(host, rows), "ledger", 1);
	json_decref(none);
	return *grant_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

enum result
llm_ceiling_compute(const struct llm_ceiling_host *host,
    const json_t *llm_access, int64_t max_iterations, const json_t *providers,
    json_t **grant_r, json_t **limits_r, struct json_fault *fault)
{
	json_t *models = NULL, *rows = json_array();
	struct llm_ceiling_wish least;
	enum result result;

	*grant_r = *limits_r = NULL;
	llm_ceiling_read(llm_access, &least, fault);
	result = fault->text[0] != '\0' ? RESULT_BAD : RESULT_OK;
	if (result != RESULT_OK || !least.enabled || !host->enabled) {
		json_decref(rows);
		return result;
	}
	least.max_calls = llm_ceiling_least(least.max_calls, host->max_calls);
	if (max_iterations > 0)
		least.max_calls =
		    llm_ceiling_least(least.max_calls, max_iterations);
	least.max_input_chars =
	    llm_ceiling_least(least.max_input_chars, host->max_input_chars);
	least.max_output_chars =
	    llm_ceiling_least(least.max_output_chars, host->max_output_chars);
	result =
	    llm_ceiling_models(least.models, host->allowed_models, &models);
	if (result == RESULT_OK)
		result = llm_ceiling_providers(providers, models, rows, fault);
	if (result == RESULT_OK)
		result = llm_ceiling_grant(host, &least, rows, grant_r);
	if (result == RESULT_OK)
		*limits_r = llm_ceiling_budgets(host, &least);
	if (result == RESULT_OK && *limits_r == NULL)
		result = RESULT_NO_MEMORY;
	if (result != RESULT_OK) {
		json_decref(*grant_r);
		*grant_r = NULL;
	}
	json_decref(models);
	json_decref(rows);
	return result;
}
