/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of an installed MCP server, from the lockfile to the exit code:
 * ledger, sandbox, gate and trees, and which end ends what. Used by `mcp
 * run` and `mcp tools`.
 */
#ifndef SUPERVISOR_COMMAND_MCP_RUN_H
#define SUPERVISOR_COMMAND_MCP_RUN_H

#include "supervisor/mcp/mcp_run_plan.h"

/* Run to the end; returns the exit code of the command. */
int mcp_run(const struct mcp_run_options *options);

#endif
