/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting members and items out of a line, and marks into it. Called by
 * mcp_session; it must never change a byte it keeps.
 */
#include "supervisor/gate/mcp_edit.h"

/* Where the filter stands in the container. */
struct mcp_edit_walk {
	bool kept_one;          /* something stays before this element */
	const char *end_before; /* end of the element before */
	const char *open;       /* start of a cut that ends at the next */
};

void
mcp_edit_start(
    struct mcp_edit *edit, struct buffer *out, const char *bytes, size_t len)
{
	edit->out = out;
	edit->from = bytes;
	edit->end = bytes + len;
	edit->result = RESULT_OK;
	edit->cuts = 0;
}

static void
mcp_edit_copy(struct mcp_edit *edit, const char *to)
{
	if (edit->result == RESULT_OK && to > edit->from)
		edit->result = buffer_append(
		    edit->out, edit->from, (size_t)(to - edit->from));
}

static void
mcp_edit_cut(struct mcp_edit *edit, const char *start, const char *end)
{
	mcp_edit_copy(edit, start);
	edit->from = end;
}

void
mcp_edit_insert(struct mcp_edit *edit, const char *at, const char *text)
{
	mcp_edit_cut(edit, at, at);
	if (edit->result == RESULT_OK)
		edit->result = buffer_append_text(edit->out, text);
}

enum result
mcp_edit_finish(struct mcp_edit *edit)
{
	mcp_edit_copy(edit, edit->end);
	edit->from = edit->end;
	return edit->result;
}

/* An element that goes takes the comma before it along, or, when nothing
 * before it stays, everything up to the next element. */
static void
mcp_edit_element(struct mcp_edit *edit, struct mcp_edit_walk *walk,
    const char *start, const char *end, bool keep)
{
	if (walk->open != NULL)
		mcp_edit_cut(edit, walk->open, start);
	walk->open = NULL;
	if (keep) {
		walk->kept_one = true;
	} else {
		edit->cuts++;
		if (walk->kept_one)
			mcp_edit_cut(edit, walk->end_before, end);
		else
			walk->open = start;
	}
	walk->end_before = end;
}

void
mcp_edit_filter(struct mcp_edit *edit, struct mcp_span container,
    mcp_edit_keep *keep, void *context)
{
	struct mcp_edit_walk walk = {false, NULL, NULL};
	bool object = mcp_cursor_kind(container) == MCP_VALUE_OBJECT;
	struct mcp_cursor cursor;
	struct mcp_span key = {NULL, 0}, value;

	if (!mcp_cursor_enter(container, &cursor))
		return;
	while (object ? mcp_cursor_member(&cursor, &key, &value)
		      : mcp_cursor_item(&cursor, &value))
		mcp_edit_element(edit, &walk, object ? key.bytes : value.bytes,
		    value.bytes + value.len, keep(key, value, context));
	if (walk.open != NULL)
		mcp_edit_cut(edit, walk.open, walk.end_before);
}
