/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /run/agentnode/llm.sock and tools.sock, for clients that want a unix
 * socket: served inside the container, so that a host process never shares
 * one with a workload. Bytes go to the loopback port of the same service.
 */
#ifndef SUPERVISOR_INIT_RELAY_H
#define SUPERVISOR_INIT_RELAY_H

#include <sys/types.h>

#include "supervisor/init/init_protocol.h"

/* Binds the sockets setup asks for and starts the relay child. pid_r is 0
 * when none is asked for. 0 or errno. */
int init_relay_start(const struct init_setup *setup, pid_t *pid_r);

#endif
