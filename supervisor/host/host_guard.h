/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of agentnode-host: it starts the keeper and outlives
 * it. Two of them, so that the tree is dead whichever is killed: the
 * keeper's tree becomes the guard's, and the keeper hears of the guard's
 * death. Used by main.c.
 */
#ifndef SUPERVISOR_HOST_GUARD_H
#define SUPERVISOR_HOST_GUARD_H

/* To the end; the exit code of the process. */
int host_guard_run(void);

#endif
