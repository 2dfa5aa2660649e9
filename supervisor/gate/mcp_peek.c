/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The id finder: one pass, constant memory, no checking of grammar. Called
 * by mcp_line while it skips and by mcp_session for refused lines; it must
 * never be asked whether something may pass.
 */
#include "supervisor/gate/mcp_peek.h"

#include <string.h>

void
mcp_peek_start(struct mcp_peek *peek)
{
	memset(peek, 0, sizeof(*peek));
}

static bool
mcp_peek_key_is(const struct mcp_peek *peek, const char *name)
{
	size_t len = strlen(name);

	return peek->key_len == len && memcmp(peek->key, name, len) == 0;
}

static void
mcp_peek_keep(struct mcp_peek *peek, char c)
{
	if (!peek->is_id)
		return;
	if (peek->id_len == sizeof(peek->id))
		peek->id_too_long = true;
	else
		peek->id[peek->id_len++] = c;
}

/* A key longer than the array can be no key we look for. */
static void
mcp_peek_key_byte(struct mcp_peek *peek, char c)
{
	if (peek->key_len < sizeof(peek->key))
		peek->key[peek->key_len++] = c;
}

static void
mcp_peek_string_byte(struct mcp_peek *peek, char c)
{
	bool is_key = peek->depth == 1 && peek->want == MCP_PEEK_KEY;

	mcp_peek_keep(peek, c);
	if (peek->escaped) {
		peek->escaped = false;
	} else if (c == '\\') {
		peek->escaped = true;
	} else if (c == '"') {
		peek->in_string = false;
		if (is_key)
			peek->want = MCP_PEEK_COLON;
		return;
	}
	if (is_key)
		mcp_peek_key_byte(peek, c);
}

static void
mcp_peek_value_ends(struct mcp_peek *peek)
{
	if (peek->is_id && peek->id_too_long)
		peek->id_len = 0;
	peek->is_id = false;
	peek->want = MCP_PEEK_KEY;
	peek->key_len = 0;
}

static void
mcp_peek_top_byte(struct mcp_peek *peek, char c)
{
	if (c == ':' && peek->want == MCP_PEEK_COLON) {
		peek->want = MCP_PEEK_VALUE;
		peek->has_method |= mcp_peek_key_is(peek, "method");
		peek->is_id = mcp_peek_key_is(peek, "id");
		if (peek->is_id)
			peek->id_len = 0;
	} else if (c == ',') {
		mcp_peek_value_ends(peek);
	} else if (c != ' ' && c != '\t' && c != '\r') {
		mcp_peek_keep(peek, c);
	}
}

static void
mcp_peek_byte(struct mcp_peek *peek, char c)
{
	if (peek->in_string) {
		mcp_peek_string_byte(peek, c);
		return;
	}
	if (peek->depth == 0) {
		if (c == '{')
			peek->depth = 1;
		else if (c != ' ' && c != '\t' && c != '\r')
			peek->lost = true;
		return;
	}
	if (c == '"') {
		mcp_peek_keep(peek, c);
		peek->in_string = true;
	} else if (c == '{' || c == '[') {
		mcp_peek_keep(peek, c);
		peek->depth++;
	} else if (c == '}' || c == ']') {
		if (peek->depth == 1)
			mcp_peek_value_ends(peek);
		mcp_peek_keep(peek, c);
		peek->depth--;
	} else if (peek->depth == 1) {
		mcp_peek_top_byte(peek, c);
	} else {
		mcp_peek_keep(peek, c);
	}
}

void
mcp_peek_feed(struct mcp_peek *peek, const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len && !peek->lost; i++)
		mcp_peek_byte(peek, bytes[i]);
}
