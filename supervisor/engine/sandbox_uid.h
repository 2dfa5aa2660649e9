/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A uid of its own for each sandbox, so that descriptors in flight, process
 * counts and signals of one touch neither another nor the user. As root a
 * number of a high reserved range; rootless a number inside the user's
 * subordinate range (what the container calls it). Used by the sandbox's
 * story and the probe.
 */
#ifndef SUPERVISOR_ENGINE_SANDBOX_UID_H
#define SUPERVISOR_ENGINE_SANDBOX_UID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"

struct sandbox_uid {
	int fd;       /* the lock that keeps it ours; -1: none */
	int name;     /* the same among all users of the machine; -1: none */
	uint32_t uid; /* as the container sees it */
	char path[ENGINE_FILES_PATH_MAX + 64];
};

/* base: config key sandbox.uid_base (as root). A number that another
 * living sandbox holds, or that owns a process, is not taken. */
enum result sandbox_uid_take(const struct engine_files *files, uint32_t base,
    bool rootless, struct sandbox_uid *uid_r);
/* Accepts an empty one. */
void sandbox_uid_end(struct sandbox_uid *uid);

#endif
