/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool pack as an agent's tools: planned as a run of it is, and started
 * as the MCP server that agentnode_tool.* is then, with the names,
 * descriptions and schemas of the lockfile. Used by tool_session.
 */
#ifndef SUPERVISOR_PACK_PACK_SERVE_H
#define SUPERVISOR_PACK_PACK_SERVE_H

#include "supervisor/mcp/mcp_run_plan.h"

/* Plan whatever the entry is: a tool pack, else as mcp_run_plan_make does.
 * On failure run.code and run.fault say why; mcp_run_plan_clear in any
 * case. */
enum result pack_serve_plan(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r);

#endif
