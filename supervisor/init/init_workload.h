/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The foreign program: what its process becomes, and its start.
 */
#ifndef SUPERVISOR_INIT_WORKLOAD_H
#define SUPERVISOR_INIT_WORKLOAD_H

#include <sys/types.h>

#include "supervisor/init/init_protocol.h"

/* In a child: the workload's Landlock domain, then its filter. The child
 * that tries the walls calls exactly this. 0 or errno. */
int init_workload_become(const struct init_setup *setup);

struct init_workload {
	pid_t pid;
	int report_fd; /* the child's errno when exec failed, else EOF */
};

/* Forks the child that becomes the workload; descriptors are not taken.
 * secret_fd -1: none. 0 or errno when there is no child. */
int init_workload_start(const struct init_setup *setup, int go_fd,
    int secret_fd, struct init_workload *workload_r);

/* After the child ended: the errno that kept it from exec, or 0. Closes
 * report_fd. */
int init_workload_failure(struct init_workload *workload);

#endif
