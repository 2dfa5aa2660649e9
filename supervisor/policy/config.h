/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host configuration: one table of keys (type, range, default, sentence
 * for the manual) behind reading, `config get|set|unset|list --origin` and
 * the manual page. Precedence: team policy > environment > user config >
 * default; the team policy only narrows.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_H
#define SUPERVISOR_POLICY_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

struct config; /* opaque; immutable once loaded */

enum config_type {
	CONFIG_TEXT,
	CONFIG_INT,
	CONFIG_BOOL,
	CONFIG_SIZE,
	CONFIG_CHOICE,
	CONFIG_LIST,
	CONFIG_OBJECT
};

struct config_key {
	const char *name; /* "sandbox.memory" */
	enum config_type type;
	int64_t min, max; /* ints: value; sizes: bytes; lists: items */
	const char *const *choices; /* CONFIG_CHOICE, NULL-terminated */
	const char *default_text; /* as typed on the command line; NULL unset */
	const char *environment;  /* variable that overrides it, or NULL */
	const char *sentence;     /* for the manual */
};

extern const struct config_key config_table[]; /* ends with name NULL */

/* AGENTNODE_HOME or ~/.agentnode, made 0700 if missing; must be ours. */
enum result config_home(char *path_r, size_t size, struct json_fault *fault);

/* Load and check everything. An unreadable or malformed file is an error
 * with file and position, never the defaults. */
enum result config_load(struct config **config_r, struct json_fault *fault);
void config_free(struct config **config);

/* Typed reads of a key of the table; asking for an unknown key or another
 * type is a broken invariant. Texts and lists are borrowed. */
const char *config_text(const struct config *config, const char *key);
int64_t config_int(const struct config *config, const char *key);
bool config_bool(const struct config *config, const char *key);
const json_t *config_json(const struct config *config, const char *key);
/* "default", "user", "environment" or "policy". */
const char *config_origin(const struct config *config, const char *key);

/* Write one key of the user's config.json: atomic, locked, synced.
 * text is as typed; NULL unsets. */
enum result config_set(
    const char *key, const char *text, struct json_fault *fault);

#endif
