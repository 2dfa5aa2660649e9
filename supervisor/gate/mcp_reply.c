/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of our own. Called by mcp_session and the tool listing; it must
 * never put a foreign byte out unescaped, except an id that was checked.
 */
#include "supervisor/gate/mcp_reply.h"

#include <string.h>

#define MCP_REPLY_NAME "agentnode: " /* each message of ours begins so */

/* Everything but plain ASCII becomes an escape; the sentences come from
 * us and quote at most names of printable ASCII, so bytes will do. */
enum result
mcp_reply_text(struct buffer *out, const char *text)
{
	enum result result = RESULT_OK;

	for (; *text != '\0' && result == RESULT_OK; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			result = buffer_printf(out, "\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			result = buffer_printf(out, "\\u%04x", c);
		else
			result = buffer_append(out, &c, 1);
	}
	return result;
}

static enum result
mcp_reply_id(struct buffer *out, struct mcp_span id)
{
	if (id.bytes == NULL)
		return buffer_append_text(out, "null");
	return buffer_append(out, id.bytes, id.len);
}

enum result
mcp_reply_error(struct buffer *out, struct mcp_span id, enum mcp_denial denial,
    const char *sentence)
{
	enum result result;

	result = buffer_append_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (result == RESULT_OK)
		result = mcp_reply_id(out, id);
	if (result == RESULT_OK)
		result = buffer_printf(out,
		    ",\"error\":{\"code\":%d,\"message\":\"" MCP_REPLY_NAME,
		    mcp_policy_rpc_code(denial));
	if (result == RESULT_OK)
		result = mcp_reply_text(out, sentence);
	if (result == RESULT_OK)
		result = buffer_printf(out, "\",\"data\":{\"reason\":\"%s\"}}}",
		    mcp_policy_reason(denial));
	return result;
}

const char *
mcp_reply_without_name(const char *message)
{
	size_t len = strlen(MCP_REPLY_NAME);

	return strncmp(message, MCP_REPLY_NAME, len) == 0 ? message + len
							  : message;
}

enum result
mcp_reply_cancelled(struct buffer *out, struct mcp_span id, const char *why)
{
	enum result result;

	result = buffer_append_text(out,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":");
	if (result == RESULT_OK)
		result = mcp_reply_id(out, id);
	if (result == RESULT_OK)
		result = buffer_append_text(out, ",\"reason\":\"");
	if (result == RESULT_OK)
		result = mcp_reply_text(out, why);
	if (result == RESULT_OK)
		result = buffer_append_text(out, "\"}}\n");
	return result;
}
