/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that hold our files (AGENTNODE_HOME, the folder of a lockfile,
 * /etc/agentnode): opened once and checked, files read whole, replaced
 * atomically under a lock. Used by config, lockfile, audit and logs. A file
 * is either the old one or the new one, whatever happens in between.
 */
#ifndef SUPERVISOR_POLICY_STATE_DIR_H
#define SUPERVISOR_POLICY_STATE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/json_field.h"
#include "common/result.h"

#define STATE_DIR_PATH_MAX 4096U
#define STATE_DIR_NAME_MAX 200U

struct state_dir {
	char path[STATE_DIR_PATH_MAX]; /* for sentences only */
	int fd;                        /* -1 when closed */
};

enum state_dir_trust {
	STATE_DIR_OURS,  /* owner is our uid, others may not write */
	STATE_DIR_ROOTS, /* owner is root, others may not write */
	STATE_DIR_ANY    /* a project folder: no demand */
};

/* Open a folder; a link as its last component is refused except for ANY.
 * RESULT_NOT_FOUND leaves the fault alone. */
enum result state_dir_open(const char *path, enum state_dir_trust trust,
    struct state_dir *dir_r, struct json_fault *fault);
void state_dir_close(struct state_dir *dir);

/* The end of a path, short enough to leave room in a sentence; borrowed. */
const char *state_dir_shown(const char *path);

/* AGENTNODE_HOME or ~/.agentnode, opened as OURS. make: create it 0700.
 * Without make a missing one is RESULT_NOT_FOUND, path is set. */
enum result state_dir_home(
    bool make, struct state_dir *dir_r, struct json_fault *fault);

/* A folder inside, 0700, made when missing; OURS. */
enum result state_dir_sub(const struct state_dir *dir, const char *name,
    struct state_dir *dir_r, struct json_fault *fault);

/* The bytes of a regular file (no link) that trust's owner alone may
 * write; at most max. Caller frees. RESULT_NOT_FOUND without fault. */
enum result state_dir_read(const struct state_dir *dir, const char *name,
    enum state_dir_trust trust, size_t max, char **bytes_r, size_t *len_r,
    struct json_fault *fault);

/* Exclusive lock of the folder among our writers; waits at most 10 s
 * (RESULT_TIMEOUT). Closing *lock_r releases it. */
enum result state_dir_lock(
    const struct state_dir *dir, int *lock_r, struct json_fault *fault);

/* Replace a file: new file, fsync, rename, fsync of the folder. The lock
 * must be held. On a fault the old file is unchanged. */
enum result state_dir_write(const struct state_dir *dir, const char *name,
    mode_t mode, const void *bytes, size_t len, struct json_fault *fault);

#endif
