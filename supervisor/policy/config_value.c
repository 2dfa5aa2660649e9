/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and ranges of configuration values. Called by config.c. Pure: it
 * must never open a file or look at the environment.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "supervisor/policy/config_guard.h"
#include "supervisor/policy/config_llm.h"
#include "supervisor/policy/config_money.h"
#include "supervisor/policy/config_shape.h"
#include "supervisor/policy/config_value.h"
#include "supervisor/policy/trust_key.h"

static enum result
config_value_bad(
    const struct config_key *key, const char *where, struct json_fault *fault)
{
	const char *what = config_table_type_text(key->type);

	if (key->type == CONFIG_SIZE)
		what = "size such as 512m";
	if (key->type == CONFIG_MONEY)
		what = "amount of dollars such as 2.50";
	json_field_fault(fault, "%s: must be %s %s", where,
	    strchr("aeio", what[0]) ? "an" : "a", what);
	return RESULT_BAD;
}

enum result
config_value_size(const char *text, int64_t *bytes_r)
{
	static const char units[] = "kmg";
	int64_t factor = 1;
	const char *unit;
	char *end;
	long long number;

	if (text[0] < '0' || text[0] > '9')
		return RESULT_BAD;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0)
		return RESULT_BAD;
	if (*end != '\0') {
		unit = strchr(units, *end);
		if (unit == NULL || end[1] != '\0')
			return RESULT_BAD;
		factor = INT64_C(1) << (10 * (unit - units + 1));
	}
	return __builtin_mul_overflow(number, factor, bytes_r) ? RESULT_BAD
							       : RESULT_OK;
}

static void
config_value_size_text(int64_t bytes, char *text_r, size_t size)
{
	static const char units[] = "\0kmg";
	unsigned unit = 0;

	while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text_r, size, "%" PRId64 "%.1s", bytes, &units[unit]);
}

static enum result
config_value_number(const struct config_key *key, int64_t number,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	char least[32], most[32];

	if (number >= key->min && number <= key->max) {
		*value_r = json_integer(number);
		return *value_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (key->type == CONFIG_SIZE) {
		config_value_size_text(key->min, least, sizeof(least));
		config_value_size_text(key->max, most, sizeof(most));
	} else {
		snprintf(least, sizeof(least), "%" PRId64, key->min);
		snprintf(most, sizeof(most), "%" PRId64, key->max);
	}
	json_field_fault(
	    fault, "%s: must be between %s and %s", where, least, most);
	return RESULT_BAD;
}

static enum result
config_value_choice(const struct config_key *key, const char *text,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	char words[128] = "";
	size_t i, used = 0;

	for (i = 0; key->choices[i] != NULL; i++) {
		if (strcmp(key->choices[i], text) == 0) {
			*value_r = json_string(text);
			return *value_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
		}
		used += (size_t)snprintf(words + used, sizeof(words) - used,
		    "%s%s", i > 0 ? ", " : "", key->choices[i]);
		if (used >= sizeof(words))
			break;
	}
	json_field_fault(
	    fault, "%s: '%.64s' is not one of: %s", where, text, words);
	return RESULT_BAD;
}

static enum result
config_value_text_one(const struct config_key *key, const char *text,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	char canonical[CONFIG_SHAPE_MAX], why[CONFIG_SHAPE_WHY_MAX];

	if (key->shape == CONFIG_WORD || key->type == CONFIG_CHOICE)
		return config_value_choice(key, text, where, value_r, fault);
	if (!config_shape_check(
		key->shape, text, canonical, sizeof(canonical), why)) {
		json_field_fault(fault, "%s: '%.100s': %s", where, text, why);
		return RESULT_BAD;
	}
	*value_r = json_string(canonical);
	return *value_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

static bool
config_value_has(const json_t *list, const json_t *item)
{
	const json_t *other;
	size_t i;

	json_array_foreach(
	    list, i, other) if (json_equal(other, item)) return true;
	return false;
}

static enum result
config_value_list(const struct config_key *key, const json_t *raw,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	enum result result = RESULT_OK;
	json_t *list, *item, *value;
	size_t i;

	if (json_array_size(raw) > (size_t)key->max) {
		json_field_fault(
		    fault, "%s: at most %d items", where, (int)key->max);
		return RESULT_BAD;
	}
	list = json_array();
	json_array_foreach((json_t *)raw, i, item)
	{
		value = NULL;
		if (!json_is_string(item))
			result = config_value_bad(key, where, fault);
		else
			result = config_value_text_one(
			    key, json_string_value(item), where, &value, fault);
		if (result != RESULT_OK)
			break;
		if (config_value_has(list, value))
			json_decref(value);
		else if (json_array_append_new(list, value) != 0)
			result = RESULT_NO_MEMORY;
	}
	if (result != RESULT_OK)
		json_decref(list);
	else
		*value_r = list;
	return result;
}

/* {"name": ["10.0.0.0/8", ...]}: both sides become canonical. */
static enum result
config_value_ranges(const struct config_key *key, const json_t *raw,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	static const struct config_key cidrs = {
	    .name = "", .type = CONFIG_LIST, .shape = CONFIG_RANGES, .max = 64};
	char name[CONFIG_SHAPE_MAX], why[CONFIG_SHAPE_WHY_MAX], at[256];
	enum result result = RESULT_OK;
	json_t *object = json_object(), *list, *value;
	const char *typed;

	if (json_object_size(raw) > (size_t)key->max)
		result = RESULT_TOO_LONG;
	json_object_foreach((json_t *)raw, typed, list)
	{
		snprintf(at, sizeof(at), "%s: %.100s", where, typed);
		value = NULL;
		if (!config_shape_check(
			CONFIG_NAME, typed, name, sizeof(name), why)) {
			json_field_fault(fault, "%s: %s", at, why);
			result = RESULT_BAD;
		} else if (!json_is_array(list))
			result = config_value_bad(&cidrs, at, fault);
		else
			result =
			    config_value_list(&cidrs, list, at, &value, fault);
		if (result == RESULT_OK &&
		    json_object_set_new(object, name, value) != 0)
			result = RESULT_NO_MEMORY;
		if (result != RESULT_OK)
			break;
	}
	if (result == RESULT_TOO_LONG)
		json_field_fault(
		    fault, "%s: at most %d names", where, (int)key->max);
	if (result != RESULT_OK)
		json_decref(object);
	else
		*value_r = object;
	return result;
}

/* Texts: TEXT, CHOICE, and SIZE written as "512m". */
static enum result
config_value_string(const struct config_key *key, const char *text,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	int64_t bytes;

	if (key->type == CONFIG_SIZE) {
		if (config_value_size(text, &bytes) != RESULT_OK)
			return config_value_bad(key, where, fault);
		return config_value_number(key, bytes, where, value_r, fault);
	}
	if (key->type == CONFIG_TEXT && (strlen(text) < (size_t)key->min ||
					    strlen(text) > (size_t)key->max)) {
		json_field_fault(fault, "%s: must have between %d and %d bytes",
		    where, (int)key->min, (int)key->max);
		return RESULT_BAD;
	}
	return config_value_text_one(key, text, where, value_r, fault);
}

static enum result
config_value_object(const struct config_key *key, const json_t *raw,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	if (key->shape == CONFIG_PRICES)
		return config_llm_prices(raw, where, value_r, fault);
	if (key->shape == CONFIG_UPSTREAM)
		return config_llm_upstream(raw, where, value_r, fault);
	if (key->shape == CONFIG_KEYS)
		return trust_key_object(raw, where, value_r, fault);
	if (key->shape == CONFIG_OVERRIDES)
		return config_guard_overrides(raw, where, value_r, fault);
	if (key->shape == CONFIG_RATES)
		return config_guard_rates(raw, where, value_r, fault);
	if (key->shape == CONFIG_AGENTS)
		return config_guard_agents(raw, where, value_r, fault);
	return config_value_ranges(key, raw, where, value_r, fault);
}

enum result
config_value_check(const struct config_key *key, const json_t *raw,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	int64_t micro;

	*value_r = NULL;
	switch (key->type) {
	case CONFIG_SIZE:
	case CONFIG_INT:
		if (json_is_integer(raw))
			return config_value_number(key, json_integer_value(raw),
			    where, value_r, fault);
		if (key->type == CONFIG_INT || !json_is_string(raw))
			break;
		return config_value_string(
		    key, json_string_value(raw), where, value_r, fault);
	case CONFIG_MONEY:
		if (config_money_read(raw, &micro) != RESULT_OK)
			break;
		return config_value_number(key, micro, where, value_r, fault);
	case CONFIG_TEXT:
	case CONFIG_CHOICE:
		if (!json_is_string(raw))
			break;
		return config_value_string(
		    key, json_string_value(raw), where, value_r, fault);
	case CONFIG_BOOL:
		if (!json_is_boolean(raw))
			break;
		*value_r = json_boolean(json_is_true(raw));
		return RESULT_OK;
	case CONFIG_LIST:
		if (!json_is_array(raw))
			break;
		return config_value_list(key, raw, where, value_r, fault);
	case CONFIG_OBJECT:
		if (!json_is_object(raw))
			break;
		return config_value_object(key, raw, where, value_r, fault);
	}
	return config_value_bad(key, where, fault);
}

/* "a, b": spaces around an item are dropped, empty items are kept so that
 * they are refused with their reason. */
static json_t *
config_value_split(const char *text)
{
	json_t *list = json_array();
	const char *end, *start;
	size_t len;

	text += strspn(text, " ");
	while (*text != '\0') {
		start = text + strspn(text, " ");
		end = strchrnul(start, ',');
		len = (size_t)(end - start);
		while (len > 0 && start[len - 1] == ' ')
			len--;
		json_array_append_new(list, json_stringn(start, len));
		text = *end == ',' ? end + 1 : end;
		if (*end == ',' && *text == '\0')
			json_array_append_new(list, json_string(""));
	}
	return list;
}

static json_t *
config_value_typed_number(const char *text)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (text[0] == '\0' || strchr(" \t\n+", text[0]) != NULL ||
	    *end != '\0' || errno != 0)
		return json_string(text); /* the check names what is right */
	return json_integer(number);
}

static json_t *
config_value_typed_bool(const char *text)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
		return json_true();
	if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
		return json_false();
	return json_string(text);
}

enum result
config_value_parse(const struct config_key *key, const char *text,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	struct json_fault syntax = {""};
	enum result result;
	json_t *raw = NULL;

	if (strnlen(text, CONFIG_VALUE_TEXT_MAX + 1) > CONFIG_VALUE_TEXT_MAX) {
		json_field_fault(fault, "%s: the text is too long", where);
		return RESULT_TOO_LONG;
	}
	if (key->type == CONFIG_OBJECT ||
	    (key->type == CONFIG_LIST && text[0] == '[')) {
		if (json_field_parse(text, strlen(text), &raw, &syntax) !=
		    RESULT_OK) {
			json_field_fault(fault, "%s: %s", where, syntax.text);
			return RESULT_BAD;
		}
	} else if (key->type == CONFIG_LIST)
		raw = config_value_split(text);
	else if (key->type == CONFIG_INT)
		raw = config_value_typed_number(text);
	else if (key->type == CONFIG_BOOL)
		raw = config_value_typed_bool(text);
	else
		raw = json_string(text);
	if (raw == NULL) {
		json_field_fault(fault, "%s: must be UTF-8 text", where);
		return RESULT_BAD;
	}
	result = config_value_check(key, raw, where, value_r, fault);
	json_decref(raw);
	return result;
}

static char *
config_value_join(const json_t *list)
{
	struct buffer buffer;
	const json_t *item;
	char *text;
	size_t i;

	buffer_init(&buffer, 1024U * 1024U);
	json_array_foreach(list, i, item) buffer_printf(
	    &buffer, "%s%s", i > 0 ? "," : "", json_string_value(item));
	text = buffer.len == 0
		   ? strdup("")
		   : strndup((const char *)buffer_bytes_borrow(&buffer),
			 buffer.len);
	buffer_free(&buffer);
	return text;
}

static char *
config_value_print_object(const struct config_key *key, const json_t *value)
{
	json_t *typed = config_value_stored(key, value);
	char *text = json_dumps(typed, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(typed);
	return text;
}

char *
config_value_print(const struct config_key *key, const json_t *value)
{
	char text[64];

	switch (key->type) {
	case CONFIG_TEXT:
	case CONFIG_CHOICE:
		return strdup(json_string_value(value));
	case CONFIG_BOOL:
		return strdup(json_is_true(value) ? "true" : "false");
	case CONFIG_INT:
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
		return strdup(text);
	case CONFIG_SIZE:
		config_value_size_text(
		    json_integer_value(value), text, sizeof(text));
		return strdup(text);
	case CONFIG_LIST:
		return config_value_join(value);
	case CONFIG_MONEY:
		config_money_text(json_integer_value(value), text);
		return strdup(text);
	case CONFIG_OBJECT:
		return config_value_print_object(key, value);
	}
	return NULL;
}

json_t *
config_value_stored(const struct config_key *key, const json_t *value)
{
	char text[64];

	if (key->shape == CONFIG_PRICES)
		return config_llm_prices_typed(value);
	if (key->type == CONFIG_MONEY) {
		config_money_text(json_integer_value(value), text);
		return json_string(text);
	}
	if (key->type != CONFIG_SIZE)
		return json_deep_copy(value);
	config_value_size_text(json_integer_value(value), text, sizeof(text));
	return json_string(text);
}
