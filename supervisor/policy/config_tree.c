/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nested form of the configuration. Called by config.c and by the fuzz
 * target. Pure: it must never touch a file. Depth is bounded by the parser.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/policy/config_tree.h"
#include "supervisor/policy/config_value.h"

#define CONFIG_TREE_NAME_MAX 128U

struct config_tree_walk {
	const char *file;
	json_t **values;
	struct json_fault *fault;
};

size_t
config_tree_count(void)
{
	size_t count = 0;

	while (config_table[count].name != NULL)
		count++;
	return count;
}

/* True when some key lies below the dotted prefix. */
static bool
config_tree_is_prefix(const char *name)
{
	const struct config_key *key;
	size_t len = strlen(name);

	for (key = config_table; key->name != NULL; key++)
		if (strncmp(key->name, name, len) == 0 && key->name[len] == '.')
			return true;
	return false;
}

static enum result
config_tree_unknown(struct config_tree_walk *walk, const char *name)
{
	const char *nearest = config_table_nearest(name);

	if (nearest != NULL && strcmp(nearest, name) == 0)
		json_field_fault(walk->fault,
		    "%s: '%s' is one key: write an object in an object, "
		    "{\"%.*s\": {...}}",
		    walk->file, name, (int)strcspn(name, "."), name);
	else if (nearest != NULL)
		json_field_fault(walk->fault,
		    "%s: unknown key '%s'; the nearest is '%s'", walk->file,
		    name, nearest);
	else
		json_field_fault(
		    walk->fault, "%s: unknown key '%s'", walk->file, name);
	return RESULT_BAD;
}

static enum result config_tree_walk(struct config_tree_walk *walk,
    const char *prefix, const json_t *object, unsigned depth);

static enum result
config_tree_member(struct config_tree_walk *walk, const char *name,
    const json_t *value, unsigned depth)
{
	const struct config_key *key = config_table_find(name);
	char where[JSON_FIELD_FAULT_MAX];

	if (key != NULL) {
		snprintf(where, sizeof(where), "%s: %s", walk->file, name);
		return config_value_check(key, value, where,
		    &walk->values[key - config_table], walk->fault);
	}
	if (!config_tree_is_prefix(name))
		return config_tree_unknown(walk, name);
	if (!json_is_object(value)) {
		json_field_fault(walk->fault,
		    "%s: %s: must be an object of keys", walk->file, name);
		return RESULT_BAD;
	}
	return config_tree_walk(walk, name, value, depth + 1);
}

static enum result
config_tree_walk(struct config_tree_walk *walk, const char *prefix,
    const json_t *object, unsigned depth)
{
	enum result result = RESULT_OK;
	char name[CONFIG_TREE_NAME_MAX];
	const char *member;
	json_t *value;

	if (depth > JSON_FIELD_DEPTH_MAX)
		return RESULT_TOO_LONG;
	json_object_foreach((json_t *)object, member, value)
	{
		/* A member with a dot is no path: "a.b" would be two ways to
		 * say one thing. */
		if ((size_t)snprintf(name, sizeof(name), "%s%s%s", prefix,
			prefix[0] != '\0' ? "." : "", member) >= sizeof(name) ||
		    strchr(member, '.') != NULL)
			result = config_tree_unknown(walk, member);
		else
			result = config_tree_member(walk, name, value, depth);
		if (result != RESULT_OK)
			break;
	}
	return result;
}

enum result
config_tree_parse(const char *file, const char *bytes, size_t len,
    json_t **values_r, size_t count, struct json_fault *fault)
{
	struct config_tree_walk walk = {file, values_r, fault};
	struct json_fault syntax = {""};
	enum result result;
	json_t *root;
	size_t i;

	memset(values_r, 0, count * sizeof(*values_r));
	if (json_field_parse(bytes, len, &root, &syntax) != RESULT_OK) {
		json_field_fault(fault, "%s: %s", file, syntax.text);
		return RESULT_BAD;
	}
	if (!json_is_object(root)) {
		json_field_fault(fault, "%s: must be one JSON object", file);
		result = RESULT_BAD;
	} else
		result = config_tree_walk(&walk, "", root, 0);
	json_decref(root);
	for (i = 0; result != RESULT_OK && i < count; i++) {
		json_decref(values_r[i]);
		values_r[i] = NULL;
	}
	return result;
}

json_t *
config_tree_get(const json_t *root, const char *name)
{
	char part[CONFIG_TREE_NAME_MAX];
	json_t *value = (json_t *)(uintptr_t)root;
	size_t len;

	while (value != NULL) {
		len = strcspn(name, ".");
		(void)snprintf(part, sizeof(part), "%.*s", (int)len, name);
		value = json_object_get(value, part);
		if (name[len] == '\0')
			break;
		name += len + 1;
	}
	return value;
}

enum result
config_tree_put(json_t *root, const char *name, const json_t *value)
{
	char first[CONFIG_TREE_NAME_MAX];
	const char *dot = strchr(name, '.');
	enum result result;
	json_t *below;

	if (dot == NULL) {
		if (value == NULL) {
			json_object_del(root, name);
			return RESULT_OK;
		}
		return json_object_set_new(root, name, json_deep_copy(value)) ==
			       0
			   ? RESULT_OK
			   : RESULT_NO_MEMORY;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name);
	below = json_object_get(root, first);
	if (below == NULL && value == NULL)
		return RESULT_OK;
	if (below == NULL) {
		below = json_object();
		if (json_object_set_new(root, first, below) != 0)
			return RESULT_NO_MEMORY;
	}
	result = config_tree_put(below, dot + 1, value);
	if (json_object_size(below) == 0)
		json_object_del(root, first);
	return result;
}
