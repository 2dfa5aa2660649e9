/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From fork to exec of what runs on the host. Used by host_keep.c.
 */
#ifndef SUPERVISOR_HOST_WORKLOAD_H
#define SUPERVISOR_HOST_WORKLOAD_H

#include <sys/types.h>

#include "supervisor/host/host_group.h"
#include "supervisor/host/host_protocol.h"

struct host_workload {
	pid_t pid;     /* 0: none */
	int report_fd; /* an errno when exec fails; -1 */
};

/* Session, group, limits, streams, folder, exec. 0 or errno. */
int host_workload_start(const struct host_setup *setup,
    const struct host_group *group, struct host_workload *workload_r);
/* After its end: the errno of a workload that never was; closes the pipe. */
int host_workload_failure(struct host_workload *workload);

#endif
