/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode.lock: which packages are installed, pinned and sealed. Read
 * once per run, strictly; written atomically under a file lock. The fields
 * of an entry are in docs/lockfile.md.
 */
#ifndef SUPERVISOR_PACKAGE_LOCKFILE_H
#define SUPERVISOR_PACKAGE_LOCKFILE_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"

struct lockfile; /* opaque, immutable */

/* The path in force: --lockfile (may be NULL), AGENTNODE_LOCKFILE,
 * ./agentnode.lock if there is one, else AGENTNODE_HOME/agentnode.lock. */
enum result lockfile_path(
    const char *option, char *path_r, size_t size, struct json_fault *fault);

/* RESULT_NOT_FOUND when there is no file; RESULT_BAD with file, line and
 * column; RESULT_MISMATCH when a hash does not fit (integrity). */
enum result lockfile_load(
    const char *path, struct lockfile **lockfile_r, struct json_fault *fault);
void lockfile_free(struct lockfile **lockfile);

/* Entry of a slug or NULL; borrowed. */
const json_t *lockfile_entry(const struct lockfile *lockfile, const char *slug);
/* All entries, slug -> entry; borrowed. */
const json_t *lockfile_entries(const struct lockfile *lockfile);

/* Put (or with entry NULL remove) one entry: lock, strict read, verify,
 * change, seal, write a new file, fsync, rename, fsync the folder. */
enum result lockfile_put(const char *path, const char *slug,
    const json_t *entry, struct json_fault *fault);

#endif
