/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one sandbox may ask of which provider. Called by the broker when
 * `grant` arrives and for every call. It must never allow a provider,
 * model or opt-in that the object does not name, nor read a missing limit
 * as none.
 */
#include "llm-broker/grant.h"

#include <stdlib.h>
#include <string.h>

#define GRANT_PRICES_MAX 256U
#define GRANT_NAME_MAX 31U
#define GRANT_COUNT_MAX INT64_C(1000000000000)
#define GRANT_BYTES_MAX (INT64_C(64) * 1024 * 1024)
#define GRANT_PRICE_MAX INT64_C(1000000000) /* 1,000 dollars a million */

struct grant_limit_row {
	const char *name;
	size_t offset;
	uint64_t standard;
	int64_t min, max;
};

#define GRANT_ROW(field, standard, min, max)                                 \
	{                                                                    \
#field, offsetof(struct grant_limits, field), standard, min, \
		    max                                                      \
	}

/* A limit that is not there is the standard one, never none. */
static const struct grant_limit_row grant_limit_rows[] = {
    GRANT_ROW(requests, 20, 0, GRANT_COUNT_MAX),
    GRANT_ROW(concurrent, 4, 0, 1024),
    GRANT_ROW(input_chars, 24000, 0, GRANT_COUNT_MAX),
    GRANT_ROW(output_chars, 24000, 0, GRANT_COUNT_MAX),
    GRANT_ROW(body_bytes, 8U << 20, 1, GRANT_BYTES_MAX),
    GRANT_ROW(decoded_bytes, 16U << 20, 1, GRANT_BYTES_MAX),
    GRANT_ROW(response_bytes, 1U << 30, 1, GRANT_COUNT_MAX),
    GRANT_ROW(first_byte_ms, 60000, 1, 86400000),
    GRANT_ROW(idle_ms, 120000, 1, 86400000),
    GRANT_ROW(total_ms, 600000, 1, 604800000),
};
#define GRANT_LIMITS (sizeof(grant_limit_rows) / sizeof(grant_limit_rows[0]))

struct grant_price {
	const char *provider, *model;
	int64_t input, output; /* micro-dollars per million tokens */
};

struct grant {
	json_t *object; /* owned; the texts below point into it */
	struct grant_limits limits;
	const char *default_provider, *default_model; /* NULL: none */
	unsigned opt_ins;
	bool ledger;
	struct grant_price prices[GRANT_PRICES_MAX];
	size_t price_count;
};

static uint64_t *
grant_limit(struct grant_limits *limits, const struct grant_limit_row *row)
{
	return (uint64_t *)(void *)((char *)limits + row->offset);
}

static uint64_t
grant_limit_value(
    const struct grant_limits *limits, const struct grant_limit_row *row)
{
	return *(
	    const uint64_t *)(const void *)((const char *)limits + row->offset);
}

static void
grant_read_limits(
    const json_t *object, struct grant_limits *limits, struct json_fault *fault)
{
	const char *names[GRANT_LIMITS + 1] = {NULL};
	const json_t *part = json_object_get(object, "limits");
	int64_t value;
	size_t i;

	for (i = 0; i < GRANT_LIMITS; i++)
		names[i] = grant_limit_rows[i].name;
	if (part != NULL)
		json_field_only(part, "grant.limits", names, fault);
	for (i = 0; i < GRANT_LIMITS; i++) {
		value = (int64_t)grant_limit_rows[i].standard;
		if (part != NULL)
			json_field_int_opt(part, "grant.limits",
			    grant_limit_rows[i].name, grant_limit_rows[i].min,
			    grant_limit_rows[i].max, &value, fault);
		*grant_limit(limits, &grant_limit_rows[i]) = (uint64_t)value;
	}
}

/* A list of texts without repetition, each 1..max bytes. */
static void
grant_check_texts(
    const json_t *list, const char *path, size_t max, struct json_fault *fault)
{
	const char *text;
	size_t i, j;

	for (i = 0; i < json_array_size(list); i++) {
		text = json_string_value(json_array_get(list, i));
		if (text == NULL || text[0] == '\0' || strlen(text) > max) {
			json_field_fault(fault,
			    "%s[%zu] must be a text of 1 to %zu bytes", path, i,
			    max);
			return;
		}
		for (j = 0; j < i; j++)
			if (strcmp(text, json_string_value(
					     json_array_get(list, j))) == 0)
				json_field_fault(
				    fault, "%s[%zu] is there twice", path, i);
	}
}

static void
grant_check_provider(const json_t *entry, struct json_fault *fault)
{
	static const char *const keys[] = {"name", "models", NULL};
	const char *name = NULL, *path = "grant.providers[]";
	const json_t *models = NULL;

	json_field_only(entry, path, keys, fault);
	json_field_string(entry, path, "name", GRANT_NAME_MAX, &name, fault);
	if (name != NULL && name[0] == '\0')
		json_field_fault(fault, "%s.name is empty", path);
	if (json_object_get(entry, "models") == NULL)
		return;
	json_field_array(
	    entry, path, "models", GRANT_MODELS_MAX, &models, fault);
	if (models != NULL)
		grant_check_texts(
		    models, "grant.providers[].models", GRANT_MODEL_MAX, fault);
}

static void
grant_read_providers(const json_t *object, struct json_fault *fault)
{
	const json_t *list = NULL;
	const char *name;
	size_t i, j;

	json_field_array(
	    object, "grant", "providers", GRANT_PROVIDERS_MAX, &list, fault);
	for (i = 0; i < json_array_size(list) && fault->text[0] == '\0'; i++) {
		grant_check_provider(json_array_get(list, i), fault);
		name = json_string_value(
		    json_object_get(json_array_get(list, i), "name"));
		for (j = 0; j < i && fault->text[0] == '\0'; j++)
			if (strcmp(name,
				json_string_value(json_object_get(
				    json_array_get(list, j), "name"))) == 0)
				json_field_fault(fault,
				    "grant.providers has %s twice", name);
	}
}

static void
grant_read_default(struct grant *grant, struct json_fault *fault)
{
	static const char *const keys[] = {"provider", "model", NULL};
	const json_t *part = json_object_get(grant->object, "default");

	if (part == NULL)
		return;
	json_field_only(part, "grant.default", keys, fault);
	json_field_string(part, "grant.default", "provider", GRANT_NAME_MAX,
	    &grant->default_provider, fault);
	json_field_string(part, "grant.default", "model", GRANT_MODEL_MAX,
	    &grant->default_model, fault);
	if (fault->text[0] == '\0' &&
	    !grant_model(grant, grant->default_provider, grant->default_model,
		strlen(grant->default_model)))
		json_field_fault(
		    fault, "grant.default names what is not granted");
}

static void
grant_read_opt_ins(struct grant *grant, struct json_fault *fault)
{
	static const struct {
		const char *name;
		enum grant_opt_in bit;
	} known[] = {{"remote_urls", GRANT_REMOTE_URLS},
	    {"provider_tools", GRANT_PROVIDER_TOOLS}, {"stored", GRANT_STORED}};
	const size_t count = sizeof(known) / sizeof(known[0]);
	const json_t *list = NULL;
	const char *text;
	size_t i, j;

	if (json_object_get(grant->object, "opt_in") == NULL)
		return;
	json_field_array(grant->object, "grant", "opt_in", count, &list, fault);
	grant_check_texts(list, "grant.opt_in", GRANT_NAME_MAX, fault);
	for (i = 0; i < json_array_size(list) && fault->text[0] == '\0'; i++) {
		text = json_string_value(json_array_get(list, i));
		for (j = 0; j < count && strcmp(text, known[j].name) != 0; j++)
			;
		if (j == count)
			json_field_fault(
			    fault, "grant.opt_in[%zu] is not known", i);
		else
			grant->opt_ins |= (unsigned)known[j].bit;
	}
}

static void
grant_read_prices(struct grant *grant, struct json_fault *fault)
{
	static const char *const keys[] = {"provider", "model",
	    "input_microusd_per_million", "output_microusd_per_million", NULL};
	const char *path = "grant.prices[]";
	const json_t *list = NULL, *entry;
	struct grant_price *price;
	size_t i;

	if (json_object_get(grant->object, "prices") == NULL)
		return;
	json_field_array(
	    grant->object, "grant", "prices", GRANT_PRICES_MAX, &list, fault);
	for (i = 0; i < json_array_size(list) && fault->text[0] == '\0'; i++) {
		entry = json_array_get(list, i);
		price = &grant->prices[grant->price_count++];
		json_field_only(entry, path, keys, fault);
		json_field_string(entry, path, "provider", GRANT_NAME_MAX,
		    &price->provider, fault);
		json_field_string(entry, path, "model", GRANT_MODEL_MAX,
		    &price->model, fault);
		json_field_int(entry, path, keys[2], 0, GRANT_PRICE_MAX,
		    &price->input, fault);
		json_field_int(entry, path, keys[3], 0, GRANT_PRICE_MAX,
		    &price->output, fault);
	}
}

static void
grant_read(struct grant *grant, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"providers", "default", "opt_in",
	    "limits", "prices", "ledger", NULL};

	json_field_only(grant->object, path, keys, fault);
	grant_read_providers(grant->object, fault);
	grant_read_limits(grant->object, &grant->limits, fault);
	grant_read_opt_ins(grant, fault);
	grant_read_prices(grant, fault);
	json_field_bool(grant->object, path, "ledger", &grant->ledger, fault);
	if (fault->text[0] == '\0')
		grant_read_default(grant, fault);
}

enum result
grant_load(const json_t *object, const char *path, struct grant **grant_r,
    struct json_fault *fault)
{
	struct grant *grant = calloc(1, sizeof(*grant));

	*grant_r = NULL;
	if (grant == NULL)
		return RESULT_NO_MEMORY;
	grant->object = json_deep_copy(object);
	if (grant->object == NULL) {
		free(grant);
		return RESULT_NO_MEMORY;
	}
	grant_read(grant, path, fault);
	if (fault->text[0] != '\0') {
		grant_free(&grant);
		return RESULT_BAD;
	}
	*grant_r = grant;
	return RESULT_OK;
}

void
grant_free(struct grant **grant)
{
	if (*grant == NULL)
		return;
	json_decref((*grant)->object);
	free(*grant);
	*grant = NULL;
}

static const json_t *
grant_find(const struct grant *grant, const char *provider)
{
	const json_t *list = json_object_get(grant->object, "providers");
	const json_t *entry;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		entry = json_array_get(list, i);
		if (strcmp(json_string_value(json_object_get(entry, "name")),
			provider) == 0)
			return entry;
	}
	return NULL;
}

bool
grant_provider(const struct grant *grant, const char *provider)
{
	return grant_find(grant, provider) != NULL;
}

bool
grant_model(const struct grant *grant, const char *provider, const char *model,
    size_t len)
{
	const json_t *entry = grant_find(grant, provider), *models, *text;
	size_t i;

	if (entry == NULL || len == 0 || len > GRANT_MODEL_MAX)
		return false;
	models = json_object_get(entry, "models");
	if (models == NULL)
		return true;
	for (i = 0; i < json_array_size(models); i++) {
		text = json_array_get(models, i);
		if (json_string_length(text) == len &&
		    memcmp(json_string_value(text), model, len) == 0)
			return true;
	}
	return false;
}

bool
grant_opt_in(const struct grant *grant, enum grant_opt_in what)
{
	return (grant->opt_ins & (unsigned)what) != 0;
}

unsigned
grant_opt_ins(const struct grant *grant)
{
	return grant->opt_ins;
}

const struct grant_limits *
grant_limits_borrow(const struct grant *grant)
{
	return &grant->limits;
}

const char *
grant_default_provider(const struct grant *grant)
{
	return grant->default_provider;
}

const char *
grant_default_model(const struct grant *grant)
{
	return grant->default_model;
}

bool
grant_uses_ledger(const struct grant *grant)
{
	return grant->ledger;
}

/* Is every model that entry (of b) allows allowed by a? */
static bool
grant_covers_entry(const struct grant *a, const json_t *entry)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	const json_t *theirs = json_object_get(entry, "models"), *text;
	const json_t *ours = grant_find(a, name);
	size_t i;

	if (ours == NULL)
		return false;
	if (theirs == NULL)
		return json_object_get(ours, "models") == NULL;
	for (i = 0; i < json_array_size(theirs); i++) {
		text = json_array_get(theirs, i);
		if (!grant_model(a, name, json_string_value(text),
			json_string_length(text)))
			return false;
	}
	return true;
}

bool
grant_covers(const struct grant *a, const struct grant *b)
{
	const json_t *list = json_object_get(b->object, "providers");
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (!grant_covers_entry(a, json_array_get(list, i)))
			return false;
	for (i = 0; i < GRANT_LIMITS; i++)
		if (grant_limit_value(&b->limits, &grant_limit_rows[i]) >
		    grant_limit_value(&a->limits, &grant_limit_rows[i]))
			return false;
	return (b->opt_ins & ~a->opt_ins) == 0 && (b->ledger || !a->ledger);
}

/* tokens * price / a million, rounded up; -1: beyond any budget. */
static int64_t
grant_cost_part(uint64_t tokens, int64_t price)
{
	if (tokens > (uint64_t)GRANT_COUNT_MAX)
		return -1;
	if (price != 0 && tokens > (uint64_t)(INT64_MAX / 2 / price))
		return -1;
	return ((int64_t)tokens * price + 999999) / 1000000;
}

int64_t
grant_cost(const struct grant *grant, const char *provider, const char *model,
    uint64_t input_tokens, uint64_t output_tokens)
{
	const struct grant_price *price;
	int64_t input, output;
	size_t i;

	for (i = 0; i < grant->price_count; i++) {
		price = &grant->prices[i];
		if (strcmp(price->provider, provider) != 0 ||
		    strcmp(price->model, model) != 0)
			continue;
		input = grant_cost_part(input_tokens, price->input);
		output = grant_cost_part(output_tokens, price->output);
		return input < 0 || output < 0 ? -1 : input + output;
	}
	return -1;
}
