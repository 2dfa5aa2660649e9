/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate as a client that lists tools. Called by gate.c in tools mode; it
 * must never print a foreign byte that is not made safe.
 */
#include "supervisor/gate/gate_listing.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/gate/mcp_reply.h"

#define GATE_LISTING_INITIALIZE                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","    \
	"\"params\":{\"protocolVersion\":\"2025-06-18\","             \
	"\"capabilities\":{},\"clientInfo\":{\"name\":\"agentnode\"," \
	"\"version\":\"1\"}}}"
#define GATE_LISTING_INITIALIZED \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

static void
gate_listing_enter(struct gate_listing *listing, enum gate_listing_state state)
{
	listing->state = state;
}

static void
gate_listing_fail(struct gate_listing *listing, const char *why)
{
	snprintf(listing->detail, sizeof(listing->detail), "%s", why);
	gate_listing_enter(listing, GATE_LISTING_FAILED);
}

void
gate_listing_init(struct gate_listing *listing, bool json,
    const struct mcp_policy *allowed, const struct mcp_hash_key *key)
{
	memset(listing, 0, sizeof(*listing));
	listing->json = json;
	listing->allowed = *allowed;
	mcp_json_init(&listing->checker, key);
	buffer_init(&listing->out, GATE_LISTING_OUT_MAX);
}

void
gate_listing_free(struct gate_listing *listing)
{
	mcp_json_free(&listing->checker);
	buffer_free(&listing->out);
}

void
gate_listing_begin(
    struct gate_listing *listing, struct mcp_session *session, uint64_t now_ms)
{
	gate_listing_enter(listing, GATE_LISTING_INITIALIZING);
	mcp_session_line(session, MCP_CLIENT, GATE_LISTING_INITIALIZE,
	    strlen(GATE_LISTING_INITIALIZE), now_ms);
}

/* Ask for a page; the cursor goes back as the server wrote it. */
static void
gate_listing_ask(struct gate_listing *listing, struct mcp_session *session,
    struct mcp_span cursor, uint64_t now_ms)
{
	struct buffer line;
	enum result result;

	if (++listing->pages > GATE_LISTING_PAGES_MAX) {
		gate_listing_fail(listing, "the list has too many pages");
		return;
	}
	buffer_init(&line, GATE_LISTING_OUT_MAX);
	result = buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/list\"",
	    listing->pages + 1);
	if (result == RESULT_OK && cursor.bytes != NULL) {
		result = buffer_append_text(&line, ",\"params\":{\"cursor\":");
		if (result == RESULT_OK)
			result = buffer_append(&line, cursor.bytes, cursor.len);
		if (result == RESULT_OK)
			result = buffer_append_text(&line, "}");
	}
	if (result == RESULT_OK)
		result = buffer_append_text(&line, "}");
	if (result == RESULT_OK)
		mcp_session_line(session, MCP_CLIENT,
		    (const char *)buffer_bytes_borrow(&line), line.len, now_ms);
	else
		gate_listing_fail(listing, "the server's cursor is too long");
	buffer_free(&line);
}

/* UTF-8 that is safe to show, inside a JSON string. */
static enum result
gate_listing_quote(struct buffer *out, const char *text)
{
	enum result result = buffer_append(out, "\"", 1);

	for (; *text != '\0' && result == RESULT_OK; text++) {
		if (*text == '"' || *text == '\\')
			result = buffer_append(out, "\\", 1);
		if (result == RESULT_OK)
			result = buffer_append(out, text, 1);
	}
	return result == RESULT_OK ? buffer_append(out, "\"", 1) : result;
}

static enum result
gate_listing_json(struct gate_listing *listing, const char *name,
    const char *description, bool allowed)
{
	struct buffer *out = &listing->out;
	enum result result;

	result =
	    buffer_append_text(out, listing->count == 0 ? "{\"tools\":[" : ",");
	if (result == RESULT_OK)
		result = buffer_append_text(out, "\n {\"name\":");
	if (result == RESULT_OK)
		result = gate_listing_quote(out, name);
	if (result == RESULT_OK)
		result = buffer_append_text(out, ",\"description\":");
	if (result == RESULT_OK)
		result = gate_listing_quote(out, description);
	if (result == RESULT_OK)
		result = buffer_printf(
		    out, ",\"allowed\":%s}", allowed ? "true" : "false");
	return result;
}

static void
gate_listing_tool(struct gate_listing *listing, struct mcp_span tool)
{
	char name[MCP_POLICY_TOOL_MAX + 1];
	char description[GATE_LISTING_TEXT_MAX];
	enum result result;
	bool allowed;

	if (!mcp_policy_tool_name(mcp_cursor_find(tool, "name"), name))
		return;
	mcp_cursor_excerpt(mcp_cursor_find(tool, "description"), description,
	    sizeof(description));
	allowed = mcp_policy_tool_allowed(&listing->allowed, name);
	if (listing->json)
		result = gate_listing_json(listing, name, description, allowed);
	else
		result = buffer_printf(&listing->out, "%s%s%s%s\n", name,
		    allowed ? "" : " (not in the allowlist)",
		    description[0] == '\0' ? "" : "  ", description);
	if (result != RESULT_OK)
		gate_listing_fail(listing, "the list is too long");
	listing->count++;
}

static void
gate_listing_end(struct gate_listing *listing)
{
	const char *text = listing->count == 0 ? "{\"tools\":[]}\n" : "\n]}\n";

	if (!listing->json && listing->count == 0)
		text = "the server has no tools\n";
	else if (!listing->json)
		text = "";
	if (buffer_append_text(&listing->out, text) != RESULT_OK)
		gate_listing_fail(listing, "the list is too long");
	else
		gate_listing_enter(listing, GATE_LISTING_DONE);
}

static void
gate_listing_page(struct gate_listing *listing, struct mcp_session *session,
    struct mcp_span result, uint64_t now_ms)
{
	struct mcp_cursor cursor;
	struct mcp_span tool, next = mcp_cursor_find(result, "nextCursor");

	if (mcp_cursor_enter(mcp_cursor_find(result, "tools"), &cursor)) {
		while (listing->state == GATE_LISTING_LISTING &&
		       mcp_cursor_item(&cursor, &tool))
			gate_listing_tool(listing, tool);
	}
	if (listing->state != GATE_LISTING_LISTING)
		return;
	if (mcp_cursor_kind(next) == MCP_VALUE_STRING)
		gate_listing_ask(listing, session, next, now_ms);
	else
		gate_listing_end(listing);
}

static void
gate_listing_error(struct gate_listing *listing, struct mcp_span error)
{
	char text[160], why[256];

	mcp_cursor_excerpt(
	    mcp_cursor_find(error, "message"), text, sizeof(text));
	snprintf(why, sizeof(why), "the server answered %s with an error: %s",
	    listing->state == GATE_LISTING_LISTING ? "tools/list"
						   : "initialize",
	    text);
	gate_listing_fail(listing, why);
}

static void
gate_listing_answer(struct gate_listing *listing, struct mcp_session *session,
    const struct mcp_entry *entry, uint64_t now_ms)
{
	if (entry->kind == MCP_ERROR) {
		gate_listing_error(listing, entry->outcome);
	} else if (listing->state == GATE_LISTING_INITIALIZING) {
		gate_listing_enter(listing, GATE_LISTING_LISTING);
		mcp_session_line(session, MCP_CLIENT, GATE_LISTING_INITIALIZED,
		    strlen(GATE_LISTING_INITIALIZED), now_ms);
		gate_listing_ask(
		    listing, session, (struct mcp_span){NULL, 0}, now_ms);
	} else if (listing->state == GATE_LISTING_LISTING) {
		gate_listing_page(listing, session, entry->outcome, now_ms);
	}
}

/* A ping of the server's; nothing else it may ask reaches us. */
static void
gate_listing_pong(
    struct mcp_session *session, const struct mcp_entry *entry, uint64_t now_ms)
{
	char line[MCP_MESSAGE_ID_MAX + 64];
	int len;

	len = snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
	    (int)entry->id.len, entry->id.bytes);
	if (len > 0 && (size_t)len < sizeof(line))
		mcp_session_line(
		    session, MCP_CLIENT, line, (size_t)len, now_ms);
}

void
gate_listing_line(struct gate_listing *listing, struct mcp_session *session,
    const char *bytes, size_t len, uint64_t now_ms)
{
	struct mcp_message *message = &listing->message;
	enum mcp_json_fault json;
	size_t i, position;

	if (mcp_message_parse(&listing->checker, bytes, len, message, &json,
		&position) != MCP_FAULT_NONE)
		return;
	for (i = 0; i < message->count; i++) {
		const struct mcp_entry *entry = &message->entries[i];

		if (entry->kind == MCP_RESULT || entry->kind == MCP_ERROR)
			gate_listing_answer(listing, session, entry, now_ms);
		else if (entry->kind == MCP_REQUEST)
			gate_listing_pong(session, entry, now_ms);
	}
}
