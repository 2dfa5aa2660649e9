/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs code on the host, later, when an innocent tool is started in the
 * workspace: a shell prompt that asks git, an editor or an agent that opens
 * the folder, a commit. Read-only in a writable workspace. One table; the
 * documentation's list is this one.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_PROTECT_H
#define SUPERVISOR_NATIVE_NATIVE_PROTECT_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/native/native_given.h"

enum native_protect_when {
	NATIVE_PROTECT_ALWAYS, /* there or not: held by a placeholder */
	NATIVE_PROTECT_THERE   /* where it is: a new one runs nothing */
};

struct native_protect_entry {
	const char *path; /* relative to the workspace */
	bool is_dir;      /* what a placeholder for it is */
	enum native_protect_when when;
	const char *content; /* of a placeholder that must not be empty */
};

extern const struct native_protect_entry native_protect_table[];
extern const size_t native_protect_count;

/* All of a writable root: a pass makes every directory on the way to a
 * protected path a mount point, since those cannot be renamed; then what is
 * mounted there, read-only; the second puts the read-only steps on top. */
enum result native_protect_root(struct native_step_plan *plan,
    const struct native_given *root, const struct native_view_choice *choice);

/* One protected path on its way down from a root; for native_repository,
 * which finds more of them. */
struct native_protect_walk {
	struct native_step_plan *plan;
	const struct native_given *root;
	const struct native_protect_entry *entry;
	const char *path; /* relative */
	bool seal;        /* the second pass */
	const struct native_view_choice *choice;
};

/* A path that is held when it is not there. from: root and pass. */
enum result native_protect_held_path(
    const struct native_protect_walk *from, const char *path, bool is_dir);
/* The table's entries below .git/, for a git directory elsewhere. */
enum result native_protect_git(
    const struct native_protect_walk *from, const char *dir);

/* What a placeholder at this path of a root holds: "" mostly. */
const char *native_protect_content(const char *path);

#endif
