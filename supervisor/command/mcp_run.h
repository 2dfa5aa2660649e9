/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of an installed MCP server, from the lockfile to the exit code:
 * ledger, sandbox, gate and trees, and which end ends what. Used by `mcp
 * run` and `mcp tools`.
 */
#ifndef SUPERVISOR_COMMAND_MCP_RUN_H
#define SUPERVISOR_COMMAND_MCP_RUN_H

#include <stdbool.h>
#include <stddef.h>

#define MCP_RUN_ALLOW_MAX 64U
#define MCP_RUN_ENV_MAX 64U

struct mcp_run_options {
	const char *slug;
	const char *lockfile; /* --lockfile, or NULL */
	bool verbose;         /* the server's standard error to ours */
	bool list_tools;      /* `mcp tools`: the gate is the client */
	bool json;
	const char *allow[MCP_RUN_ALLOW_MAX]; /* --allow */
	size_t allow_count;
	const char *env[MCP_RUN_ENV_MAX]; /* --env NAME=VALUE */
	size_t env_count;
	char **args; /* words behind "--", for the server */
	size_t arg_count;
};

/* Run to the end; returns the exit code of the command. */
int mcp_run(const struct mcp_run_options *options);

#endif
