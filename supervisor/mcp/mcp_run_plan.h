/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of an MCP server needs, read and decided before anything is
 * started: configuration, lockfile entry, command, environment, allowlist,
 * the gate's options. Used by mcp_run and tool_session.
 */
#ifndef SUPERVISOR_MCP_MCP_RUN_PLAN_H
#define SUPERVISOR_MCP_MCP_RUN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/mcp/mcp_package.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/package/env_entry.h"
#include "supervisor/package/run_secret.h"
#include "supervisor/sandbox.h"

#define MCP_RUN_PLAN_ARGS_MAX 256U
#define MCP_RUN_ALLOW_MAX 64U
#define MCP_RUN_ENV_MAX 64U

/* The gate is the client, for the supervisor (mode caller). */
struct mcp_run_caller {
	unsigned call_timeout_s;
	uint64_t arguments_max, result_max; /* bytes */
	const char *agent;        /* slug of the agent that calls; NULL: none */
	const json_t *agent_asks; /* its pre_approved_actions, or NULL */
};

struct mcp_run_options {
	const char *slug;
	const char *lockfile; /* --lockfile, or NULL */
	bool verbose;         /* the server's standard error to ours */
	bool list_tools;      /* `mcp tools`: the gate is the client */
	bool json;
	bool timing;       /* say where the time of the start went */
	bool consent_once; /* to its secrets, for this run */
	const struct mcp_run_caller *caller;  /* or NULL; borrowed */
	const char *allow[MCP_RUN_ALLOW_MAX]; /* --allow */
	size_t allow_count;
	const char *env[MCP_RUN_ENV_MAX]; /* --env NAME=VALUE */
	size_t env_count;
	char **args; /* words behind "--", for the server */
	size_t arg_count;
};

struct mcp_run_plan {
	struct run_entry run; /* package borrows from it */
	struct mcp_package package;
	struct sandbox_spec spec; /* streams and trees are added later */
	struct run_secret secret; /* owned */
	json_t *egress;           /* owned */
	const char *argv[MCP_RUN_PLAN_ARGS_MAX + 3];
	const char *env[MCP_RUN_ENV_MAX + ENV_ENTRY_MAX + 8];
	char *kept[ENV_ENTRY_MAX]; /* owned; of the entry, "NAME=VALUE" */
	size_t kept_count;
	char *owned[2]; /* words of argv that are of nobody else */
};

/* On failure run.code and run.fault say why; mcp_run_plan_clear in any case. */
enum result mcp_run_plan_make(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r);
/* The same in two steps: the entry; then what it means. */
enum result mcp_run_plan_open(
    const struct mcp_run_options *options, struct mcp_run_plan *plan_r);
enum result mcp_run_plan_decide(
    const struct mcp_run_options *options, struct mcp_run_plan *plan);
void mcp_run_plan_clear(struct mcp_run_plan *plan);

/* What calls are judged by, as a configuration says; NULL: no memory. */
json_t *mcp_run_plan_guard(const struct mcp_run_plan *plan,
    const struct mcp_run_options *options, const struct config *config);

/* The options object of the gate's config message; NULL: no memory. */
json_t *mcp_run_plan_gate(
    const struct mcp_run_plan *plan, const struct mcp_run_options *options);

#endif
