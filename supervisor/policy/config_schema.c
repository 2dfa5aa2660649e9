/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the table as a schema; see config_schema.h. It must never allow a
 * key that no row names.
 */
#include "supervisor/policy/config_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/policy/config_table.h"

#define CONFIG_SCHEMA_NAME_MAX 128U

/* Every step adds to one object; the first that fails frees it. */
static void
config_schema_set(json_t **object, const char *name, json_t *value)
{
	if (json_object_set_new(*object, name, value) == 0)
		return;
	json_decref(*object);
	*object = NULL;
}

static void
config_schema_words(json_t **object, const char *const *choices)
{
	json_t *words = json_array();

	for (; choices != NULL && *choices != NULL; choices++)
		(void)json_array_append_new(words, json_string(*choices));
	config_schema_set(object, "enum", words);
}

static void
config_schema_range(
    json_t **object, const struct config_key *key, const char *pattern)
{
	config_schema_set(object, "minimum", json_integer(key->min));
	config_schema_set(object, "maximum", json_integer(key->max));
	if (pattern != NULL)
		config_schema_set(object, "pattern", json_string(pattern));
}

static void
config_schema_list(json_t **object, const struct config_key *key)
{
	json_t *items = json_pack("{s:s}", "type", "string");

	if (key->shape == CONFIG_WORD)
		config_schema_words(&items, key->choices);
	config_schema_set(object, "items", items);
	config_schema_set(object, "maxItems", json_integer(key->max));
}

static json_t *
config_schema_type(enum config_type type)
{
	switch (type) {
	case CONFIG_TEXT:
	case CONFIG_CHOICE:
		return json_string("string");
	case CONFIG_INT:
		return json_string("integer");
	case CONFIG_BOOL:
		return json_string("boolean");
	case CONFIG_SIZE:
		return json_pack("[s, s]", "integer", "string");
	case CONFIG_MONEY:
		return json_pack("[s, s]", "number", "string");
	case CONFIG_LIST:
		return json_string("array");
	case CONFIG_OBJECT:
		return json_string("object");
	}
	return NULL;
}

static json_t *
config_schema_key(const struct config_key *key)
{
	json_t *object = json_object();

	config_schema_set(&object, "type", config_schema_type(key->type));
	config_schema_set(&object, "description", json_string(key->sentence));
	switch (key->type) {
	case CONFIG_CHOICE:
		config_schema_words(&object, key->choices);
		break;
	case CONFIG_TEXT:
		config_schema_set(&object, "minLength", json_integer(key->min));
		config_schema_set(&object, "maxLength", json_integer(key->max));
		break;
	case CONFIG_INT:
		config_schema_range(&object, key, NULL);
		break;
	case CONFIG_SIZE:
		config_schema_range(&object, key, "^[0-9]+[kmg]?$");
		break;
	case CONFIG_LIST:
		config_schema_list(&object, key);
		break;
	case CONFIG_MONEY:
	case CONFIG_BOOL:
	case CONFIG_OBJECT:
		break;
	}
	return object;
}

/* The object that holds the keys of a dotted prefix; made when missing. */
static json_t *
config_schema_folder(json_t *schema, const char *name)
{
	json_t *properties = json_object_get(schema, "properties");
	json_t *folder = json_object_get(properties, name);

	if (folder != NULL)
		return folder;
	folder = json_pack("{s:s, s:b, s:{}}", "type", "object",
	    "additionalProperties", 0, "properties");
	return json_object_set_new(properties, name, folder) == 0 ? folder
								  : NULL;
}

static bool
config_schema_add(json_t *schema, const struct config_key *key)
{
	char part[CONFIG_SCHEMA_NAME_MAX];
	const char *name = key->name, *dot;

	while (schema != NULL && (dot = strchr(name, '.')) != NULL) {
		(void)snprintf(
		    part, sizeof(part), "%.*s", (int)(dot - name), name);
		schema = config_schema_folder(schema, part);
		name = dot + 1;
	}
	return schema != NULL &&
	       json_object_set_new(json_object_get(schema, "properties"), name,
		   config_schema_key(key)) == 0;
}

json_t *
config_schema_make(void)
{
	json_t *schema = json_pack("{s:s, s:s, s:s, s:s, s:b, s:{}}", "$schema",
	    "https://json-schema.org/draft/2020-12/schema", "title",
	    "agentnode config.json and policy.json", "description",
	    "Made by 'agentnode manual schema'; do not edit.", "type", "object",
	    "additionalProperties", 0, "properties");
	const struct config_key *key;

	for (key = config_table; schema != NULL && key->name != NULL; key++) {
		if (config_schema_add(schema, key))
			continue;
		json_decref(schema);
		schema = NULL;
		break;
	}
	return schema;
}
