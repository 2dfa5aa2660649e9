/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit record of a run that is refused before there is a sandbox: the
 * lockfile or the trust in the package decided, and such decisions are in
 * the chain. Used by mcp_run.c.
 */
#ifndef SUPERVISOR_COMMAND_MCP_RUN_REFUSED_H
#define SUPERVISOR_COMMAND_MCP_RUN_REFUSED_H

/* Write it, under a run id of its own, so that `runs list` shows it, and wait
 * for the disk. A chain that does not take it is logged; the run is refused all
 * the same. kind: of the launch that did not come. slug and detail may be
 * foreign. */
void mcp_run_refused_record(const char *home, const char *kind,
    const char *slug, const char *code, const char *detail);

#endif
