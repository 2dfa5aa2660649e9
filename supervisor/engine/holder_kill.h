/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that hold a container's end of the control socket and init's
 * program: the engine's client and a runtime that stopped halfway, before
 * init could speak and tell where it is. Without this a container whose
 * client died at the wrong moment would wait for its start for ever. Used
 * by container_end.c and gc.
 */
#ifndef SUPERVISOR_ENGINE_HOLDER_KILL_H
#define SUPERVISOR_ENGINE_HOLDER_KILL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "supervisor/engine/cgroup.h"

/* How many processes hold the socket with this inode as descriptor 3 and
 * init's memfd as 4; with kill they get SIGKILL. Where the container is, as
 * far as they show it, goes to cgroup_r (may be NULL): its groups and id, or
 * only the id. socket 0: none. */
size_t holder_kill(ino_t socket, bool kill, struct cgroup *cgroup_r);

/* SIGKILL until nobody holds it: what dead supervisors left. Waits, mostly
 * for a millisecond, at most for a fifth of a second of pauses. */
void holder_kill_all(ino_t socket, struct cgroup *cgroup_r);

#endif
