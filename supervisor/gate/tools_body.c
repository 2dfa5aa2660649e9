/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the tools port. Called by tools_port; it must never let a
 * member through that it does not know, nor guess which package is meant.
 */
#include "supervisor/gate/tools_body.h"

#include <stdio.h>
#include <string.h>

#define TOOLS_BODY_NEWEST "2025-11-25"
#define TOOLS_BODY_EMPTY "{}"

void
tools_body_flatten(char *bytes, size_t len)
{
	bool in_string = false;
	size_t i;

	for (i = 0; i < len; i++) {
		if (in_string && bytes[i] == '\\')
			i++;
		else if (bytes[i] == '"')
			in_string = !in_string;
		else if (!in_string && (bytes[i] == '\n' || bytes[i] == '\r'))
			bytes[i] = ' ';
	}
}

static enum tools_fault
tools_body_fault(
    struct tools_body *body, enum tools_fault fault, const char *detail)
{
	(void)snprintf(body->detail, sizeof(body->detail), "%s", detail);
	return fault;
}

/* Every member of object is one of names (NULL ends). */
static bool
tools_body_only(struct mcp_span object, const char *const *names)
{
	struct mcp_cursor cursor;
	struct mcp_span key, value;
	size_t i;

	if (!mcp_cursor_enter(object, &cursor))
		return true;
	while (mcp_cursor_member(&cursor, &key, &value)) {
		for (i = 0; names[i] != NULL; i++) {
			if (mcp_cursor_is(key, names[i]))
				break;
		}
		if (names[i] == NULL)
			return false;
	}
	return true;
}

static bool
tools_body_is_null(struct mcp_span value)
{
	return mcp_cursor_kind(value) == MCP_VALUE_LITERAL && value.len == 4 &&
	       memcmp(value.bytes, "null", 4) == 0;
}

/* The letters of a slug; whether it is one is the allowlist's to say. */
static bool
tools_body_slug(const char *text, size_t len, char *slug_r)
{
	size_t i;

	if (len == 0 || len > TOOLS_BODY_SLUG_MAX)
		return false;
	for (i = 0; i < len; i++) {
		if (!((text[i] >= 'a' && text[i] <= 'z') ||
			(text[i] >= '0' && text[i] <= '9') || text[i] == '-'))
			return false;
	}
	memcpy(slug_r, text, len);
	slug_r[len] = '\0';
	return true;
}

static bool
tools_body_arguments(struct mcp_span params, struct tools_body *body)
{
	struct mcp_span value = mcp_cursor_find(params, "arguments");

	if (value.bytes == NULL || tools_body_is_null(value))
		value = (struct mcp_span){TOOLS_BODY_EMPTY, 2};
	body->arguments = value;
	return mcp_cursor_kind(value) == MCP_VALUE_OBJECT;
}

/* --- run_tool ----------------------------------------------------------- */

static enum tools_fault
tools_body_run_tool(struct mcp_span params, struct tools_body *body)
{
	static const char *const names[] = {
	    "slug", "tool_name", "arguments", NULL};
	struct mcp_span tool = mcp_cursor_find(params, "tool_name");
	char slug[TOOLS_BODY_SLUG_MAX + 1];
	size_t len;

	body->ask = TOOLS_ASK_CALL;
	if (mcp_cursor_kind(params) != MCP_VALUE_OBJECT ||
	    !tools_body_only(params, names))
		return tools_body_fault(body, TOOLS_FAULT_PARAMS,
		    "params of run_tool are slug, tool_name and arguments");
	if (!mcp_cursor_decode(
		mcp_cursor_find(params, "slug"), slug, sizeof(slug), &len) ||
	    !tools_body_slug(slug, len, body->slug))
		return tools_body_fault(
		    body, TOOLS_FAULT_PARAMS, "params.slug is no slug");
	if (tool.bytes != NULL && !tools_body_is_null(tool) &&
	    !mcp_policy_tool_name(tool, body->tool))
		return tools_body_fault(body, TOOLS_FAULT_PARAMS,
		    "params.tool_name is no plain name of at most 128 bytes");
	if (!tools_body_arguments(params, body))
		return tools_body_fault(
		    body, TOOLS_FAULT_PARAMS, "params.arguments is no object");
	return TOOLS_FAULT_NONE;
}

/* --- MCP ---------------------------------------------------------------- */

static enum tools_fault
tools_body_initialize(struct mcp_span params, struct tools_body *body)
{
	static const char *const versions[] = {
	    "2025-03-26", "2025-06-18", TOOLS_BODY_NEWEST};
	struct mcp_span asked = mcp_cursor_find(params, "protocolVersion");

	body->ask = TOOLS_ASK_INITIALIZE;
	body->version = TOOLS_BODY_NEWEST;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (mcp_cursor_is(asked, versions[i]))
			body->version = versions[i];
	}
	if (mcp_cursor_kind(asked) == MCP_VALUE_STRING)
		return TOOLS_FAULT_NONE;
	return tools_body_fault(
	    body, TOOLS_FAULT_PARAMS, "params.protocolVersion is no text");
}

static enum tools_fault
tools_body_list(struct mcp_span params, struct tools_body *body)
{
	static const char *const names[] = {"_meta", NULL};

	body->ask = TOOLS_ASK_LIST;
	if (tools_body_only(params, names))
		return TOOLS_FAULT_NONE;
	return tools_body_fault(body, TOOLS_FAULT_PARAMS,
	    "tools/list has one page here: no cursor");
}

/* "slug__tool". */
static bool
tools_body_split(struct mcp_span name, struct tools_body *body)
{
	char text[TOOLS_BODY_SLUG_MAX + MCP_POLICY_TOOL_MAX + 8];
	const char *tool;
	size_t len, i;

	if (!mcp_cursor_decode(name, text, sizeof(text), &len) ||
	    (tool = strstr(text, TOOLS_BODY_SEPARATOR)) == NULL ||
	    !tools_body_slug(text, (size_t)(tool - text), body->slug))
		return false;
	tool += strlen(TOOLS_BODY_SEPARATOR);
	len = strlen(tool);
	if (len == 0 || len > MCP_POLICY_TOOL_MAX)
		return false;
	for (i = 0; i < len; i++) {
		if (tool[i] <= 0x20 || tool[i] > 0x7e)
			return false;
	}
	memcpy(body->tool, tool, len + 1);
	return true;
}

static enum tools_fault
tools_body_call(struct mcp_span params, struct tools_body *body)
{
	/* task: a server without tasks runs it plainly. */
	static const char *const names[] = {
	    "name", "arguments", "_meta", "task", NULL};

	body->ask = TOOLS_ASK_CALL;
	if (mcp_cursor_kind(params) != MCP_VALUE_OBJECT ||
	    !tools_body_only(params, names))
		return tools_body_fault(body, TOOLS_FAULT_PARAMS,
		    "params of tools/call are name and arguments");
	if (!tools_body_split(mcp_cursor_find(params, "name"), body))
		return tools_body_fault(body, TOOLS_FAULT_PARAMS,
		    "params.name is no name of a tool here: SLUG__TOOL");
	if (!tools_body_arguments(params, body))
		return tools_body_fault(
		    body, TOOLS_FAULT_PARAMS, "params.arguments is no object");
	return TOOLS_FAULT_NONE;
}

/* A notification has no answer, whatever is in it. */
static enum tools_fault
tools_body_note(const struct mcp_entry *entry, struct tools_body *body)
{
	struct mcp_span id = mcp_cursor_find(entry->params, "requestId");
	enum mcp_value kind = mcp_cursor_kind(id);

	body->ask = TOOLS_ASK_NOTHING;
	body->id = (struct mcp_span){NULL, 0};
	if (entry->kind == MCP_NOTIFICATION &&
	    strcmp(entry->method, "notifications/cancelled") == 0 &&
	    (kind == MCP_VALUE_STRING || kind == MCP_VALUE_NUMBER)) {
		body->ask = TOOLS_ASK_CANCEL;
		body->cancels = id;
	}
	return TOOLS_FAULT_NONE;
}

static enum tools_fault
tools_body_mcp(const struct mcp_entry *entry, struct tools_body *body)
{
	if (entry->kind != MCP_REQUEST)
		return tools_body_note(entry, body);
	if (strcmp(entry->method, "tools/call") == 0)
		return tools_body_call(entry->params, body);
	if (strcmp(entry->method, "tools/list") == 0)
		return tools_body_list(entry->params, body);
	if (strcmp(entry->method, "initialize") == 0)
		return tools_body_initialize(entry->params, body);
	if (strcmp(entry->method, "ping") == 0) {
		body->ask = TOOLS_ASK_PING;
		return TOOLS_FAULT_NONE;
	}
	(void)snprintf(body->detail, sizeof(body->detail),
	    "method \"%s\" is not known here", entry->method);
	return TOOLS_FAULT_UNKNOWN;
}

static enum tools_fault
tools_body_message(struct mcp_json *json, enum tools_path path,
    const char *bytes, size_t len, struct tools_body *body)
{
	static struct mcp_message message;
	const struct mcp_entry *entry = &message.entries[0];
	enum mcp_json_fault json_fault;
	enum mcp_fault fault;
	size_t position;

	fault = mcp_message_parse(
	    json, bytes, len, &message, &json_fault, &position);
	if (fault == MCP_FAULT_JSON || fault == MCP_FAULT_BLANK) {
		(void)snprintf(body->detail, sizeof(body->detail),
		    "the body is no strict JSON: %s at byte %zu",
		    mcp_json_fault_text(json_fault), position);
		return TOOLS_FAULT_JSON;
	}
	if (fault != MCP_FAULT_NONE)
		return tools_body_fault(
		    body, TOOLS_FAULT_MESSAGE, mcp_message_fault_text(fault));
	if (message.batch)
		return tools_body_fault(body, TOOLS_FAULT_MESSAGE,
		    "a batch: send one request at a time");
	body->id = entry->id;
	if (path == TOOLS_PATH_MCP)
		return tools_body_mcp(entry, body);
	if (entry->kind != MCP_REQUEST)
		return tools_body_fault(
		    body, TOOLS_FAULT_MESSAGE, "run_tool needs an id");
	if (strcmp(entry->method, "run_tool") == 0)
		return tools_body_run_tool(entry->params, body);
	(void)snprintf(body->detail, sizeof(body->detail),
	    "method \"%s\" is not known here: run_tool is", entry->method);
	return TOOLS_FAULT_UNKNOWN;
}

/* --- the agent's result ------------------------------------------------- */

/* A word for the record of the run; anything else is not repeated there. */
static void
tools_body_code(struct mcp_span value, char code_r[TOOLS_BODY_CODE_MAX + 1])
{
	size_t i, len;

	if (!mcp_cursor_decode(value, code_r, TOOLS_BODY_CODE_MAX + 1, &len))
		len = 0;
	for (i = 0; i < len; i++) {
		if (!((code_r[i] >= 'a' && code_r[i] <= 'z') ||
			(code_r[i] >= '0' && code_r[i] <= '9') ||
			code_r[i] == '_'))
			break;
	}
	if (i < len || len == 0)
		(void)snprintf(
		    code_r, TOOLS_BODY_CODE_MAX + 1, "%s", "agent_failed");
}

static enum tools_fault
tools_body_result(struct mcp_json *json, const char *bytes, size_t len,
    struct tools_body *body)
{
	static const char *const good[] = {"ok", "value", NULL};
	static const char *const bad[] = {"ok", "error", "code", NULL};
	struct mcp_span whole, ok;
	size_t position;
	enum mcp_json_fault fault = mcp_json_check(json, bytes, len, &position);

	body->ask = TOOLS_ASK_RESULT;
	if (fault != MCP_JSON_OK) {
		(void)snprintf(body->detail, sizeof(body->detail),
		    "the body is no strict JSON: %s at byte %zu",
		    mcp_json_fault_text(fault), position);
		return TOOLS_FAULT_JSON;
	}
	whole = mcp_cursor_value(bytes, len);
	if (mcp_cursor_kind(whole) != MCP_VALUE_OBJECT)
		return TOOLS_FAULT_RESULT;
	ok = mcp_cursor_find(whole, "ok");
	body->ok = ok.len == 4 && memcmp(ok.bytes, "true", 4) == 0;
	body->value = mcp_cursor_find(whole, body->ok ? "value" : "error");
	if (mcp_cursor_kind(ok) != MCP_VALUE_LITERAL || ok.bytes[0] == 'n' ||
	    body->value.bytes == NULL ||
	    !tools_body_only(whole, body->ok ? good : bad))
		return TOOLS_FAULT_RESULT;
	if (body->ok)
		return TOOLS_FAULT_NONE;
	tools_body_code(mcp_cursor_find(whole, "code"), body->code);
	return mcp_cursor_kind(body->value) == MCP_VALUE_STRING
		   ? TOOLS_FAULT_NONE
		   : TOOLS_FAULT_RESULT;
}

enum tools_fault
tools_body_read(struct mcp_json *json, enum tools_path path, const char *bytes,
    size_t len, struct tools_body *body_r)
{
	memset(body_r, 0, sizeof(*body_r));
	if (path == TOOLS_PATH_RESULT)
		return tools_body_result(json, bytes, len, body_r);
	return tools_body_message(json, path, bytes, len, body_r);
}
