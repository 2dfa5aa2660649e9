/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user of this host agreed to run: AGENTNODE_HOME/consent.json, a
 * list of hashes over lockfile entries (lockfile_hash_consent). A lockfile
 * travels with a repository, a consent does not: what a foreign lockfile
 * names is not run because it is named there. Used by mcp install, lock
 * seal, remove, mcp run, and the commands that list.
 */
#ifndef SUPERVISOR_POLICY_CONSENT_H
#define SUPERVISOR_POLICY_CONSENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/digest.h"

#define CONSENT_NAME "consent.json"
#define CONSENT_MAX 4096U /* the oldest goes: then it is refused again */
#define CONSENT_SLUG_MAX 60U

struct consent_item {
	char hash[DIGEST_HEX + 1];
	const char *slug; /* for the reader of the file; borrowed */
	/* Which actions of which tools (guard_make_consent); borrowed, NULL:
	 * none. */
	const json_t *guard;
};

/* Record all of them, or none: lock, strict read, write anew, rename. What
 * is there already counts as new again. */
enum result consent_add(
    const struct consent_item *items, size_t count, struct json_fault *fault);

/* All of them, for several questions; the caller owns *list_r. No file is
 * no consent. */
enum result consent_load(json_t **list_r, struct json_fault *fault);
bool consent_holds(const json_t *list, const char *hash);
/* What of Guard's was agreed to with it, borrowed; NULL: nothing. */
const json_t *consent_guard(const json_t *list, const char *hash);

/* Whether it is there; on any fault it is not. */
enum result consent_has(
    const char *hash, bool *there_r, struct json_fault *fault);

/* Take one out; RESULT_OK also when it is not there. */
enum result consent_drop(const char *hash, struct json_fault *fault);

#endif
