/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode-host takes from itself before anything starts, and the
 * limits of the workload where no control group holds them. Used by
 * host_guard.c and host_workload.c.
 */
#ifndef SUPERVISOR_HOST_LIMIT_H
#define SUPERVISOR_HOST_LIMIT_H

#include <stdbool.h>

#include "supervisor/host/host_protocol.h"

/* No new privileges, no capability but the one that makes control groups,
 * no core, not dumpable, umask 077, all signals blocked. 0 or errno. */
int host_limit_self(void);

/* In the workload, before exec: no capability at all. is_grouped: memory
 * and processes are limited already. 0 or errno. */
int host_limit_workload(const struct host_setup *setup, bool is_grouped);

#endif
