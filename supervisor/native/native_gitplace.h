/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path that git reads somewhere (a config's value, the line of a .git
 * file or of commondir), and where in a workspace it leads, by its names
 * alone: who opens it looks whether a link leads elsewhere. Pure.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GITPLACE_H
#define SUPERVISOR_NATIVE_NATIVE_GITPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/native/native_view.h"

#define NATIVE_GITPLACE_BYTES_MAX 4096U
#define NATIVE_GITPLACE_PATH_MAX (NATIVE_VIEW_PATH_MAX / 2)

struct native_gitplace_from {
	const char *workspace; /* absolute, canonical */
	const char *home;      /* what "~/" is */
	const char *below;     /* relative names begin here, in the workspace;
				* "": the workspace itself */
};

struct native_gitplace {
	char named[2 * NATIVE_VIEW_PATH_MAX]; /* absolute, as it says */
	/* In the workspace, "." and ".." undone; "" with inside: itself. */
	char path[NATIVE_GITPLACE_PATH_MAX];
	bool inside;
};

/* RESULT_BAD: another user's home; RESULT_TOO_LONG. */
enum result native_gitplace_find(const struct native_gitplace_from *from,
    const char *value, struct native_gitplace *place_r);

/* The bytes of a .git file (prefix "gitdir:") or of commondir (""): one
 * line. RESULT_BAD: git's own would not be read like that. */
enum result native_gitplace_line(const struct native_gitplace_from *from,
    const char *prefix, const char *text, size_t len,
    struct native_gitplace *place_r);

#endif
