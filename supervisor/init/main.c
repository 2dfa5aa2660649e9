/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init, PID 1 of a sandbox. Takes no environment: everything comes
 * by descriptor (init_protocol.h), but for the one word that says that
 * nobody before it has installed the filter.
 */
#include <string.h>

#include "supervisor/init/init.h"

int
main(int argc, char **argv)
{
	return init_run(argc == 2 && strcmp(argv[1], INIT_WORD_FILTER) == 0);
}
