/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: the process of agentnode-host that listens to the supervisor,
 * starts the workload and ends its tree. Used by host_guard.c.
 */
#ifndef SUPERVISOR_HOST_KEEP_H
#define SUPERVISOR_HOST_KEEP_H

#include <sys/types.h>

/* To the end; the exit code of the process. Without guard, its parent,
 * nothing starts. */
int host_keep_run(pid_t guard);

#endif
