/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what the container sees at a place the directory whose hash was
 * checked? A volume's directory in the engine's store is opened before the
 * start; the engine may mount something else there (a volume with mount
 * options, a directory that was exchanged meanwhile). Used by
 * sandbox_walls.c for each sealed volume, before go.
 */
#ifndef SUPERVISOR_ENGINE_MOUNT_CHECK_H
#define SUPERVISOR_ENGINE_MOUNT_CHECK_H

#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"

/* The directory that was opened and is hashed. */
struct mount_check_place {
	dev_t dev;
	ino_t ino;
};

/* Where dir_fd leads. */
enum result mount_check_remember(int dir_fd, struct mount_check_place *place_r);

/* target as init's mount namespace shows it, without following a link in
 * it. RESULT_MISMATCH: another directory; RESULT_SYSTEM: it cannot be
 * looked at. detail_r is a sentence. */
enum result mount_check(pid_t init, const char *target,
    const struct mount_check_place *place, char *detail_r, size_t detail_size);

#endif
