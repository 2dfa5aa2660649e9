/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tools of a tools/list result stay: plain names, in the allowlist,
 * each name once over all pages of a listing (a second tool of the same
 * name could take the first one's place in the client). Pure.
 */
#ifndef SUPERVISOR_GATE_MCP_TOOLS_H
#define SUPERVISOR_GATE_MCP_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/gate/mcp_edit.h"
#include "supervisor/gate/mcp_policy.h"

#define MCP_TOOLS_MAX 4096U /* tools of one listing */

struct mcp_tools_seen {
	uint64_t name, page; /* hashes; name 0: free */
};

struct mcp_tools {
	struct mcp_hash_key key;
	struct mcp_tools_seen *seen; /* owned, 2 * MCP_TOOLS_MAX slots */
	size_t used;
	/* What the last filtering took out. */
	size_t not_allowed, bad_name, duplicate, too_many;
};

enum result mcp_tools_init(
    struct mcp_tools *tools, const struct mcp_hash_key *key);
void mcp_tools_free(struct mcp_tools *tools);

/* The list inside a result, or an absent span when it is no unambiguous
 * list of objects. */
struct mcp_span mcp_tools_list(struct mcp_span result);

/* Filter list through edit. A first page forgets the listing before. */
void mcp_tools_filter(struct mcp_tools *tools, const struct mcp_policy *policy,
    bool first_page, uint64_t page, struct mcp_span list,
    struct mcp_edit *edit);

#endif
