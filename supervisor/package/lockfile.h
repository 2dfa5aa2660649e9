/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode.lock: which packages are installed, pinned and sealed. Read
 * once per run, strictly; written atomically under a file lock. The fields
 * of an entry are in docs/lockfile.md.
 */
#ifndef SUPERVISOR_PACKAGE_LOCKFILE_H
#define SUPERVISOR_PACKAGE_LOCKFILE_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"

struct lockfile; /* opaque, immutable */

#define LOCKFILE_NAME "agentnode.lock"

/* The absolute path in force: --lockfile (may be NULL; an empty one is
 * RESULT_BAD, and not another file), AGENTNODE_LOCKFILE, ./agentnode.lock if
 * there is one, else AGENTNODE_HOME/agentnode.lock. */
enum result lockfile_path(
    const char *option, char *path_r, size_t size, struct json_fault *fault);

/* RESULT_NOT_FOUND when there is no file; RESULT_BAD with file, line and
 * column; RESULT_MISMATCH when a hash is missing or does not fit
 * (integrity). */
enum result lockfile_load(
    const char *path, struct lockfile **lockfile_r, struct json_fault *fault);

/* As lockfile_load, but hashes are not compared: for `lock verify`, which
 * tells about each. Nothing may be run from it. */
enum result lockfile_load_unverified(
    const char *path, struct lockfile **lockfile_r, struct json_fault *fault);
void lockfile_free(struct lockfile **lockfile);

/* Entry of a slug or NULL; borrowed. */
const json_t *lockfile_entry(const struct lockfile *lockfile, const char *slug);
/* The sealed volume of an entry, whatever kind it is; NULL: it has none.
 * Borrowed. */
const json_t *lockfile_entry_volume(const json_t *entry);
/* All entries, slug -> entry; borrowed. */
const json_t *lockfile_entries(const struct lockfile *lockfile);
/* The whole file; borrowed. */
const json_t *lockfile_root(const struct lockfile *lockfile);

/* Put (or with entry NULL remove) one entry: lock, strict read, verify,
 * change, seal, write a new file, fsync, rename, fsync the folder. Nothing
 * is written when nothing changes. Removing what is not there is
 * RESULT_NOT_FOUND. entry is borrowed; its _integrity is made here. */
enum result lockfile_put(const char *path, const char *slug,
    const json_t *entry, struct json_fault *fault);

/* Seal every entry and the file anew: for files that were edited on
 * purpose. Without force an entry whose seal does not fit is refused
 * (RESULT_MISMATCH); one without seal gets it. */
enum result lockfile_seal(
    const char *path, bool force, struct json_fault *fault);

#endif
