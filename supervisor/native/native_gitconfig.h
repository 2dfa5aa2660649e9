/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which other places a repository's config makes git run or read:
 * core.hooksPath, include.path and includeIf.*.path. Those inside the
 * workspace are as good as the config and are protected like it. The user
 * wrote the config; it is read for what it says, not judged. Pure.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GITCONFIG_H
#define SUPERVISOR_NATIVE_NATIVE_GITCONFIG_H

#include <stddef.h>

#include "supervisor/native/native_view.h"

#define NATIVE_GITCONFIG_BYTES_MAX (256U << 10)
#define NATIVE_GITCONFIG_PLACES_MAX 8U

struct native_gitconfig {
	/* Relative to the workspace, as --protect takes them: hooks with a
	 * slash at the end. */
	char places[NATIVE_GITCONFIG_PLACES_MAX][NATIVE_VIEW_PATH_MAX / 2];
	size_t count;
};

/* The bytes of WORKSPACE/.git/config. Places outside of the workspace are
 * left out. RESULT_TOO_LONG: there are more than places_r can hold. */
enum result native_gitconfig_read(const char *text, size_t len,
    const char *workspace, struct native_gitconfig *places_r);

#endif
