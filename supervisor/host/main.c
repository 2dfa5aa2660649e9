/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-host: one command on the host, kept within limits and ended
 * with its whole tree. Takes no argument and no environment: everything
 * comes by descriptor (host_protocol.h). A policy, not a boundary.
 */
#include "supervisor/host/host_guard.h"

int
main(void)
{
	return host_guard_run();
}
