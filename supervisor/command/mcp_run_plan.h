/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of an MCP server needs, read and decided before anything is
 * started: configuration, lockfile entry, command, environment, allowlist,
 * the gate's options. Used by mcp_run.
 */
#ifndef SUPERVISOR_COMMAND_MCP_RUN_PLAN_H
#define SUPERVISOR_COMMAND_MCP_RUN_PLAN_H

#include <jansson.h>

#include "supervisor/command/mcp_package.h"
#include "supervisor/command/mcp_run.h"
#include "supervisor/command/run_entry.h"
#include "supervisor/package/env_entry.h"
#include "supervisor/sandbox.h"

#define MCP_RUN_PLAN_ARGS_MAX 256U

struct mcp_run_plan {
	struct run_entry run; /* package borrows from it */
	struct mcp_package package;
	struct sandbox_spec spec; /* streams and trees are added later */
	json_t *egress;           /* owned */
	const char *argv[MCP_RUN_PLAN_ARGS_MAX + 3];
	const char *env[MCP_RUN_ENV_MAX + ENV_ENTRY_MAX + 8];
	char *kept[ENV_ENTRY_MAX]; /* owned; of the entry, "NAME=VALUE" */
	size_t kept_count;
};

/* On failure run.code and run.fault say why; mcp_run_plan_clear in any case. */
enum result mcp_run_plan_make(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r);
void mcp_run_plan_clear(struct mcp_run_plan *plan);

/* The options object of the gate's config message; NULL: no memory. */
json_t *mcp_run_plan_gate(
    const struct mcp_run_plan *plan, const struct mcp_run_options *options);

#endif
