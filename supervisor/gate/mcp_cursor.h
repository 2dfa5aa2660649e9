/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking over JSON that mcp_json_check has accepted, without a tree: spans
 * of the caller's bytes. On anything else the functions stay inside the
 * span but what they say means nothing. Pure; fuzzed with mcp_message.
 */
#ifndef SUPERVISOR_GATE_MCP_CURSOR_H
#define SUPERVISOR_GATE_MCP_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

/* A value's bytes, quotes and brackets included; bytes NULL: absent. */
struct mcp_span {
	const char *bytes;
	size_t len;
};

enum mcp_value {
	MCP_VALUE_NONE, /* absent */
	MCP_VALUE_OBJECT,
	MCP_VALUE_ARRAY,
	MCP_VALUE_STRING,
	MCP_VALUE_NUMBER,
	MCP_VALUE_LITERAL /* true, false, null */
};

struct mcp_cursor {
	const char *p, *end;
};

enum mcp_value mcp_cursor_kind(struct mcp_span value);

/* The first value in bytes, blanks around it left out. */
struct mcp_span mcp_cursor_value(const char *bytes, size_t len);

/* Stand before the first member or item; false when value has none. */
bool mcp_cursor_enter(struct mcp_span value, struct mcp_cursor *cursor_r);
/* The next member of an object, the next item of an array. */
bool mcp_cursor_member(struct mcp_cursor *cursor, struct mcp_span *key_r,
    struct mcp_span *value_r);
bool mcp_cursor_item(struct mcp_cursor *cursor, struct mcp_span *value_r);

/* Member of an object by name; absent span when there is none. */
struct mcp_span mcp_cursor_find(struct mcp_span object, const char *name);
/* A key that differs from name only by case (as Go's decoder ignores it,
 * U+017F and U+212A too) but is not name itself. */
bool mcp_cursor_has_lookalike(struct mcp_span object, const char *name);

/* True when the string value reads text; the same but for case, as above;
 * begins with it so, blanks before it left out. */
bool mcp_cursor_is(struct mcp_span string, const char *text);
bool mcp_cursor_folds_to(struct mcp_span string, const char *text);
bool mcp_cursor_begins(struct mcp_span string, const char *text);

/* Unescape a string value into text_r (NUL-terminated). False when it is
 * no string, does not fit, or holds NUL or a lone surrogate. */
bool mcp_cursor_decode(
    struct mcp_span string, char *text_r, size_t size, size_t *len_r);
/* The same, but cut at the last whole character that fits, and what cannot
 * be shown becomes '?': for descriptions shown to people. */
void mcp_cursor_excerpt(struct mcp_span string, char *text_r, size_t size);

#endif
