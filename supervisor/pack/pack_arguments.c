/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From words to a tool's arguments; see pack_arguments.h. It must never
 * guess what a value is.
 */
#include "supervisor/pack/pack_arguments.h"

#include <string.h>

#define PACK_ARGUMENTS_NAME_MAX 128U

/* The one type that the schema gives this member, or NULL. */
static const char *
pack_arguments_type(const json_t *schema, const char *name)
{
	return json_string_value(json_object_get(
	    json_object_get(json_object_get(schema, "properties"), name),
	    "type"));
}

static enum result
pack_arguments_value(const char *name, const char *text, const char *type,
    json_t **value_r, struct json_fault *fault)
{
	struct json_fault why = {""};

	if (type == NULL || strcmp(type, "string") == 0) {
		*value_r = json_string(text);
		if (*value_r == NULL)
			json_field_fault(
			    fault, "--arg %s: no valid UTF-8", name);
		return *value_r == NULL ? RESULT_BAD : RESULT_OK;
	}
	if (json_field_parse(text, strlen(text), value_r, &why) == RESULT_OK)
		return RESULT_OK;
	json_field_fault(fault,
	    "--arg %s: the tool wants this to be of type %.20s, so it must be "
	    "JSON: %.120s",
	    name, type, why.text);
	return RESULT_BAD;
}

static enum result
pack_arguments_add(json_t *given, const char *word, const json_t *schema,
    struct json_fault *fault)
{
	size_t len = strcspn(word, "=");
	char name[PACK_ARGUMENTS_NAME_MAX + 1];
	json_t *value = NULL;
	enum result result;

	if (word[len] != '=' || len == 0 || len > PACK_ARGUMENTS_NAME_MAX) {
		json_field_fault(fault,
		    "--arg '%.60s' must be NAME=VALUE, a name of at most %u "
		    "bytes",
		    word, PACK_ARGUMENTS_NAME_MAX);
		return RESULT_BAD;
	}
	memcpy(name, word, len);
	name[len] = '\0';
	if (json_object_get(given, name) != NULL) {
		json_field_fault(fault, "--arg %s is given twice", name);
		return RESULT_BAD;
	}
	result = pack_arguments_value(name, word + len + 1,
	    pack_arguments_type(schema, name), &value, fault);
	if (result == RESULT_OK &&
	    json_object_set_new(given, name, value) != 0) {
		json_field_fault(fault, "--arg: a name is no valid UTF-8");
		return RESULT_BAD;
	}
	return result;
}

enum result
pack_arguments_make(const json_t *input, const char *const *words, size_t count,
    const json_t *schema, json_t **arguments_r, struct json_fault *fault)
{
	json_t *given = json_object();
	json_t *all = input != NULL ? json_copy((json_t *)(uintptr_t)input)
				    : json_object();
	enum result result =
	    given == NULL || all == NULL ? RESULT_NO_MEMORY : RESULT_OK;

	*arguments_r = NULL;
	for (size_t i = 0; i < count && result == RESULT_OK; i++)
		result = pack_arguments_add(given, words[i], schema, fault);
	if (result == RESULT_OK && json_object_update(all, given) != 0)
		result = RESULT_NO_MEMORY;
	json_decref(given);
	if (result == RESULT_OK)
		*arguments_r = all;
	else
		json_decref(all);
	return result;
}
