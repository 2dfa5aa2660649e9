/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init as a file of a volume, for a user who can write none of Docker's
 * folders: named after its own hash, filled through the daemon once, and
 * compared before each `go` like a sealed volume (volume_check.h), since
 * nothing of it is seen from here. Used by engine_docker_group.c and the
 * probe.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_PROGRAM_H
#define SUPERVISOR_ENGINE_DOCKER_PROGRAM_H

#include "supervisor/engine/control_slot.h"
#include "supervisor/engine/volume_check.h"

/* Its value of CONTROL_SLOT_LABEL: gc takes the volume when nobody holds
 * the place of this name. */
#define DOCKER_PROGRAM_SLOT "init"

/* slot_r: held until control_slot_end, has the volume's name, no folder.
 * one_r: what must be found in it. image is what a container is made of
 * when it has to be filled; run the id of a lock that is held. */
enum result docker_program_take(const struct engine_host *host,
    const char *image, const char *run, struct control_slot *slot_r,
    struct volume_check_one *one_r, char *detail_r, size_t detail_size);

#endif
