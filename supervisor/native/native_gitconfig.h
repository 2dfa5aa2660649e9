/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which other places a repository's config makes git run or read:
 * core.hooksPath, include.path and includeIf.*.path. Those inside the
 * workspace are as good as the config and are protected like it. The user
 * wrote the config; it is read for what it says, not judged. Pure.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GITCONFIG_H
#define SUPERVISOR_NATIVE_NATIVE_GITCONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/native/native_gitplace.h"

#define NATIVE_GITCONFIG_BYTES_MAX (256U << 10)
#define NATIVE_GITCONFIG_PLACES_MAX 8U

struct native_gitconfig {
	struct {
		struct native_gitplace place;
		bool hooks; /* a directory of them; else another config */
	} places[NATIVE_GITCONFIG_PLACES_MAX];
	size_t count;
};

/* The bytes of a config in from->below, which is where its includes begin;
 * its hooks begin in the workspace. RESULT_TOO_LONG: there are more places
 * than places_r can hold; RESULT_BAD: one is in another user's home. */
enum result native_gitconfig_read(const char *text, size_t len,
    const struct native_gitplace_from *from, struct native_gitconfig *places_r);

#endif
