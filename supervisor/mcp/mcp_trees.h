/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server is given and what it keeps: the folder of --files copied
 * in, and the state of --state copied in at start and out at the end
 * (AGENTNODE_HOME/state/SLUG.tree, replaced only by a whole, clean copy).
 * agentnode-unpack reads the trees; no byte of them is looked at here.
 */
#ifndef SUPERVISOR_MCP_MCP_TREES_H
#define SUPERVISOR_MCP_MCP_TREES_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/mcp/mcp_package.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox.h"

#define MCP_TREES_FILES_SIZE (64ULL << 20) /* the place of --files */
#define MCP_TREES_FILES_MAX 20000U         /* entries, files and state */

struct mcp_trees; /* opaque */

/* Called when there is something new to ask mcp_trees_is_idle about. */
typedef void mcp_trees_changed(void *context);

/* Prepare the trees and the places they go to in spec. RESULT_EXISTS:
 * another run has this state. fault is a sentence. */
enum result mcp_trees_open(struct event_base *base, const struct config *config,
    const struct mcp_package *package, struct sandbox_spec *spec,
    mcp_trees_changed *changed, void *context, struct mcp_trees **trees_r,
    struct json_fault *fault);
/* Once the sandbox has its copies of the descriptors. */
void mcp_trees_handed_over(struct mcp_trees *trees);
/* The sandbox ended: in order means that the state is worth keeping. */
void mcp_trees_sandbox_ended(struct mcp_trees *trees, bool in_order);
/* Nothing is being read or written any more. */
bool mcp_trees_is_idle(const struct mcp_trees *trees);
/* A sentence when files were not copied or the state was not kept. */
const char *mcp_trees_fault(const struct mcp_trees *trees);
/* Accepts NULL, clears; unfinished copies are dropped. */
void mcp_trees_free(struct mcp_trees **trees);

#endif
