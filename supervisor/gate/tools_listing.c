/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of tools under the names that the agent calls them by. Called by
 * tools_port; it must never list a tool that a call would be refused for,
 * nor two of one name.
 */
#include "supervisor/gate/tools_listing.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/gate/mcp_tools.h"

static void
tools_listing_enter(
    struct tools_listing *listing, enum tools_listing_state state)
{
	listing->state = state;
}

void
tools_listing_init(struct tools_listing *listing)
{
	memset(listing, 0, sizeof(*listing));
	buffer_init(&listing->text, TOOLS_LISTING_MAX);
}

void
tools_listing_free(struct tools_listing *listing)
{
	buffer_free(&listing->text);
}

bool
tools_listing_is_wanted(const struct tools_listing *listing)
{
	return listing->state == TOOLS_LISTING_UNKNOWN ||
	       (listing->state == TOOLS_LISTING_FAILED &&
		   listing->tries < TOOLS_LISTING_TRIES);
}

void
tools_listing_asked(struct tools_listing *listing)
{
	listing->tries++;
	tools_listing_enter(listing, TOOLS_LISTING_ASKED);
}

/* {"name":"slug__tool" and the other members as they are. Tasks are not
 * spoken here, so nothing says that a tool wants one. */
static enum result
tools_listing_tool(struct buffer *out, const char *slug, const char *name,
    struct mcp_span tool)
{
	struct mcp_cursor cursor;
	struct mcp_span key, value;
	enum result result =
	    buffer_printf(out, "{\"name\":\"%s" TOOLS_BODY_SEPARATOR, slug);

	for (; *name != '\0' && result == RESULT_OK; name++) {
		if (*name == '"' || *name == '\\')
			result = buffer_append(out, "\\", 1);
		if (result == RESULT_OK)
			result = buffer_append(out, name, 1);
	}
	if (result == RESULT_OK)
		result = buffer_append(out, "\"", 1);
	if (!mcp_cursor_enter(tool, &cursor))
		return RESULT_BAD;
	while (
	    result == RESULT_OK && mcp_cursor_member(&cursor, &key, &value)) {
		if (mcp_cursor_is(key, "name") ||
		    mcp_cursor_is(key, "execution"))
			continue;
		result = buffer_append(out, ",", 1);
		if (result == RESULT_OK)
			result = buffer_append(out, key.bytes, key.len);
		if (result == RESULT_OK)
			result = buffer_append(out, ":", 1);
		if (result == RESULT_OK)
			result = buffer_append(out, value.bytes, value.len);
	}
	return result == RESULT_OK ? buffer_append(out, "}", 1) : result;
}

/* Is there a tool of that name already? Lists are short. */
static bool
tools_listing_is_repeated(
    struct mcp_span list, struct mcp_span until, const char *name)
{
	char other[MCP_POLICY_TOOL_MAX + 1];
	struct mcp_cursor cursor;
	struct mcp_span item;

	if (!mcp_cursor_enter(list, &cursor))
		return false;
	while (mcp_cursor_item(&cursor, &item) && item.bytes != until.bytes) {
		if (mcp_policy_tool_name(
			mcp_cursor_find(item, "name"), other) &&
		    strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static bool
tools_listing_may(const struct tools_listing *listing,
    const struct tools_grant_package *package, struct mcp_span list,
    struct mcp_span tool, char *name_r)
{
	return listing->count < TOOLS_LISTING_TOOLS_MAX &&
	       !mcp_cursor_has_lookalike(tool, "name") &&
	       mcp_policy_tool_name(mcp_cursor_find(tool, "name"), name_r) &&
	       tools_grant_has_tool(package, name_r) &&
	       !tools_listing_is_repeated(list, tool, name_r);
}

/* All of a tool or nothing of it. */
static void
tools_listing_add(struct tools_listing *listing,
    const struct tools_grant_package *package, struct mcp_span list,
    struct mcp_span tool)
{
	char name[MCP_POLICY_TOOL_MAX + 1];
	size_t before = listing->text.len;

	if (tools_listing_may(listing, package, list, tool, name) &&
	    (listing->count == 0 ||
		buffer_append(&listing->text, ",", 1) == RESULT_OK) &&
	    tools_listing_tool(&listing->text, package->slug, name, tool) ==
		RESULT_OK) {
		listing->count++;
		return;
	}
	listing->text.len = before;
	listing->left_out++;
}

bool
tools_listing_take(struct tools_listing *listing,
    const struct tools_grant_package *package, struct mcp_span result)
{
	struct mcp_span list = mcp_tools_list(result), tool;
	struct mcp_cursor cursor;

	buffer_clear(&listing->text);
	listing->count = listing->left_out = 0;
	if (list.bytes == NULL) {
		tools_listing_enter(listing, TOOLS_LISTING_FAILED);
		return false;
	}
	if (mcp_cursor_enter(list, &cursor)) {
		while (mcp_cursor_item(&cursor, &tool))
			tools_listing_add(listing, package, list, tool);
	}
	tools_listing_enter(listing, TOOLS_LISTING_KNOWN);
	return true;
}
