/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a line to entries. Called by mcp_session for every line of either
 * side; it must never accept a message whose kind, method or id another
 * reader could see differently.
 */
#include "supervisor/gate/mcp_message.h"

#include <stdint.h>
#include <string.h>

#define MCP_MESSAGE_INTEGER_MAX 9007199254740991LL /* 2^53 - 1 */

/* Members of one entry, as found. */
struct mcp_message_parts {
	struct mcp_span jsonrpc, id, method, params, result, error;
};

const char *
mcp_message_fault_text(enum mcp_fault fault)
{
	static const char *const texts[MCP_FAULT_COUNT] = {
	    [MCP_FAULT_NONE] = "valid",
	    [MCP_FAULT_BLANK] = "an empty line",
	    [MCP_FAULT_JSON] = "not strict JSON",
	    [MCP_FAULT_NOT_OBJECT] = "no JSON-RPC object",
	    [MCP_FAULT_BATCH_EMPTY] = "an empty batch",
	    [MCP_FAULT_BATCH_LONG] = "a batch of more than 64 entries",
	    [MCP_FAULT_MEMBER] = "a member JSON-RPC does not know",
	    [MCP_FAULT_VERSION] = "\"jsonrpc\" is not \"2.0\"",
	    [MCP_FAULT_ID] = "an id that is no string and no integer",
	    [MCP_FAULT_METHOD] = "a method that is no plain name",
	    [MCP_FAULT_PARAMS] = "params that are no object",
	    [MCP_FAULT_SHAPE] = "neither a request nor an answer",
	};

	return fault < MCP_FAULT_COUNT ? texts[fault] : "unknown";
}

static bool
mcp_message_integer(struct mcp_span id)
{
	size_t i = id.bytes[0] == '-' ? 1 : 0, digits = id.len - i;
	int64_t value = 0;

	if (digits == 0 || digits > 16 || (i == 1 && id.bytes[i] == '0'))
		return false;
	for (; i < id.len; i++) {
		if (id.bytes[i] < '0' || id.bytes[i] > '9')
			return false;
		value = value * 10 + (id.bytes[i] - '0');
	}
	/* Within what a double holds exactly: no two readers differ. */
	return value <= MCP_MESSAGE_INTEGER_MAX;
}

bool
mcp_message_id_shape(struct mcp_span id)
{
	char text[MCP_MESSAGE_ID_MAX + 1];
	size_t len;

	if (id.len == 0 || id.len > MCP_MESSAGE_ID_MAX)
		return false;
	if (mcp_cursor_kind(id) == MCP_VALUE_STRING)
		return mcp_cursor_decode(id, text, sizeof(text), &len);
	return mcp_cursor_kind(id) == MCP_VALUE_NUMBER &&
	       mcp_message_integer(id);
}

bool
mcp_message_id_ok(struct mcp_json *json, struct mcp_span id)
{
	size_t position;

	return id.len > 0 && id.len <= MCP_MESSAGE_ID_MAX &&
	       mcp_json_check(json, id.bytes, id.len, &position) ==
		   MCP_JSON_OK &&
	       mcp_message_id_shape(id);
}

static bool
mcp_message_method_ok(struct mcp_span value, char *method_r)
{
	size_t i, len;

	if (!mcp_cursor_decode(value, method_r, MCP_METHOD_MAX + 1, &len) ||
	    len == 0)
		return false;
	for (i = 0; i < len; i++) {
		if (method_r[i] <= 0x20 || method_r[i] > 0x7e)
			return false;
	}
	return true;
}

static enum mcp_fault
mcp_message_collect(struct mcp_span object, struct mcp_message_parts *parts_r)
{
	const struct {
		const char *name;
		struct mcp_span *to;
	} rows[] = {
	    {"jsonrpc", &parts_r->jsonrpc},
	    {"id", &parts_r->id},
	    {"method", &parts_r->method},
	    {"params", &parts_r->params},
	    {"result", &parts_r->result},
	    {"error", &parts_r->error},
	};
	struct mcp_cursor cursor;
	struct mcp_span key, value;
	size_t i;

	memset(parts_r, 0, sizeof(*parts_r));
	if (!mcp_cursor_enter(object, &cursor))
		return MCP_FAULT_SHAPE;
	while (mcp_cursor_member(&cursor, &key, &value)) {
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			if (mcp_cursor_is(key, rows[i].name))
				break;
		}
		if (i == sizeof(rows) / sizeof(rows[0]))
			return MCP_FAULT_MEMBER;
		*rows[i].to = value;
	}
	return MCP_FAULT_NONE;
}

static enum mcp_fault
mcp_message_call(
    const struct mcp_message_parts *parts, struct mcp_entry *entry_r)
{
	enum mcp_value params = mcp_cursor_kind(parts->params);

	if (parts->result.bytes != NULL || parts->error.bytes != NULL)
		return MCP_FAULT_SHAPE;
	if (!mcp_message_method_ok(parts->method, entry_r->method))
		return MCP_FAULT_METHOD;
	if (params != MCP_VALUE_NONE && params != MCP_VALUE_OBJECT &&
	    !(params == MCP_VALUE_LITERAL && parts->params.len > 0 &&
		parts->params.bytes[0] == 'n'))
		return MCP_FAULT_PARAMS;
	entry_r->kind =
	    parts->id.bytes == NULL ? MCP_NOTIFICATION : MCP_REQUEST;
	return MCP_FAULT_NONE;
}

static enum mcp_fault
mcp_message_answer(
    const struct mcp_message_parts *parts, struct mcp_entry *entry_r)
{
	bool result = parts->result.bytes != NULL;
	bool error = parts->error.bytes != NULL;

	if (parts->params.bytes != NULL || result == error)
		return MCP_FAULT_SHAPE;
	if (error && mcp_cursor_kind(parts->error) != MCP_VALUE_OBJECT)
		return MCP_FAULT_SHAPE;
	if (parts->id.bytes == NULL)
		return MCP_FAULT_ID;
	entry_r->kind = result ? MCP_RESULT : MCP_ERROR;
	entry_r->outcome = result ? parts->result : parts->error;
	return MCP_FAULT_NONE;
}

static enum mcp_fault
mcp_message_entry(struct mcp_span object, struct mcp_entry *entry_r)
{
	struct mcp_message_parts parts;
	enum mcp_fault fault;

	memset(entry_r, 0, sizeof(*entry_r));
	if (mcp_cursor_kind(object) != MCP_VALUE_OBJECT)
		return MCP_FAULT_NOT_OBJECT;
	entry_r->whole = object;
	fault = mcp_message_collect(object, &parts);
	if (fault != MCP_FAULT_NONE)
		return fault;
	if (!mcp_cursor_is(parts.jsonrpc, "2.0"))
		return MCP_FAULT_VERSION;
	if (parts.id.bytes != NULL && !mcp_message_id_shape(parts.id))
		return MCP_FAULT_ID;
	entry_r->id = parts.id;
	entry_r->params = parts.params;
	if (parts.method.bytes != NULL)
		return mcp_message_call(&parts, entry_r);
	return mcp_message_answer(&parts, entry_r);
}

static enum mcp_fault
mcp_message_batch(struct mcp_span array, struct mcp_message *message_r)
{
	struct mcp_cursor cursor;
	struct mcp_span item;
	enum mcp_fault fault;

	message_r->batch = true;
	if (!mcp_cursor_enter(array, &cursor))
		return MCP_FAULT_BATCH_EMPTY;
	while (mcp_cursor_item(&cursor, &item)) {
		if (message_r->count == MCP_MESSAGE_BATCH_MAX)
			return MCP_FAULT_BATCH_LONG;
		fault = mcp_message_entry(
		    item, &message_r->entries[message_r->count]);
		if (fault != MCP_FAULT_NONE)
			return fault;
		message_r->count++;
	}
	return MCP_FAULT_NONE;
}

enum mcp_fault
mcp_message_parse(struct mcp_json *json, const char *bytes, size_t len,
    struct mcp_message *message_r, enum mcp_json_fault *json_r,
    size_t *position_r)
{
	struct mcp_span value;
	enum mcp_fault fault;

	message_r->batch = false;
	message_r->count = 0;
	/* The one CR a line may have is the writer's line end. */
	if (len > 0 && bytes[len - 1] == '\r')
		len--;
	*json_r = mcp_json_check(json, bytes, len, position_r);
	if (*json_r == MCP_JSON_EMPTY)
		return MCP_FAULT_BLANK;
	if (*json_r != MCP_JSON_OK)
		return MCP_FAULT_JSON;
	value = mcp_cursor_value(bytes, len);
	if (mcp_cursor_kind(value) == MCP_VALUE_ARRAY)
		return mcp_message_batch(value, message_r);
	fault = mcp_message_entry(value, &message_r->entries[0]);
	message_r->count = fault == MCP_FAULT_NONE ? 1 : 0;
	return fault;
}
