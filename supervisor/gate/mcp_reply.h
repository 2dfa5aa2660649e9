/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few JSON-RPC messages the gate writes itself: errors to either side
 * and a cancellation to the server. Pure.
 */
#ifndef SUPERVISOR_GATE_MCP_REPLY_H
#define SUPERVISOR_GATE_MCP_REPLY_H

#include "common/buffer.h"
#include "common/result.h"
#include "supervisor/gate/mcp_policy.h"

#define MCP_REPLY_MAX 2048U /* longest message written here */

/* {"jsonrpc":"2.0","id":ID,"error":{...}} without a line end. An absent id
 * becomes null. sentence is foreign text: it is escaped to ASCII. */
enum result mcp_reply_error(struct buffer *out, struct mcp_span id,
    enum mcp_denial denial, const char *sentence);

/* A message without the name that each of ours begins with. */
const char *mcp_reply_without_name(const char *message);

/* A whole line: notifications/cancelled for a request. */
enum result mcp_reply_cancelled(
    struct buffer *out, struct mcp_span id, const char *why);

/* text as the inside of a JSON string, ASCII only. */
enum result mcp_reply_text(struct buffer *out, const char *text);

#endif
