/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to an agent. Called by tools_port; it must never write an answer
 * whose length is not what its head says.
 */
#include "supervisor/gate/tools_answer.h"

#include <inttypes.h>
#include <string.h>

#include "supervisor/gate/mcp_reply.h"

#define TOOLS_ANSWER_PARTS 8U
#define TOOLS_ANSWER_SMALL 4096U /* texts of our own */

static const char *
tools_answer_phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} rows[] = {{200, "OK"}, {202, "Accepted"}, {400, "Bad Request"},
	    {403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"},
	    {406, "Not Acceptable"}, {408, "Request Timeout"},
	    {409, "Conflict"}, {413, "Content Too Large"},
	    {415, "Unsupported Media Type"},
	    {431, "Request Header Fields Too Large"},
	    {503, "Service Unavailable"}, {505, "HTTP Version Not Supported"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].status == status)
			return rows[i].phrase;
	}
	return "Error";
}

static enum result
tools_answer_head(const struct tools_answer *answer, unsigned status,
    const char *code, size_t len)
{
	struct buffer *out = answer->out;
	enum result result = buffer_printf(
	    out, "HTTP/1.1 %u %s\r\n", status, tools_answer_phrase(status));

	if (result == RESULT_OK && status == 405)
		result = buffer_append_text(out, "Allow: POST\r\n");
	if (result == RESULT_OK && code[0] != '\0')
		result = buffer_printf(out, "X-AgentNode-Reason: %s\r\n", code);
	if (result == RESULT_OK && len > 0)
		result = buffer_append_text(
		    out, "Content-Type: application/json\r\n");
	if (result == RESULT_OK && answer->session != 0)
		result = buffer_printf(out,
		    TOOLS_REQUEST_SESSION ": %" PRIu64 "\r\n", answer->session);
	if (result == RESULT_OK && !answer->keep)
		result = buffer_append_text(out, "Connection: close\r\n");
	if (result == RESULT_OK)
		result = buffer_printf(out, "Content-Length: %zu\r\n\r\n", len);
	return result;
}

/* Head and body, all of it or nothing. */
static enum result
tools_answer_write(const struct tools_answer *answer, unsigned status,
    const char *code, const struct mcp_span *parts, size_t count)
{
	struct buffer *out = answer->out;
	size_t before = out->len, len = 0, i;
	enum result result;

	for (i = 0; i < count; i++)
		len += parts[i].len;
	result = tools_answer_head(answer, status, code, len);
	for (i = 0; i < count && result == RESULT_OK; i++)
		result = buffer_append(out, parts[i].bytes, parts[i].len);
	if (result != RESULT_OK)
		out->len = before;
	return result;
}

static struct mcp_span
tools_answer_text(const char *text)
{
	return (struct mcp_span){text, strlen(text)};
}

static struct mcp_span
tools_answer_small(const struct buffer *text)
{
	return (struct mcp_span){
	    (const char *)buffer_bytes_borrow(text), text->len};
}

/* {"jsonrpc":"2.0","id":ID,"result": PARTS } */
static enum result
tools_answer_rpc(const struct tools_answer *answer,
    const struct mcp_span *inside, size_t count)
{
	struct mcp_span parts[TOOLS_ANSWER_PARTS];
	size_t used = 0;

	parts[used++] = tools_answer_text("{\"jsonrpc\":\"2.0\",\"id\":");
	parts[used++] =
	    answer->id.bytes == NULL ? tools_answer_text("null") : answer->id;
	parts[used++] = tools_answer_text(",\"result\":");
	for (size_t i = 0; i < count && used < TOOLS_ANSWER_PARTS - 1; i++)
		parts[used++] = inside[i];
	parts[used++] = tools_answer_text("}");
	return tools_answer_write(answer, 200, "", parts, used);
}

/* --- faults ------------------------------------------------------------- */

static enum result
tools_answer_error(const struct tools_answer *answer, struct buffer *text,
    int rpc_code, const char *code, const char *detail)
{
	enum result result = RESULT_OK;

	if (answer->path == TOOLS_PATH_RESULT) {
		result = buffer_append_text(text, "{\"ok\":false,\"error\":\"");
	} else {
		result =
		    buffer_append_text(text, "{\"jsonrpc\":\"2.0\",\"id\":");
		if (result == RESULT_OK && answer->id.bytes == NULL)
			result = buffer_append_text(text, "null");
		else if (result == RESULT_OK)
			result = buffer_append(
			    text, answer->id.bytes, answer->id.len);
		if (result == RESULT_OK)
			result = buffer_printf(text,
			    ",\"error\":{\"code\":%d,\"message\":\"", rpc_code);
	}
	if (result == RESULT_OK)
		result = buffer_append_text(text, "agentnode: ");
	if (result == RESULT_OK)
		result = mcp_reply_text(text, detail);
	if (result == RESULT_OK)
		result = buffer_printf(text,
		    answer->path == TOOLS_PATH_RESULT
			? "\",\"code\":\"%s\"}"
			: "\",\"data\":{\"code\":\"%s\"}}}",
		    code);
	return result;
}

enum result
tools_answer_fault(const struct tools_answer *answer, enum tools_fault fault,
    const char *code, const char *detail)
{
	const struct tools_fault_row *row = tools_fault_row(fault);
	struct mcp_span part;
	struct buffer text;
	enum result result;

	if (code == NULL)
		code = row->code;
	if (detail == NULL || detail[0] == '\0')
		detail = row->sentence;
	/* Six bytes for each of a text's, in the worst case. */
	buffer_init(&text, 6 * TOOLS_ANSWER_SMALL);
	result = tools_answer_error(answer, &text, row->rpc_code, code, detail);
	part = tools_answer_small(&text);
	if (result == RESULT_OK)
		result =
		    tools_answer_write(answer, row->status, code, &part, 1);
	buffer_free(&text);
	return result;
}

/* --- results of tools --------------------------------------------------- */

static bool
tools_answer_is_true(struct mcp_span value)
{
	return value.len == 4 && memcmp(value.bytes, "true", 4) == 0;
}

bool
tools_answer_is_call(struct mcp_span result)
{
	struct mcp_span content = mcp_cursor_find(result, "content");
	struct mcp_span structured =
	    mcp_cursor_find(result, "structuredContent");
	struct mcp_span error = mcp_cursor_find(result, "isError");

	return mcp_cursor_kind(result) == MCP_VALUE_OBJECT &&
	       (mcp_cursor_kind(content) == MCP_VALUE_ARRAY ||
		   (content.bytes == NULL && structured.bytes != NULL)) &&
	       (structured.bytes == NULL ||
		   mcp_cursor_kind(structured) == MCP_VALUE_OBJECT) &&
	       (error.bytes == NULL ||
		   mcp_cursor_kind(error) == MCP_VALUE_LITERAL) &&
	       !mcp_cursor_has_lookalike(result, "isError");
}

/* The text of content's first item of that kind; *only_r: and it is the
 * only item. Absent when there is none. */
static struct mcp_span
tools_answer_first_text(struct mcp_span content, bool *only_r)
{
	struct mcp_span item, found = {NULL, 0};
	struct mcp_cursor cursor;
	size_t count = 0;

	*only_r = false;
	if (!mcp_cursor_enter(content, &cursor))
		return found;
	while (mcp_cursor_item(&cursor, &item)) {
		count++;
		if (found.bytes != NULL ||
		    !mcp_cursor_is(mcp_cursor_find(item, "type"), "text"))
			continue;
		found = mcp_cursor_find(item, "text");
		if (mcp_cursor_kind(found) != MCP_VALUE_STRING)
			found.bytes = NULL;
	}
	*only_r = count == 1 && found.bytes != NULL;
	return found;
}

/* What an agent wants to have: the structured result, else the one text,
 * else all of it. */
static struct mcp_span
tools_answer_value(struct mcp_span result)
{
	struct mcp_span value = mcp_cursor_find(result, "structuredContent");
	struct mcp_span content = mcp_cursor_find(result, "content"), text;
	bool only;

	if (value.bytes != NULL)
		return value;
	text = tools_answer_first_text(content, &only);
	return only ? text : content;
}

enum result
tools_answer_call(const struct tools_answer *answer, struct mcp_span result)
{
	struct mcp_span parts[3];
	bool only;

	if (answer->path == TOOLS_PATH_MCP)
		return tools_answer_rpc(answer, &result, 1);
	if (tools_answer_is_true(mcp_cursor_find(result, "isError"))) {
		parts[0] = tools_answer_text(
		    "{\"success\":false,\"result\":null,\"error\":");
		parts[1] = tools_answer_first_text(
		    mcp_cursor_find(result, "content"), &only);
		if (parts[1].bytes == NULL)
			parts[1] = tools_answer_text("\"the tool failed\"");
		parts[2] = tools_answer_text(
		    ",\"mode_used\":\"" TOOLS_ANSWER_MODE "\"}");
	} else {
		parts[0] = tools_answer_text("{\"success\":true,\"result\":");
		parts[1] = tools_answer_value(result);
		parts[2] = tools_answer_text(
		    ",\"error\":null,\"mode_used\":\"" TOOLS_ANSWER_MODE "\"}");
	}
	return tools_answer_rpc(answer, parts, 3);
}

/* --- the rest ----------------------------------------------------------- */

enum result
tools_answer_list(const struct tools_answer *answer,
    const struct tools_listing *listings, size_t count)
{
	struct mcp_span part;
	struct buffer text;
	enum result result;
	bool first = true;
	size_t i;

	buffer_init(
	    &text, count * (TOOLS_LISTING_MAX + 1) + TOOLS_ANSWER_RESERVE);
	result = buffer_append_text(&text, "{\"tools\":[");
	for (i = 0; i < count && result == RESULT_OK; i++) {
		if (listings[i].text.len == 0)
			continue;
		if (!first)
			result = buffer_append(&text, ",", 1);
		if (result == RESULT_OK)
			result = buffer_append(&text,
			    buffer_bytes_borrow(&listings[i].text),
			    listings[i].text.len);
		first = false;
	}
	if (result == RESULT_OK)
		result = buffer_append_text(&text, "]}");
	part = tools_answer_small(&text);
	if (result == RESULT_OK)
		result = tools_answer_rpc(answer, &part, 1);
	buffer_free(&text);
	return result;
}

enum result
tools_answer_initialize(const struct tools_answer *answer, const char *version)
{
	const struct mcp_span parts[3] = {
	    tools_answer_text("{\"protocolVersion\":\""),
	    tools_answer_text(version),
	    tools_answer_text("\",\"capabilities\":{\"tools\":{}},"
			      "\"serverInfo\":{\"name\":\"agentnode\","
			      "\"version\":\"1\"}}")};

	return tools_answer_rpc(answer, parts, 3);
}

enum result
tools_answer_ping(const struct tools_answer *answer)
{
	const struct mcp_span part = tools_answer_text("{}");

	return tools_answer_rpc(answer, &part, 1);
}

enum result
tools_answer_nothing(const struct tools_answer *answer)
{
	return tools_answer_write(answer, 202, "", NULL, 0);
}

enum result
tools_answer_taken(const struct tools_answer *answer)
{
	const struct mcp_span part = tools_answer_text("{\"ok\":true}");

	return tools_answer_write(answer, 200, "", &part, 1);
}
