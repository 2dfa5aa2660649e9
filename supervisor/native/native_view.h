/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command in the native boundary sees of the file system: an ordered
 * list of mounts over an empty root, made from typed choices before anything
 * runs. Pure but for the look at what exists (openat2 below the workspace,
 * no links followed). Built by exec, carried to agentnode-native in its
 * launch memfd, compared with init's mountinfo by the supervisor.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_VIEW_H
#define SUPERVISOR_NATIVE_NATIVE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define NATIVE_VIEW_STEPS_MAX 160U
#define NATIVE_VIEW_PATH_MAX 1024U

/* --mode. Danger takes --i-know and is told in every result. */
enum native_mode {
	NATIVE_READ_ONLY, /* workspace and system readable, scratch writable */
	NATIVE_WORKSPACE_WRITE, /* workspace too, but for protected paths */
	NATIVE_DANGER /* the whole file system as it is, but for our state */
};

enum native_step_kind {
	NATIVE_STEP_DIR,  /* an empty directory of ours to mount on */
	NATIVE_STEP_BIND, /* source at target with all below, read-only */
	NATIVE_STEP_BIND_RW,
	NATIVE_STEP_MASK,  /* nothing: an empty read-only directory or file */
	NATIVE_STEP_TMPFS, /* size bytes, nosuid, nodev; noexec unless exec */
	NATIVE_STEP_PROC,  /* of the new pid namespace */
	NATIVE_STEP_DEV,   /* null, zero, full, random, urandom, shm, pts */
	NATIVE_STEP_LINK,  /* target is a link to source ("usr/bin") */
};

/* Paths are absolute, canonical, without links when they were looked at;
 * a source is opened with O_PATH|O_NOFOLLOW and RESOLVE_NO_SYMLINKS and
 * must still be the same device and inode when it is mounted. Each target's
 * parents are there by an earlier step; its last part is made by the
 * launcher where an earlier step is of ours (DIR, TMPFS). A later step may
 * lie on or over an earlier one; "/" is a target of danger's first alone. */
struct native_step {
	enum native_step_kind kind;
	char target[NATIVE_VIEW_PATH_MAX];
	char source[NATIVE_VIEW_PATH_MAX]; /* "" when it has none */
	uint64_t dev, ino;                 /* of the source; 0: not looked at */
	uint64_t size;                     /* tmpfs */
	bool exec, owned;                  /* tmpfs; owned: the command's uid */
	bool placeholder; /* a bind of what native_place makes on the host for
			   * a protected path that is not there, and removes
			   * after the run; it also fills in dev and ino */
	bool dir;         /* a placeholder is a directory, not a file */
};

struct native_view {
	enum native_mode mode;
	char workspace[NATIVE_VIEW_PATH_MAX]; /* "" : none, scratch only */
	char cwd[NATIVE_VIEW_PATH_MAX];       /* inside */
	char home[NATIVE_VIEW_PATH_MAX];      /* hidden, but in danger */
	char agentnode[NATIVE_VIEW_PATH_MAX]; /* hidden */
	struct native_step steps[NATIVE_VIEW_STEPS_MAX];
	size_t count;
};

struct native_view_held {
	uint64_t dev, ino;
};

struct native_view_choice {
	enum native_mode mode;
	const char *workspace;      /* as the user gave it, or NULL */
	const char *const *protect; /* more, workspace-relative; a slash at
				     * the end: a directory when not there */
	size_t protect_count;
	const char *const *writable; /* --writable DIR, beside the workspace */
	size_t writable_count;
	const char *home;      /* the invoker's real home */
	const char *agentnode; /* AGENTNODE_HOME */
	/* More of our state, where it is; absolute paths. No view has it. */
	const char *const *hidden;
	size_t hidden_count;
	const char *scratch; /* target of the scratch tmpfs; with danger a
			      * directory that is there (hidden by it) */
	uint64_t scratch_size;
	/* Placeholders of runs that live (native_place): not there. */
	const struct native_view_held *held;
	size_t held_count;
};

/* RESULT_REFUSED: the choice asks for what no mode gives (a workspace that
 * is "/", a home, above a home, a system directory, our own state; a path
 * through a link); RESULT_NOT_FOUND; fault_r is one sentence that names the
 * path. Placeholders are planned here, made by native_place. What is
 * protected: native_protect.h. */
enum result native_view_make(const struct native_view_choice *choice,
    struct native_view *view_r, char *fault_r, size_t fault_size);

/* Why did it fail? A path the command could not write or read, judged
 * against the view: "" or a code (path_protected, path_read_only,
 * path_hidden, path_outside) and the flag that would allow it ("" when none
 * does). A relative path counts from cwd. For structured denials. Pure. */
struct native_denial {
	const char *code, *flag;
};
struct native_denial native_view_judge(
    const struct native_view *view, const char *path, bool write);

#endif
