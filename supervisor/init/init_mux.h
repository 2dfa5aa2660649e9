/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init where the engine offers nothing but standard input and output: both
 * are the two directions of a mux link (supervisor/mux), and init itself
 * bridges it, since a process beside it would be killed with the workload
 * and could be stopped by it. What init sees are the same descriptors as
 * ever (init_protocol.h).
 */
#ifndef SUPERVISOR_INIT_INIT_MUX_H
#define SUPERVISOR_INIT_INIT_MUX_H

#include <poll.h>
#include <stdbool.h>

/* The one argument that asks for it: the link is read by our gate itself, or
 * passed on by others, as the shim of Docker's containerd does. */
#define INIT_MUX_WORD "mux"
#define INIT_MUX_WORD_PASSED "mux-passed"

/* First of all: makes INIT_CONTROL_FD and the workload's streams, takes
 * standard input and output for the link. 0 or errno. */
int init_mux_start(bool passed);
/* Descriptors from here on are the link's; ~0U: there is none. */
unsigned init_mux_lowest(void);

/* poll(2), with the link going on; without a link just that. */
int init_mux_poll(struct pollfd *polls, unsigned count, int timeout_ms);
/* What init said has left; at most a second. */
void init_mux_flush(void);

#endif
