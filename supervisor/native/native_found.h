/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories below the writable directories, before a run and after it:
 * git asks one in a subdirectory when it is asked in the workspace (an entry
 * in the index is enough), and its config is a command's to write. Used by
 * exec around a native run, to say which are new or changed.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_FOUND_H
#define SUPERVISOR_NATIVE_NATIVE_FOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/native/native_view.h"

struct native_found; /* opaque */

/* Looks through each writable directory of a workspace-write view: names
 * .git (any kind), and directories that are bare repositories. Never follows
 * a link or leaves the file system; bounded. before: the first look, for the
 * second. NULL: out of memory, or another mode. */
struct native_found *native_found_take(
    const struct native_view *view, const struct native_found *before);
void native_found_free(struct native_found **found);

/* The next path from *at_r on that before does not have, or not like that
 * (another inode, config or hook); NULL behind the last. Borrowed of after. */
const char *native_found_next(const struct native_found *before,
    const struct native_found *after, size_t *at_r);
/* Nothing was left out. */
bool native_found_complete(const struct native_found *found);

#endif
