/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seals of a lockfile: one hash per entry (_integrity) over its
 * canonical fields, and the structure digest over all slugs and their
 * seals. They show drift and tampering, not who made it: whoever can write
 * the file can seal it (docs/lockfile.md). Used by lockfile.c.
 */
#ifndef SUPERVISOR_PACKAGE_LOCKFILE_HASH_H
#define SUPERVISOR_PACKAGE_LOCKFILE_HASH_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/digest.h"

enum lockfile_hash_status {
	LOCKFILE_HASH_VERIFIED,
	LOCKFILE_HASH_MISSING,
	LOCKFILE_HASH_MISMATCH,
	LOCKFILE_HASH_UNSUPPORTED, /* a version or algorithm we do not know */
	LOCKFILE_HASH_INVALID      /* malformed */
};

/* "verified", "missing", ... */
const char *lockfile_hash_status_text(enum lockfile_hash_status status);

/* Compare an entry with its _integrity. */
enum lockfile_hash_status lockfile_hash_entry(const json_t *entry);

/* What consent to run an entry is given for (consent.h): slug and every
 * field that is not mutable, whatever version its seal has. */
enum result lockfile_hash_consent(
    const char *slug, const json_t *entry, char hex_r[DIGEST_HEX + 1]);

/* Compare the whole file with its structure_digest; root is the file. */
enum lockfile_hash_status lockfile_hash_structure(const json_t *root);

/* Give an entry a new _integrity (the version is chosen by its fields). */
enum result lockfile_hash_seal_entry(json_t *entry);

/* Give the file a new structure_digest; every entry must have a seal. */
enum result lockfile_hash_seal_structure(json_t *root);

#endif
