/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How init forks: every process beside init starts and dies the same way.
 */
#ifndef SUPERVISOR_INIT_CHILD_H
#define SUPERVISOR_INIT_CHILD_H

#include <sys/types.h>

/* fork(); the child has default signals, nothing blocked, and dies with
 * init. */
pid_t init_child_fork(void);

/* In a child: exactly these descriptors stay, as 3, 4, ...; fds is changed
 * to the new numbers. 0 to 2 are left alone. 0 or errno. */
int init_child_keep(int *fds, unsigned count);

#endif
