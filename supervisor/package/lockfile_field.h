/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of the fields of a lockfile entry: type, shape, and since
 * which canonical version the entry's hash covers it. docs/lockfile.md is
 * the prose to it. Pure; used by the parser and the hash.
 */
#ifndef SUPERVISOR_PACKAGE_LOCKFILE_FIELD_H
#define SUPERVISOR_PACKAGE_LOCKFILE_FIELD_H

#include <jansson.h>

#include "common/json_field.h"

/* Canonical versions 1 to 3 are those of the AgentNode SDK; an entry that
 * has a field of ours is sealed with version 4, which covers those too. */
#define LOCKFILE_FIELD_VERSION_OURS 4
#define LOCKFILE_FIELD_MUTABLE 0 /* not hashed */

enum lockfile_field_kind {
	LOCKFILE_FIELD_TEXT,
	LOCKFILE_FIELD_BOOL,
	LOCKFILE_FIELD_LIST,
	LOCKFILE_FIELD_OBJECT,
	LOCKFILE_FIELD_ANY /* text, list or object: its reader checks */
};

struct lockfile_field {
	const char *name;
	enum lockfile_field_kind kind;
	int version; /* hashed since; LOCKFILE_FIELD_MUTABLE */
	/* Further demands on the value; may be NULL. path names it. */
	void (*check)(
	    const json_t *value, const char *path, struct json_fault *fault);
};

extern const struct lockfile_field lockfile_field_table[]; /* name NULL ends */

/* Check an entry: known fields only, each of its type and shape. Null
 * counts as absent. path names the entry in faults. */
void lockfile_field_check(
    const json_t *entry, const char *path, struct json_fault *fault);

#endif
