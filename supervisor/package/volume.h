/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealed volumes: named after what is in them, filled once from a clean
 * tar, verified on disk, and never changed. A volume that could not be
 * filled whole does not stay. Used by install.c and `agentnode remove`.
 */
#ifndef SUPERVISOR_PACKAGE_VOLUME_H
#define SUPERVISOR_PACKAGE_VOLUME_H

#include <stdbool.h>

#include "supervisor/engine/engine_host.h"
#include "supervisor/package/install_fault.h"

#define VOLUME_NAME_MAX 160U
#define VOLUME_PATH_MAX 4096U

struct volume {
	char name[VOLUME_NAME_MAX];
	char path[VOLUME_PATH_MAX]; /* the engine's mountpoint */
	/* Where the list of its users is (volume_users.h): beside the
	 * mountpoint; for a user of Docker's group, who cannot write there,
	 * in AGENTNODE_HOME, whose volume it is by its name. */
	char users[VOLUME_PATH_MAX];
};

/* agentnode-pack-<slug>-<version>-<first 8 of the hash>, where it is; for a
 * user of Docker's group with the owner before the hash. */
enum result volume_plan(const struct engine_host *host, const char *slug,
    const char *version, const char *hash, struct volume *volume_r,
    struct install_fault *fault);

/* The places of a volume that is known by name. RESULT_TOO_LONG. */
enum result volume_place(
    const struct engine_host *host, const char *name, struct volume *volume_r);

/* May this user and AGENTNODE_HOME remove it? In podman's store and root's all
 * are; others' in a daemon's by their name. */
bool volume_is_ours(const struct engine_host *host, const char *name);

/* Is it there? RESULT_NOT_FOUND: no, by whoever can tell. */
enum result volume_find(
    const struct engine_host *host, const struct volume *volume);

/* It is gone: so is the folder of its list, where the engine does not remove
 * that. The list is held. */
void volume_forget_users(
    const struct engine_host *host, const struct volume *volume);

/* The mountpoint as a descriptor; RESULT_NOT_FOUND when there is none. */
enum result volume_open(const struct volume *volume, int *fd_r);

/* Create with labels and fill from tar_fd (offset 0, borrowed); removed
 * again on any failure. RESULT_EXISTS: there is one of that name. run is the
 * id of a run lock: when nobody holds it and no lockfile was noted beside
 * the volume (volume_users.h), it is a leftover for gc. */
enum result volume_fill(const struct engine_host *host,
    const struct volume *volume, const char *slug, const char *version,
    const char *hash, const char *run, int tar_fd, struct install_fault *fault);

/* Remove by name. RESULT_NOT_FOUND when there is none; RESULT_REFUSED when
 * a container uses it. */
enum result volume_remove(const struct engine_host *host, const char *name,
    struct install_fault *fault);

#endif
