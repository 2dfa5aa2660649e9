/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the repository at a root makes git read and run elsewhere in it: the
 * git directory a .git file names, a common directory, includes, directories
 * of hooks, and what links among the hooks lead to. Each is protected like
 * .git/config; what cannot be followed for sure is refused.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_REPOSITORY_H
#define SUPERVISOR_NATIVE_NATIVE_REPOSITORY_H

#include <stdbool.h>

#include "supervisor/native/native_protect.h"

/* One pass, as walk says. bare: the root is a git directory itself. */
enum result native_repository_protect(
    const struct native_protect_walk *walk, bool bare);

#endif
