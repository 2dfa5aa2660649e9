/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line as JSON-RPC 2.0: requests, notifications and answers, alone or
 * in a batch, as spans of the caller's bytes. Strict: only the six members
 * JSON-RPC knows, exact version, an id that is a string or a plain integer,
 * params that are an object. Nothing is re-serialised. Pure; fuzzed.
 */
#ifndef SUPERVISOR_GATE_MCP_MESSAGE_H
#define SUPERVISOR_GATE_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/gate/mcp_cursor.h"
#include "supervisor/gate/mcp_json.h"
#include "supervisor/gate/mcp_method.h"

#define MCP_MESSAGE_BATCH_MAX 64U
#define MCP_MESSAGE_ID_MAX 256U /* bytes of the token as sent */

enum mcp_kind {
	MCP_REQUEST,
	MCP_NOTIFICATION,
	MCP_RESULT,
	MCP_ERROR
};

struct mcp_entry {
	enum mcp_kind kind;
	struct mcp_span whole;
	struct mcp_span id;              /* absent for notifications */
	char method[MCP_METHOD_MAX + 1]; /* requests, notifications */
	struct mcp_span params;          /* absent, object or null */
	struct mcp_span outcome;         /* result or error */
};

struct mcp_message {
	bool batch;
	size_t count;
	struct mcp_entry entries[MCP_MESSAGE_BATCH_MAX];
};

enum mcp_fault {
	MCP_FAULT_NONE = 0,
	MCP_FAULT_BLANK,      /* an empty line: ignored */
	MCP_FAULT_JSON,       /* see json_r */
	MCP_FAULT_NOT_OBJECT, /* JSON, but neither object nor batch */
	MCP_FAULT_BATCH_EMPTY,
	MCP_FAULT_BATCH_LONG, /* more than MCP_MESSAGE_BATCH_MAX */
	MCP_FAULT_MEMBER,     /* a member JSON-RPC does not know */
	MCP_FAULT_VERSION,    /* "jsonrpc" is not "2.0" */
	MCP_FAULT_ID,         /* null, fraction, exponent, too long */
	MCP_FAULT_METHOD,     /* not a string, too long, odd bytes */
	MCP_FAULT_PARAMS,     /* neither object nor null */
	MCP_FAULT_SHAPE,      /* neither request nor answer, or both */
	MCP_FAULT_COUNT
};

/* Parse; json_r and position_r say more about MCP_FAULT_JSON. */
enum mcp_fault mcp_message_parse(struct mcp_json *json, const char *bytes,
    size_t len, struct mcp_message *message_r, enum mcp_json_fault *json_r,
    size_t *position_r);

const char *mcp_message_fault_text(enum mcp_fault fault);

/* True for a token that may be an id: of bytes that were checked, and of
 * bytes that were not. */
bool mcp_message_id_shape(struct mcp_span id);
bool mcp_message_id_ok(struct mcp_json *json, struct mcp_span id);

#endif
