/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the three sources of the configuration, checks them whole, merges
 * them once, and writes single keys. Called by main's commands. It must
 * never fall back to a default because something could not be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/config_narrow.h"
#include "supervisor/policy/config_tree.h"
#include "supervisor/policy/config_value.h"
#include "supervisor/policy/state_dir.h"

#define CONFIG_EXIT_INVARIANT 70

struct config_slot {
	json_t *value;      /* effective; NULL unset */
	json_t *ceiling;    /* what the team policy says, or NULL */
	const char *origin; /* static */
};

struct config {
	size_t count;
	struct config_slot slots[]; /* one per row of the table */
};

enum result
config_home(char *path_r, size_t size, struct json_fault *fault)
{
	struct state_dir home;
	enum result result = state_dir_home(true, &home, fault);

	if (result != RESULT_OK)
		return result;
	state_dir_close(&home);
	if ((size_t)snprintf(path_r, size, "%s", home.path) >= size)
		return RESULT_TOO_LONG;
	return RESULT_OK;
}

void
config_free(struct config **config)
{
	size_t i;

	if (*config == NULL)
		return;
	for (i = 0; i < (*config)->count; i++) {
		json_decref((*config)->slots[i].value);
		json_decref((*config)->slots[i].ceiling);
	}
	free(*config);
	*config = NULL;
}

static enum result
config_load_defaults(struct config *config, struct json_fault *fault)
{
	const struct config_key *key;
	enum result result;
	size_t i;

	for (i = 0; i < config->count; i++) {
		key = &config_table[i];
		config->slots[i].origin = "default";
		if (key->default_text == NULL)
			continue;
		result = config_value_parse(key, key->default_text, key->name,
		    &config->slots[i].value, fault);
		if (result != RESULT_OK)
			return result;
	}
	return RESULT_OK;
}

/* One of our files in dir: RESULT_NOT_FOUND when there is none. */
static enum result
config_load_file(const struct state_dir *dir, const char *name,
    enum state_dir_trust trust, json_t **values, size_t count,
    struct json_fault *fault)
{
	char path[STATE_DIR_PATH_MAX + STATE_DIR_NAME_MAX];
	enum result result;
	size_t len;
	char *bytes;

	result = state_dir_read(
	    dir, name, trust, CONFIG_FILE_MAX, &bytes, &len, fault);
	if (result != RESULT_OK)
		return result;
	snprintf(path, sizeof(path), "%s/%s", state_dir_shown(dir->path), name);
	result = config_tree_parse(path, bytes, len, values, count, fault);
	free(bytes);
	return result;
}

static enum result
config_load_user(
    struct config *config, json_t **values, struct json_fault *fault)
{
	struct state_dir home;
	enum result result;
	size_t i;

	result = state_dir_home(false, &home, fault);
	if (result == RESULT_OK)
		result = config_load_file(&home, CONFIG_FILE, STATE_DIR_OURS,
		    values, config->count, fault);
	state_dir_close(&home);
	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	for (i = 0; i < config->count; i++) {
		if (values[i] == NULL)
			continue;
		json_decref(config->slots[i].value);
		config->slots[i].value = values[i];
		config->slots[i].origin = "user";
	}
	return RESULT_OK;
}

static enum result
config_load_environment(struct config *config, struct json_fault *fault)
{
	const struct config_key *key;
	const char *text;
	enum result result;
	json_t *value;
	size_t i;

	for (i = 0; i < config->count; i++) {
		key = &config_table[i];
		text =
		    key->environment != NULL ? getenv(key->environment) : NULL;
		if (text == NULL || text[0] == '\0')
			continue;
		result = config_value_parse(
		    key, text, key->environment, &value, fault);
		if (result != RESULT_OK)
			return result;
		json_decref(config->slots[i].value);
		config->slots[i].value = value;
		config->slots[i].origin = "environment";
	}
	return RESULT_OK;
}

static enum result
config_narrow_slot(const struct config_key *key, struct config_slot *slot)
{
	enum result result;
	json_t *value;

	result = config_narrow_value(key, slot->value, slot->ceiling, &value);
	if (result != RESULT_OK)
		return result;
	if (slot->value == NULL || !json_equal(slot->value, value))
		slot->origin = "policy";
	json_decref(slot->value);
	slot->value = value;
	return RESULT_OK;
}

static enum result
config_load_policy(
    struct config *config, json_t **values, struct json_fault *fault)
{
	struct state_dir dir;
	enum result result;
	size_t i;

	result =
	    state_dir_open(CONFIG_POLICY_DIR, STATE_DIR_ROOTS, &dir, fault);
	if (result == RESULT_OK)
		result = config_load_file(&dir, CONFIG_POLICY_FILE,
		    STATE_DIR_ROOTS, values, config->count, fault);
	state_dir_close(&dir);
	if (result == RESULT_NOT_FOUND)
		return RESULT_OK;
	for (i = 0; result == RESULT_OK && i < config->count; i++)
		config->slots[i].ceiling = values[i];
	for (i = 0; result == RESULT_OK && i < config->count; i++)
		if (config->slots[i].ceiling != NULL)
			result = config_narrow_slot(
			    &config_table[i], &config->slots[i]);
	return result;
}

enum result
config_load(struct config **config_r, struct json_fault *fault)
{
	size_t count = config_tree_count();
	struct config *config;
	enum result result;
	json_t **values;

	*config_r = NULL;
	config = calloc(1, sizeof(*config) + count * sizeof(config->slots[0]));
	values = calloc(count, sizeof(*values));
	if (config == NULL || values == NULL) {
		free(config);
		free(values);
		return RESULT_NO_MEMORY;
	}
	config->count = count;
	result = config_load_defaults(config, fault);
	if (result == RESULT_OK)
		result = config_load_user(config, values, fault);
	if (result == RESULT_OK)
		result = config_load_environment(config, fault);
	if (result == RESULT_OK)
		result = config_load_policy(config, values, fault);
	free(values);
	if (result != RESULT_OK)
		config_free(&config);
	*config_r = config;
	return result;
}

static const struct config_slot *
config_slot(const struct config *config, const char *name)
{
	const struct config_key *key = config_table_find(name);

	if (key == NULL)
		log_fatal(CONFIG_EXIT_INVARIANT, "config_unknown_key", name);
	return &config->slots[key - config_table];
}

static const json_t *
config_typed_slot(const struct config *config, const char *name,
    enum config_type type, enum config_type other)
{
	const struct config_key *key = config_table_find(name);

	if (key != NULL && key->type != type && key->type != other)
		log_fatal(CONFIG_EXIT_INVARIANT, "config_wrong_type", name);
	return config_slot(config, name)->value;
}

const char *
config_text(const struct config *config, const char *key)
{
	return json_string_value(
	    config_typed_slot(config, key, CONFIG_TEXT, CONFIG_CHOICE));
}

int64_t
config_int(const struct config *config, const char *key)
{
	return json_integer_value(
	    config_typed_slot(config, key, CONFIG_INT, CONFIG_SIZE));
}

bool
config_bool(const struct config *config, const char *key)
{
	return json_is_true(
	    config_typed_slot(config, key, CONFIG_BOOL, CONFIG_BOOL));
}

const json_t *
config_json(const struct config *config, const char *key)
{
	return config_slot(config, key)->value;
}

const json_t *
config_ceiling(const struct config *config, const char *key)
{
	return config_slot(config, key)->ceiling;
}

bool
config_override(const struct config *config, const char *word)
{
	const json_t *list = config_json(config, "sandbox.overrides");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *one = json_string_value(json_array_get(list, i));

		if (one != NULL && strcmp(one, word) == 0)
			return true;
	}
	return false;
}

const char *
config_origin(const struct config *config, const char *key)
{
	return config_slot(config, key)->origin;
}

bool
config_permits_entry(const struct config *config, const char *entry)
{
	const json_t *ceiling = config_slot(config, "egress.allow")->ceiling;
	const json_t *wide;
	size_t i;

	if (ceiling == NULL)
		return true;
	json_array_foreach(
	    ceiling, i, wide) if (config_narrow_covers(json_string_value(wide),
				      entry)) return true;
	return false;
}

char *
config_typed(const struct config *config, const char *key)
{
	const json_t *value = config_slot(config, key)->value;

	return value == NULL
		   ? strdup("")
		   : config_value_print(config_table_find(key), value);
}

/* The user's file as it stands, checked; an empty object without one. */
static enum result
config_set_read(
    const struct state_dir *home, json_t **root_r, struct json_fault *fault)
{
	size_t len, i, count = config_tree_count();
	enum result result;
	json_t **values;
	char *bytes;

	*root_r = NULL;
	result = state_dir_read(home, CONFIG_FILE, STATE_DIR_OURS,
	    CONFIG_FILE_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*root_r = json_object();
		return *root_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return result;
	values = calloc(count, sizeof(*values));
	if (values == NULL) {
		free(bytes);
		return RESULT_NO_MEMORY;
	}
	result =
	    config_tree_parse(CONFIG_FILE, bytes, len, values, count, fault);
	for (i = 0; i < count; i++)
		json_decref(values[i]);
	free(values);
	if (result == RESULT_OK)
		result = json_field_parse(bytes, len, root_r, fault);
	free(bytes);
	return result;
}

static enum result
config_set_write(
    const struct state_dir *home, const json_t *root, struct json_fault *fault)
{
	char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
	enum result result;
	size_t len;

	if (text == NULL)
		return RESULT_NO_MEMORY;
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL */
	result = state_dir_write(home, CONFIG_FILE, 0600, text, len + 1, fault);
	free(text);
	return result;
}

/* Under the lock: read, change, write. */
static enum result
config_set_locked(const struct state_dir *home, const char *name,
    const json_t *stored, struct json_fault *fault)
{
	enum result result;
	json_t *root;

	result = config_set_read(home, &root, fault);
	if (result != RESULT_OK)
		return result;
	result = config_tree_put(root, name, stored);
	if (result == RESULT_OK)
		result = config_set_write(home, root, fault);
	json_decref(root);
	return result;
}

enum result
config_set(const char *name, const char *text, struct json_fault *fault)
{
	const struct config_key *key = config_table_find(name);
	json_t *value = NULL, *stored = NULL;
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	enum result result;

	if (key == NULL)
		return RESULT_NOT_FOUND;
	if (text != NULL) {
		result = config_value_parse(key, text, name, &value, fault);
		if (result != RESULT_OK)
			return result;
		stored = config_value_stored(key, value);
		json_decref(value);
	}
	result = state_dir_home(true, &home, fault);
	if (result == RESULT_OK)
		result = state_dir_lock(&home, &lock, fault);
	if (result == RESULT_OK)
		result = config_set_locked(&home, name, stored, fault);
	state_dir_close(&home);
	json_decref(stored);
	return result;
}

/* The user's own object with the member set or taken away; owned. */
static enum result
config_member_change(const json_t *object, const char *member,
    const char *value, json_t **object_r, struct json_fault *fault)
{
	json_t *copy = object != NULL ? json_deep_copy(object) : json_object();
	bool there = json_object_get(copy, member) != NULL;

	*object_r = copy;
	if (there && value != NULL) {
		json_field_fault(
		    fault, "'%.40s' is there already; remove it first", member);
		return RESULT_EXISTS;
	}
	if (!there && value == NULL) {
		json_field_fault(fault, "there is no '%.40s'", member);
		return RESULT_NOT_FOUND;
	}
	if (value == NULL)
		return json_object_del(copy, member) == 0 ? RESULT_OK
							  : RESULT_INTERNAL;
	return json_object_set_new(copy, member, json_string(value)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

/* Under the lock: read, change, check the whole, write. */
static enum result
config_member_locked(const struct state_dir *home, const struct config_key *key,
    const char *member, const char *value, bool dry, struct json_fault *fault)
{
	json_t *root = NULL, *object = NULL, *checked = NULL;
	enum result result = config_set_read(home, &root, fault);

	if (result == RESULT_OK)
		result = config_member_change(config_tree_get(root, key->name),
		    member, value, &object, fault);
	if (result == RESULT_OK)
		result =
		    config_value_check(key, object, key->name, &checked, fault);
	if (result == RESULT_OK && !dry) {
		result = config_tree_put(root, key->name,
		    json_object_size(checked) > 0 ? checked : NULL);
		if (result == RESULT_OK)
			result = config_set_write(home, root, fault);
	}
	json_decref(checked);
	json_decref(object);
	json_decref(root);
	return result;
}

enum result
config_set_member(const char *name, const char *member, const char *value,
    bool dry, struct json_fault *fault)
{
	const struct config_key *key = config_table_find(name);
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	enum result result;

	if (key == NULL || key->type != CONFIG_OBJECT)
		return RESULT_INTERNAL;
	result = state_dir_home(true, &home, fault);
	if (result == RESULT_OK)
		result = state_dir_lock(&home, &lock, fault);
	if (result == RESULT_OK)
		result =
		    config_member_locked(&home, key, member, value, dry, fault);
	state_dir_close(&home);
	return result;
}

static enum result
config_edit_locked(const struct state_dir *home, const struct config_key *key,
    void (*edit)(json_t *value, void *context), void *context,
    struct json_fault *fault)
{
	json_t *root = NULL, *own, *checked = NULL;
	enum result result = config_set_read(home, &root, fault);

	if (result != RESULT_OK)
		return result;
	own = json_deep_copy(config_tree_get(root, key->name));
	if (own == NULL)
		own = json_object();
	edit(own, context);
	result = config_value_check(key, own, key->name, &checked, fault);
	if (result == RESULT_OK)
		result = config_tree_put(
		    root, key->name, json_object_size(own) > 0 ? own : NULL);
	if (result == RESULT_OK)
		result = config_set_write(home, root, fault);
	json_decref(checked);
	json_decref(own);
	json_decref(root);
	return result;
}

enum result
config_edit(const char *name, void (*edit)(json_t *value, void *context),
    void *context, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	enum result result = state_dir_home(true, &home, fault);

	if (result == RESULT_OK)
		result = state_dir_lock(&home, &lock, fault);
	if (result == RESULT_OK)
		result = config_edit_locked(
		    &home, config_table_find(name), edit, context, fault);
	state_dir_close(&home);
	return result;
}
