/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One number for all in a git directory that says what git runs: its config,
 * hooks, and those of the submodules and worktrees it keeps. Compared before
 * and after a run by native_found; names, inodes and times alone count, and
 * no byte is read.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GITMARK_H
#define SUPERVISOR_NATIVE_NATIVE_GITMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NATIVE_GITMARK_DEPTH_MAX 16U

struct native_gitmark {
	uint64_t key;  /* of this run: what it comes to cannot be aimed at */
	size_t *names; /* counted up to most: no more are looked at */
	size_t most;
	bool complete; /* cleared when something was not looked at */
};

/* The git directory, or .git file, at a name of dir. */
uint64_t native_gitmark_read(
    struct native_gitmark *mark, int dir, const char *name);
/* The part of a protected git directory that a command may still add to:
 * submodules, and remotes of the old kind. */
uint64_t native_gitmark_added(
    struct native_gitmark *mark, int dir, const char *name);

#endif
