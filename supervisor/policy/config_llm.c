/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models, prices and upstreams. Called by config_value.c, config_narrow.c
 * and llm_policy.c. Pure: it must never widen what one of two lists allows.
 */
#include <stdio.h>
#include <string.h>

#include "common/ip_addr.h"
#include "supervisor/policy/config_llm.h"
#include "supervisor/policy/config_money.h"
#include "supervisor/policy/config_shape.h"

#define CONFIG_LLM_ROWS_MAX 256U
#define CONFIG_LLM_CIDRS_MAX 64U
#define CONFIG_LLM_PRICE_MAX INT64_C(1000000000) /* 1,000 dollars */

bool
config_llm_is_provider(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return len > 0 && len <= CONFIG_LLM_PROVIDER_MAX && name[len] == '\0' &&
	       name[0] != '-' && name[0] != '_';
}

bool
config_llm_model_parse(const char *text, struct config_llm_model *model_r)
{
	const char *slash = strchr(text, '/'), *model = text, *c;
	size_t len = slash != NULL ? (size_t)(slash - text) : 0;

	model_r->provider[0] = '\0';
	if (slash != NULL) {
		if (len > CONFIG_LLM_PROVIDER_MAX)
			return false;
		memcpy(model_r->provider, text, len);
		model_r->provider[len] = '\0';
		if (!config_llm_is_provider(model_r->provider))
			return false;
		model = slash + 1;
	}
	len = strlen(model);
	if (len == 0 || len > CONFIG_LLM_MODEL_MAX)
		return false;
	for (c = model; *c != '\0'; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f ||
		    (*c == '*' && (slash == NULL || len > 1)))
			return false;
	memcpy(model_r->model, model, len + 1);
	return true;
}

bool
config_llm_meet(const char *a, const char *b, char text_r[CONFIG_LLM_NAME_MAX])
{
	struct config_llm_model x, y;
	const char *provider, *model;

	if (!config_llm_model_parse(a, &x) || !config_llm_model_parse(b, &y))
		return false;
	provider = x.provider[0] != '\0' ? x.provider : y.provider;
	model = strcmp(x.model, "*") != 0 ? x.model : y.model;
	if ((y.provider[0] != '\0' && strcmp(provider, y.provider) != 0) ||
	    (strcmp(y.model, "*") != 0 && strcmp(model, y.model) != 0))
		return false;
	(void)snprintf(text_r, CONFIG_LLM_NAME_MAX, "%s%s%s", provider,
	    provider[0] != '\0' ? "/" : "", model);
	return true;
}

static bool
config_llm_has(const json_t *list, const char *text)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) ==
		    0)
			return true;
	return false;
}

json_t *
config_llm_meet_lists(const json_t *a, const json_t *b)
{
	json_t *list = json_array();
	char text[CONFIG_LLM_NAME_MAX];
	size_t i, j;

	for (i = 0; i < json_array_size(a); i++)
		for (j = 0; j < json_array_size(b); j++) {
			const char *one =
			    json_string_value(json_array_get(a, i));
			const char *other =
			    json_string_value(json_array_get(b, j));

			if (one == NULL || other == NULL ||
			    !config_llm_meet(one, other, text) ||
			    config_llm_has(list, text))
				continue;
			if (json_array_append_new(list, json_string(text)) !=
			    0) {
				json_decref(list);
				return NULL;
			}
		}
	return list;
}

/* One of the two prices of a model. */
static enum result
config_llm_price(const json_t *raw, const char *at, const char *key,
    json_t *row, struct json_fault *fault)
{
	int64_t micro;

	if (config_money_read(json_object_get(raw, key), &micro) != RESULT_OK ||
	    micro > CONFIG_LLM_PRICE_MAX) {
		json_field_fault(fault,
		    "%s.%s: must be dollars for a million tokens, such as "
		    "0.15, at most 1000",
		    at, key);
		return RESULT_BAD;
	}
	return json_object_set_new(row, key, json_integer(micro)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

static enum result
config_llm_price_row(const json_t *raw, const char *name, const char *where,
    json_t *object, struct json_fault *fault)
{
	static const char *const keys[] = {"input", "output", NULL};
	struct config_llm_model model;
	enum result result = RESULT_OK;
	char at[320];
	json_t *row;

	(void)snprintf(at, sizeof(at), "%.80s: %.150s", where, name);
	if (!config_llm_model_parse(name, &model) ||
	    model.provider[0] == '\0' || strcmp(model.model, "*") == 0) {
		json_field_fault(fault, "%s: must be provider/model", at);
		return RESULT_BAD;
	}
	json_field_only(raw, at, keys, fault);
	if (fault->text[0] != '\0')
		return RESULT_BAD;
	row = json_object();
	result = config_llm_price(raw, at, "input", row, fault);
	if (result == RESULT_OK)
		result = config_llm_price(raw, at, "output", row, fault);
	if (result == RESULT_OK && json_object_set(object, name, row) != 0)
		result = RESULT_NO_MEMORY;
	json_decref(row);
	return result;
}

/* Every member of an object through one check, into a new object. */
typedef enum result config_llm_row(const json_t *raw, const char *name,
    const char *where, json_t *object, struct json_fault *fault);

static enum result
config_llm_rows(const json_t *raw, const char *where, config_llm_row *check,
    json_t **value_r, struct json_fault *fault)
{
	json_t *object = json_object(), *row;
	enum result result = RESULT_OK;
	const char *name;

	*value_r = NULL;
	if (json_object_size(raw) > CONFIG_LLM_ROWS_MAX) {
		json_field_fault(
		    fault, "%s: at most %u names", where, CONFIG_LLM_ROWS_MAX);
		result = RESULT_BAD;
	}
	json_object_foreach((json_t *)(uintptr_t)raw, name, row)
	{
		if (result == RESULT_OK)
			result = check(row, name, where, object, fault);
	}
	if (result == RESULT_OK)
		*value_r = object;
	else
		json_decref(object);
	return result;
}

enum result
config_llm_prices(const json_t *raw, const char *where, json_t **value_r,
    struct json_fault *fault)
{
	return config_llm_rows(
	    raw, where, config_llm_price_row, value_r, fault);
}

json_t *
config_llm_prices_typed(const json_t *value)
{
	char input[CONFIG_MONEY_TEXT_MAX], output[CONFIG_MONEY_TEXT_MAX];
	json_t *object = json_object(), *row;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)value, name, row)
	{
		config_money_text(
		    json_integer_value(json_object_get(row, "input")), input);
		config_money_text(
		    json_integer_value(json_object_get(row, "output")), output);
		(void)json_object_set_new(object, name,
		    json_pack("{s:s, s:s}", "input", input, "output", output));
	}
	return object;
}

/* A text of the row, by one of the configuration's shapes. */
static void
config_llm_shape(const json_t *raw, const char *at, const char *key,
    enum config_shape shape, json_t *row, struct json_fault *fault)
{
	char canonical[CONFIG_SHAPE_MAX], why[CONFIG_SHAPE_WHY_MAX] = "";
	const char *text = NULL;

	json_field_string_opt(raw, at, key, CONFIG_SHAPE_MAX - 1, &text, fault);
	if (text == NULL)
		return;
	if (config_shape_check(shape, text, canonical, sizeof(canonical), why))
		(void)json_object_set_new(row, key, json_string(canonical));
	else
		json_field_fault(
		    fault, "%s.%s: '%.60s': %s", at, key, text, why);
}

/* An address as a host is allowed: the provider is named by the host's
 * owner, and cidrs says where it may be. */
static void
config_llm_host(
    const json_t *raw, const char *at, json_t *row, struct json_fault *fault)
{
	const char *text = NULL;
	char shown[IP_ADDR_TEXT_MAX];
	struct ip_addr addr;

	json_field_string_opt(raw, at, "host", 253, &text, fault);
	if (text != NULL &&
	    ip_addr_parse(text, strlen(text), &addr) == RESULT_OK) {
		ip_addr_text(&addr, shown);
		(void)json_object_set_new(row, "host", json_string(shown));
	} else
		config_llm_shape(raw, at, "host", CONFIG_NAME, row, fault);
}

static void
config_llm_cidrs(
    const json_t *raw, const char *at, json_t *row, struct json_fault *fault)
{
	char canonical[CONFIG_SHAPE_MAX], why[CONFIG_SHAPE_WHY_MAX];
	const json_t *list = NULL;
	json_t *copy;
	const char *text;
	size_t i;

	if (json_object_get(raw, "cidrs") == NULL)
		return;
	json_field_array(raw, at, "cidrs", CONFIG_LLM_CIDRS_MAX, &list, fault);
	copy = json_array();
	for (i = 0; i < json_array_size(list); i++) {
		text = json_string_value(json_array_get(list, i));
		if (text == NULL || !config_shape_check(CONFIG_RANGES, text,
					canonical, sizeof(canonical), why)) {
			json_field_fault(fault,
			    "%s.cidrs[%zu]: must be a CIDR such as "
			    "10.1.2.0/24, host bits zero",
			    at, i);
			break;
		}
		(void)json_array_append_new(copy, json_string(canonical));
	}
	(void)json_object_set_new(row, "cidrs", copy);
}

static enum result
config_llm_upstream_row(const json_t *raw, const char *name, const char *where,
    json_t *object, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "host", "port", "cidrs", "ca", "tls", NULL};
	json_t *row = json_object();
	int64_t port = 0;
	bool tls = true;
	char at[160];

	(void)snprintf(at, sizeof(at), "%.80s: %.40s", where, name);
	if (!config_llm_is_provider(name))
		json_field_fault(fault,
		    "%s: must be a provider's name: a-z, 0-9, '-', '_'", at);
	json_field_only(raw, at, keys, fault);
	config_llm_host(raw, at, row, fault);
	json_field_int_opt(raw, at, "port", 1, 65535, &port, fault);
	if (port != 0)
		(void)json_object_set_new(row, "port", json_integer(port));
	config_llm_cidrs(raw, at, row, fault);
	config_llm_shape(raw, at, "ca", CONFIG_PATH, row, fault);
	json_field_bool_opt(raw, at, "tls", &tls, fault);
	if (json_object_get(raw, "tls") != NULL)
		(void)json_object_set_new(row, "tls", json_boolean(tls));
	if (fault->text[0] == '\0' && json_object_set(object, name, row) != 0)
		json_field_fault(fault, "%s: no memory", at);
	json_decref(row);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}

enum result
config_llm_upstream(const json_t *raw, const char *where, json_t **value_r,
    struct json_fault *fault)
{
	return config_llm_rows(
	    raw, where, config_llm_upstream_row, value_r, fault);
}
