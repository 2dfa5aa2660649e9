/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of everything below the calling process, which is a subreaper:
 * whatever forks twice or makes a session of its own becomes its child when
 * its parent dies, and so is found. Used by both processes of
 * agentnode-host.
 */
#ifndef SUPERVISOR_HOST_TREE_H
#define SUPERVISOR_HOST_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Can descendants be found on this kernel? 0 or errno. */
int host_tree_check(void);

/* SIGKILL to all of it and reap, again and again, until no child is left:
 * true. False: something survives for limit_ms. The wait status of *main
 * (0: none) goes to *status_r when it is among them, and *main becomes 0. */
bool host_tree_end(unsigned limit_ms, pid_t *main, int *status_r);

#endif
