/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealed volumes: named after what is in them, filled once from a clean
 * tar, verified on disk, and never changed. A volume that could not be
 * filled whole does not stay. Used by install.c and `agentnode remove`.
 */
#ifndef SUPERVISOR_PACKAGE_VOLUME_H
#define SUPERVISOR_PACKAGE_VOLUME_H

#include "supervisor/engine/engine_host.h"
#include "supervisor/package/install_fault.h"

#define VOLUME_NAME_MAX 160U
#define VOLUME_PATH_MAX 4096U

struct volume {
	char name[VOLUME_NAME_MAX];
	char path[VOLUME_PATH_MAX]; /* the engine's mountpoint */
};

/* agentnode-pack-<slug>-<version>-<first 8 of the hash>, where it is. */
enum result volume_plan(const struct engine_host *host, const char *slug,
    const char *version, const char *hash, struct volume *volume_r,
    struct install_fault *fault);

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
