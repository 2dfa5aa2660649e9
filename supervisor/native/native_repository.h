/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the repository at a root, and each one around it, makes git read and
 * run elsewhere in the root: the git directory a .git file names, a common
 * directory, includes, directories of hooks, files that a config names, and
 * what links in protected directories lead to. Each is protected like
 * .git/config; what cannot be followed for sure is refused.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_REPOSITORY_H
#define SUPERVISOR_NATIVE_NATIVE_REPOSITORY_H

#include <stdbool.h>

#include "supervisor/native/native_protect.h"

struct native_repository; /* opaque: what was found */

/* Looks once for both passes. bare: the root is a git directory itself. On a
 * fault with a sentence *found_r is NULL. */
enum result native_repository_find(struct native_step_plan *plan,
    const struct native_given *root, bool bare,
    struct native_repository **found_r);
void native_repository_free(struct native_repository **found);

/* One pass, as walk says. */
enum result native_repository_protect(const struct native_protect_walk *walk,
    const struct native_repository *found);

#endif
