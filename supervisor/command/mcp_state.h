/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved state of a package (AGENTNODE_HOME/state/SLUG.tree, written by
 * mcp_trees.c) as the commands see it that show or remove packages.
 */
#ifndef SUPERVISOR_COMMAND_MCP_STATE_H
#define SUPERVISOR_COMMAND_MCP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/state_dir.h"

struct mcp_state {
	struct state_dir dir; /* fd -1: nothing was ever saved */
	int lock;             /* as a run of the package has it; -1 */
};

/* Open, and with lock keep runs of the package away until it is closed:
 * RESULT_EXISTS when one has its state. */
enum result mcp_state_open(const char *slug, bool lock,
    struct mcp_state *state_r, struct json_fault *fault);
/* Bytes that are saved; false when nothing is. */
bool mcp_state_size(
    const struct mcp_state *state, const char *slug, uint64_t *bytes_r);
/* Remove it, synced. Nothing saved is RESULT_OK. */
enum result mcp_state_remove(
    const struct mcp_state *state, const char *slug, struct json_fault *fault);
/* Accepts one that was never opened. */
void mcp_state_close(struct mcp_state *state);

#endif
