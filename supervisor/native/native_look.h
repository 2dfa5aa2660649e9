/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at files below a writable root, and at those outside that a
 * repository names: by names relative to the root, where "../" leads out.
 * Used by native_repository and native_listing; below the root no link is
 * ever followed.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_LOOK_H
#define SUPERVISOR_NATIVE_NATIVE_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/native/native_gitplace.h"
#include "supervisor/native/native_given.h"

/* It begins with "../": read for what it names in the root; it needs no
 * protection itself. */
bool native_look_outside(const char *path);

/* A descriptor, or -1 with errno. "" is the root. */
int native_look_open(
    const struct native_given *root, const char *path, int flags);

/* A regular file's bytes. RESULT_NOT_FOUND: there is none, or it is a link
 * in the root, which is refused elsewhere; else with a sentence. */
enum result native_look_read(struct native_step_plan *plan,
    const struct native_given *root, const char *path, size_t max,
    char **text_r, size_t *len_r);

/* Where the kernel goes by a name, "" when that cannot be said; false: there
 * is nothing. */
bool native_look_real(const char *named, char real_r[NATIVE_VIEW_PATH_MAX]);

/* Where the kernel would go is where the names say, or there is nothing;
 * else RESULT_REFUSED with a sentence. who: what names it. */
enum result native_look_certain(struct native_step_plan *plan,
    const struct native_given *root, const struct native_gitplace *place,
    const char *who);

/* The way out of the root to an absolute path. RESULT_TOO_LONG. */
enum result native_look_out(const struct native_given *root,
    const char *absolute, char path_r[NATIVE_VIEW_PATH_MAX]);

#endif
