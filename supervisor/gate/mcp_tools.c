/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool list filter. Called by mcp_session for each tools/list result;
 * it must never let two tools of one name reach the client.
 */
#include "supervisor/gate/mcp_tools.h"

#include <stdlib.h>
#include <string.h>

/* What the keep callback needs. */
struct mcp_tools_pass {
	struct mcp_tools *tools;
	const struct mcp_policy *policy;
	uint64_t page;
	uint64_t index; /* of the tool in this page */
};

enum result
mcp_tools_init(struct mcp_tools *tools, const struct mcp_hash_key *key)
{
	memset(tools, 0, sizeof(*tools));
	tools->key = *key;
	tools->seen = calloc(2 * MCP_TOOLS_MAX, sizeof(*tools->seen));
	return tools->seen == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

void
mcp_tools_free(struct mcp_tools *tools)
{
	free(tools->seen);
	tools->seen = NULL;
}

struct mcp_span
mcp_tools_list(struct mcp_span result)
{
	struct mcp_span list = mcp_cursor_find(result, "tools"), item;
	struct mcp_cursor cursor;

	if (mcp_cursor_kind(list) != MCP_VALUE_ARRAY ||
	    mcp_cursor_has_lookalike(result, "tools"))
		return (struct mcp_span){NULL, 0};
	if (!mcp_cursor_enter(list, &cursor))
		return list;
	while (mcp_cursor_item(&cursor, &item)) {
		if (mcp_cursor_kind(item) != MCP_VALUE_OBJECT)
			return (struct mcp_span){NULL, 0};
	}
	return list;
}

/* The slot of a name: where it is, or where it would go. */
static struct mcp_tools_seen *
mcp_tools_slot(struct mcp_tools *tools, uint64_t name)
{
	size_t i = (size_t)name & (2 * MCP_TOOLS_MAX - 1);

	while (tools->seen[i].name != 0 && tools->seen[i].name != name)
		i = (i + 1) & (2 * MCP_TOOLS_MAX - 1);
	return &tools->seen[i];
}

/* Two listings may run side by side: the same name at the same place of
 * the same page is the same tool, anywhere else it is a second one. */
static bool
mcp_tools_remember(struct mcp_tools_pass *pass, const char *name)
{
	struct mcp_tools *tools = pass->tools;
	uint64_t hash = mcp_hash_of(&tools->key, name, strlen(name)) | 1U;
	uint64_t place[2] = {pass->page, pass->index}, page;
	struct mcp_tools_seen *slot = mcp_tools_slot(tools, hash);

	page = mcp_hash_of(&tools->key, place, sizeof(place));
	if (slot->name == hash) {
		if (slot->page == page)
			return true;
		tools->duplicate++;
		return false;
	}
	if (tools->used == MCP_TOOLS_MAX) {
		tools->too_many++;
		return false;
	}
	slot->name = hash;
	slot->page = page;
	tools->used++;
	return true;
}

static bool
mcp_tools_keep(struct mcp_span key, struct mcp_span value, void *context)
{
	struct mcp_tools_pass *pass = context;
	char name[MCP_POLICY_TOOL_MAX + 1];

	(void)key;
	pass->index++;
	if (mcp_cursor_has_lookalike(value, "name") ||
	    !mcp_policy_tool_name(mcp_cursor_find(value, "name"), name)) {
		pass->tools->bad_name++;
		return false;
	}
	if (!mcp_policy_tool_allowed(pass->policy, name)) {
		pass->tools->not_allowed++;
		return false;
	}
	return mcp_tools_remember(pass, name);
}

void
mcp_tools_filter(struct mcp_tools *tools, const struct mcp_policy *policy,
    bool first_page, uint64_t page, struct mcp_span list, struct mcp_edit *edit)
{
	struct mcp_tools_pass pass = {tools, policy, page, 0};

	if (first_page) {
		memset(
		    tools->seen, 0, 2 * MCP_TOOLS_MAX * sizeof(*tools->seen));
		tools->used = 0;
	}
	tools->not_allowed = tools->bad_name = 0;
	tools->duplicate = tools->too_many = 0;
	mcp_edit_filter(edit, list, mcp_tools_keep, &pass);
}
