/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors for a run: non-blocking copies of the caller's standard
 * streams for the gate, and the three pipes between gate and workload. The
 * caller's own descriptions are not made non-blocking where that can be
 * seen from outside (a terminal, a pipe that others hold too).
 */
#ifndef SUPERVISOR_COMMAND_MCP_STREAMS_H
#define SUPERVISOR_COMMAND_MCP_STREAMS_H

#include <stdbool.h>

#include "common/result.h"

struct mcp_streams {
	int client_in, client_out, client_err;    /* -1: none */
	int work_in[2], work_out[2], work_err[2]; /* [0] read, [1] write */
};

void mcp_streams_init(struct mcp_streams *streams);
/* with_input: standard input is the client's; verbose: standard error
 * gets the workload's. errno says why not. */
enum result mcp_streams_open(
    struct mcp_streams *streams, bool with_input, bool verbose);
/* Our copies of the workload's ends, once the sandbox has its own. */
void mcp_streams_close_work(struct mcp_streams *streams);
/* Standard input and output on /dev/null, so that their ends show. */
enum result mcp_streams_let_go(void);
void mcp_streams_close(struct mcp_streams *streams);

#endif
