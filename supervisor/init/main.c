/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-init, PID 1 of a sandbox. Takes no environment, and no argument
 * but one fixed word (init.h, init_connect.h, init_guest.h, init_mux.h):
 * everything else comes by descriptor.
 */
#include <stdbool.h>
#include <string.h>

#include "supervisor/init/init.h"
#include "supervisor/init/init_connect.h"
#include "supervisor/init/init_guest.h"
#include "supervisor/init/init_mux.h"
#include "supervisor/init/init_protocol.h"

int
main(int argc, char **argv)
{
	const char *word = argc == 2 ? argv[1] : "";
	enum init_way way = INIT_WAY_FD;
	bool passed = strcmp(word, INIT_MUX_WORD_PASSED) == 0;
	bool mux = passed || strcmp(word, INIT_MUX_WORD) == 0;

	if (strcmp(word, INIT_GUEST_WORD) == 0)
		way = INIT_WAY_GUEST;
	else if (strcmp(word, INIT_WORD_FILTER) == 0)
		way = INIT_WAY_FILTER;
	else if (strcmp(word, INIT_WORD_VOLUME) == 0)
		way = INIT_WAY_VOLUME;
	else if (argc != 1 && !mux) /* words of somebody else's */
		return INIT_EXIT_START;
	if (way == INIT_WAY_GUEST && init_guest_start() != 0)
		return INIT_EXIT_START;
	if ((way == INIT_WAY_GUEST || mux) && init_mux_start(passed) != 0)
		return INIT_EXIT_START;
	return init_run(way);
}
