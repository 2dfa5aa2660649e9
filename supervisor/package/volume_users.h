/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lockfiles name a sealed volume. Volumes are named after their
 * content, so two lockfiles of one user may name the same one; each
 * installation writes its lockfile's path into a file beside the volume's
 * content, where the engine removes it together with the volume. Used by
 * install.c and `agentnode remove`.
 */
#ifndef SUPERVISOR_PACKAGE_VOLUME_USERS_H
#define SUPERVISOR_PACKAGE_VOLUME_USERS_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/package/volume.h"
#include "supervisor/policy/state_dir.h"

#define VOLUME_USERS_MAX 1024U

/* Held from the look at the users to the change that follows from it: an
 * installation adds itself and writes its lockfile, a removal finds nobody
 * and removes the volume. */
struct volume_users {
	struct state_dir dir; /* the volume's own, beside _data */
	int lock;             /* -1: not held */
	json_t *paths;        /* of the lockfiles */
};

/* Lock and read; RESULT_NOT_FOUND when there is no such volume (any more),
 * RESULT_BAD when the list is not understood. End it in any case. */
enum result volume_users_begin(const struct volume *volume,
    struct volume_users *users_r, struct json_fault *fault);
/* lockfile is a user from now on: written and synced. */
enum result volume_users_add(
    struct volume_users *users, const char *lockfile, struct json_fault *fault);
/* A lockfile other than this one that is there and names the volume, or
 * cannot be read, so that it may; NULL: nobody. Borrowed. */
const char *volume_users_other(
    const struct volume_users *users, const char *lockfile, const char *volume);
void volume_users_end(struct volume_users *users);

#endif
