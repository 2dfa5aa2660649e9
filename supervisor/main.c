/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libexec/agentnode/command/agentnode: all that a person or an MCP client
 * may ask for. Started by the agentnode in bin (supervisor/entry), in its
 * place. It must never see a key or parse what a container, client or
 * upstream wrote.
 */
#include "supervisor/command/command_main.h"

int
main(int argc, char **argv)
{
	return command_main(argc, argv);
}
