/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON over jansson for messages and files. Called by every process;
 * must never let a value through that the reader did not ask for by type
 * and range. Depth is bounded before jansson sees a byte, since its parser
 * and its free recurse.
 */
#include "common/json_field.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/log.h"

void
json_field_fault(struct json_fault *fault, const char *format, ...)
{
	char text[JSON_FIELD_FAULT_MAX];
	va_list arguments;

	if (fault->text[0] != '\0')
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* Keys and jansson's own texts carry foreign bytes. */
	log_clean(text, strlen(text), fault->text, sizeof(fault->text));
}

void
json_field_seed(void)
{
	size_t seed = 0;
	ssize_t got;

	while (seed == 0) {
		got = getrandom(&seed, sizeof(seed), 0);
		if (got < 0 && errno != EINTR)
			abort(); /* without a seed tables could be flooded */
	}
	json_object_seed(seed);
}

/* Deepest nesting of brackets outside strings; pure and without recursion. */
static size_t
json_field_depth(const char *bytes, size_t len)
{
	size_t i, depth = 0, deepest = 0;
	bool in_string = false;

	for (i = 0; i < len; i++) {
		if (in_string && bytes[i] == '\\')
			i++;
		else if (bytes[i] == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if (bytes[i] == '{' || bytes[i] == '[')
			deepest = ++depth > deepest ? depth : deepest;
		else if ((bytes[i] == '}' || bytes[i] == ']') && depth > 0)
			depth--;
	}
	return deepest;
}

enum result
json_field_parse(
    const char *bytes, size_t len, json_t **value_r, struct json_fault *fault)
{
	json_error_t error;

	*value_r = NULL;
	if (json_field_depth(bytes, len) > JSON_FIELD_DEPTH_MAX) {
		json_field_fault(fault, "nested deeper than %u levels",
		    JSON_FIELD_DEPTH_MAX);
		return RESULT_BAD;
	}
	*value_r = json_loadb(
	    bytes, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (*value_r != NULL)
		return RESULT_OK;
	if (json_error_code(&error) == json_error_out_of_memory)
		return RESULT_NO_MEMORY;
	json_field_fault(fault, "line %d, column %d: %s", error.line,
	    error.column, error.text);
	return RESULT_BAD;
}

static const char *
json_field_kind(json_type type)
{
	switch (type) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a text";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		break;
	}
	return "null";
}

/* object[key] when it is there and of the kind wanted, else NULL; wanted
 * JSON_TRUE stands for both booleans. */
static const json_t *
json_field_find(const json_t *object, const char *path, const char *key,
    json_type wanted, bool required, struct json_fault *fault)
{
	const json_t *value;
	json_type type;

	if (fault->text[0] != '\0')
		return NULL;
	if (!json_is_object(object)) {
		json_field_fault(fault, "%s must be an object", path);
		return NULL;
	}
	value = json_object_get(object, key);
	if (value == NULL) {
		if (required)
			json_field_fault(fault,
			    "%s.%s is missing: %s is needed", path, key,
			    json_field_kind(wanted));
		return NULL;
	}
	type = json_typeof(value);
	if (type == JSON_FALSE)
		type = JSON_TRUE;
	if (type == wanted)
		return value;
	json_field_fault(fault, "%s.%s is %s, it must be %s", path, key,
	    json_field_kind(type), json_field_kind(wanted));
	return NULL;
}

static void
json_field_read_string(const json_t *object, const char *path, const char *key,
    size_t max, bool required, const char **value_borrow_r,
    struct json_fault *fault)
{
	const json_t *value =
	    json_field_find(object, path, key, JSON_STRING, required, fault);

	if (value == NULL)
		return;
	if (json_string_length(value) > max)
		json_field_fault(fault, "%s.%s has %zu bytes, at most %zu fit",
		    path, key, json_string_length(value), max);
	else
		*value_borrow_r = json_string_value(value);
}

void
json_field_string(const json_t *object, const char *path, const char *key,
    size_t max, const char **value_borrow_r, struct json_fault *fault)
{
	json_field_read_string(
	    object, path, key, max, true, value_borrow_r, fault);
}

void
json_field_string_opt(const json_t *object, const char *path, const char *key,
    size_t max, const char **value_borrow_r, struct json_fault *fault)
{
	json_field_read_string(
	    object, path, key, max, false, value_borrow_r, fault);
}

static void
json_field_read_int(const json_t *object, const char *path, const char *key,
    const int64_t range[2], bool required, int64_t *value_r,
    struct json_fault *fault)
{
	const json_t *value =
	    json_field_find(object, path, key, JSON_INTEGER, required, fault);
	int64_t number;

	if (value == NULL)
		return;
	number = json_integer_value(value);
	if (number < range[0] || number > range[1])
		json_field_fault(fault,
		    "%s.%s is %lld, it must be %lld to %lld", path, key,
		    (long long)number, (long long)range[0],
		    (long long)range[1]);
	else
		*value_r = number;
}

void
json_field_int(const json_t *object, const char *path, const char *key,
    int64_t min, int64_t max, int64_t *value_r, struct json_fault *fault)
{
	const int64_t range[2] = {min, max};

	json_field_read_int(object, path, key, range, true, value_r, fault);
}

void
json_field_int_opt(const json_t *object, const char *path, const char *key,
    int64_t min, int64_t max, int64_t *value_r, struct json_fault *fault)
{
	const int64_t range[2] = {min, max};

	json_field_read_int(object, path, key, range, false, value_r, fault);
}

void
json_field_bool(const json_t *object, const char *path, const char *key,
    bool *value_r, struct json_fault *fault)
{
	const json_t *value =
	    json_field_find(object, path, key, JSON_TRUE, true, fault);

	if (value != NULL)
		*value_r = json_is_true(value);
}

void
json_field_bool_opt(const json_t *object, const char *path, const char *key,
    bool *value_r, struct json_fault *fault)
{
	const json_t *value =
	    json_field_find(object, path, key, JSON_TRUE, false, fault);

	if (value != NULL)
		*value_r = json_is_true(value);
}

void
json_field_array(const json_t *object, const char *path, const char *key,
    size_t max_items, const json_t **value_borrow_r, struct json_fault *fault)
{
	const json_t *value =
	    json_field_find(object, path, key, JSON_ARRAY, true, fault);

	if (value == NULL)
		return;
	if (json_array_size(value) > max_items)
		json_field_fault(fault, "%s.%s has %zu items, at most %zu fit",
		    path, key, json_array_size(value), max_items);
	else
		*value_borrow_r = value;
}

void
json_field_object(const json_t *object, const char *path, const char *key,
    const json_t **value_borrow_r, struct json_fault *fault)
{
	const json_t *value =
	    json_field_find(object, path, key, JSON_OBJECT, true, fault);

	if (value != NULL)
		*value_borrow_r = value;
}

void
json_field_only(const json_t *object, const char *path, const char *const *keys,
    struct json_fault *fault)
{
	const char *key;
	json_t *value;
	size_t i;

	if (!json_is_object(object)) {
		json_field_fault(fault, "%s must be an object", path);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		for (i = 0; keys[i] != NULL; i++)
			if (strcmp(keys[i], key) == 0)
				break;
		if (keys[i] == NULL) {
			json_field_fault(
			    fault, "%s.%s is not known", path, key);
			return;
		}
	}
}
