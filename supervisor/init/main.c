/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init, PID 1 of a sandbox. Takes no environment: everything comes
 * by descriptor (init_protocol.h), but for one word: that nobody before it
 * has installed the filter, or "mux": that all comes over standard input.
 */
#include <string.h>

#include "supervisor/init/init.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/init/init_protocol.h"

int
main(int argc, char **argv)
{
	const char *word = argc == 2 ? argv[1] : "";

	if (strcmp(word, INIT_MUX_WORD) == 0 && init_mux_start() != 0)
		return INIT_EXIT_START;
	return init_run(strcmp(word, INIT_WORD_FILTER) == 0);
}
