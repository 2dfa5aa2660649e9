/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marking what only looks like ours. Called by mcp_session for each error of
 * a server; it must never change an error that claims nothing.
 */
#include "supervisor/gate/mcp_claim.h"

#include "supervisor/gate/mcp_policy.h"

/* How each message of the gate's begins (mcp_reply). */
#define MCP_CLAIM_NAME "agentnode"

static unsigned
mcp_claim_insert(struct mcp_edit *edit, struct mcp_span string)
{
	mcp_edit_insert(edit, string.bytes + 1, MCP_CLAIM_MARK);
	return 1;
}

static bool
mcp_claim_is_code(struct mcp_span value)
{
	for (unsigned i = MCP_ALLOWED + 1; i < MCP_DENIAL_COUNT; i++) {
		if (mcp_cursor_folds_to(
			value, mcp_policy_reason((enum mcp_denial)i)))
			return true;
	}
	return false;
}

/* Every reason of error.data, in the order they stand there. */
static unsigned
mcp_claim_data(struct mcp_edit *edit, struct mcp_span data)
{
	struct mcp_cursor cursor;
	struct mcp_span key, value;
	unsigned count = 0;

	if (mcp_cursor_kind(data) != MCP_VALUE_OBJECT ||
	    !mcp_cursor_enter(data, &cursor))
		return 0;
	while (mcp_cursor_member(&cursor, &key, &value)) {
		if (mcp_cursor_folds_to(key, "reason") &&
		    mcp_claim_is_code(value))
			count += mcp_claim_insert(edit, value);
	}
	return count;
}

unsigned
mcp_claim_mark(struct mcp_edit *edit, struct mcp_span error)
{
	struct mcp_cursor cursor;
	struct mcp_span key, value;
	unsigned count = 0;

	if (mcp_cursor_kind(error) != MCP_VALUE_OBJECT ||
	    !mcp_cursor_enter(error, &cursor))
		return 0;
	while (mcp_cursor_member(&cursor, &key, &value)) {
		if (mcp_cursor_folds_to(key, "data"))
			count += mcp_claim_data(edit, value);
		else if (mcp_cursor_folds_to(key, "message") &&
			 mcp_cursor_begins(value, MCP_CLAIM_NAME))
			count += mcp_claim_insert(edit, value);
	}
	return count;
}
