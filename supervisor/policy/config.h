/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host configuration in force: AGENTNODE_HOME/config.json, a few
 * environment variables and the team policy, read once and checked as a
 * whole. Precedence: team policy > environment > user config > default;
 * the team policy only narrows.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_H
#define SUPERVISOR_POLICY_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/config_table.h"

#define CONFIG_FILE "config.json"
#define CONFIG_FILE_MAX (1024U * 1024U)
#define CONFIG_POLICY_DIR "/etc/agentnode"
#define CONFIG_POLICY_FILE "policy.json"

struct config; /* opaque; immutable once loaded */

/* AGENTNODE_HOME or ~/.agentnode, made 0700 if missing; must be a folder,
 * not a link, of our own uid, and not writable by others. */
enum result config_home(char *path_r, size_t size, struct json_fault *fault);

/* Load and check everything. An unreadable or malformed file is an error
 * with file and position, never the defaults. Writes nothing. */
enum result config_load(struct config **config_r, struct json_fault *fault);
void config_free(struct config **config);

/* Typed reads of a key of the table; asking for an unknown key or another
 * type is a broken invariant. Texts (TEXT, CHOICE; NULL when unset) and
 * lists are borrowed; config_int serves INT and SIZE (bytes). */
const char *config_text(const struct config *config, const char *key);
int64_t config_int(const struct config *config, const char *key);
bool config_bool(const struct config *config, const char *key);
/* Any type, as JSON: sizes are integers. NULL when unset. */
const json_t *config_json(const struct config *config, const char *key);
/* Is this word of sandbox.overrides in force: may that layer be missing? */
bool config_override(const struct config *config, const char *word);
/* What the team policy says of a key, or NULL: for those whose items are
 * held to it one by one. Borrowed. */
const json_t *config_ceiling(const struct config *config, const char *key);
/* "default", "user", "environment" or "policy". */
const char *config_origin(const struct config *config, const char *key);

/* True unless the team policy has an egress.allow that covers no such
 * canonical entry. To be asked for entries of every origin: manifests,
 * lockfile and --allow too. */
bool config_permits_entry(const struct config *config, const char *entry);

/* The value as a person would type it for `config set`; caller frees. */
char *config_typed(const struct config *config, const char *key);

/* Write one key of the user's config.json: atomic, locked, synced.
 * text is as typed; NULL unsets. */
enum result config_set(
    const char *key, const char *text, struct json_fault *fault);

/* The same for one member of an object of texts: value NULL removes it. A
 * member that is there is never replaced (RESULT_EXISTS), one that is not
 * cannot be removed (RESULT_NOT_FOUND). dry: say only whether it would go. */
enum result config_set_member(const char *key, const char *member,
    const char *value, bool dry, struct json_fault *fault);

/* The same for a part of an object: edit gets the user's own value (an empty
 * object without one) under the lock and changes it in place; an empty one
 * is then unset. */
enum result config_edit(const char *key,
    void (*edit)(json_t *value, void *context), void *context,
    struct json_fault *fault);

#endif
