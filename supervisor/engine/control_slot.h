/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place in which init finds its socket (wiring_volume.c): a small volume
 * of Docker's, held by one sandbox at a time and used again by the next, so
 * that a start makes and removes none. Used by the Docker engine and the
 * probe.
 */
#ifndef SUPERVISOR_ENGINE_CONTROL_SLOT_H
#define SUPERVISOR_ENGINE_CONTROL_SLOT_H

#include "supervisor/engine/engine_host.h"

#define CONTROL_SLOT_LABEL "agentnode.slot" /* its value: the number */
#define CONTROL_SLOT_NAME_MAX 48U
#define CONTROL_SLOT_DIR_MAX (ENGINE_MEMORY_PATH_MAX + 64U)

struct control_slot {
	int fd; /* the lock that keeps it ours; -1: none */
	char volume[CONTROL_SLOT_NAME_MAX];
	char dir[CONTROL_SLOT_DIR_MAX]; /* its folder on the host */
};

/* The first that is free; its volume is made when there is none. */
enum result control_slot_take(const struct engine_host *host,
    struct control_slot *slot_r, char *detail_r, size_t detail_size);
/* Accepts an empty one. */
void control_slot_end(struct control_slot *slot);

/* True when no living supervisor held the slot of this number, and none can
 * take it until the caller closes lock_r: so that what is removed of it is
 * nobody's. */
bool control_slot_claim(
    const struct engine_files *files, const char *number, int *lock_r);

#endif
