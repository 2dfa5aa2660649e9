/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init, PID 1 of a sandbox. Takes no argument and no environment:
 * everything comes by descriptor (init_protocol.h).
 */
#include "supervisor/init/init.h"

int
main(void)
{
	return init_run();
}
