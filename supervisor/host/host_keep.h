/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: the process of agentnode-host that listens to the supervisor,
 * starts the workload and ends its tree. Used by host_guard.c.
 */
#ifndef SUPERVISOR_HOST_KEEP_H
#define SUPERVISOR_HOST_KEEP_H

/* To the end; the exit code of the process. */
int host_keep_run(void);

#endif
