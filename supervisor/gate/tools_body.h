/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the body of a request to the tools port asks for, as spans of it:
 * run_tool, the methods of MCP, an agent's result. Strict as mcp_message:
 * duplicate keys, unknown members and everything two readers could see
 * differently are refused. Pure; fuzzed.
 */
#ifndef SUPERVISOR_GATE_TOOLS_BODY_H
#define SUPERVISOR_GATE_TOOLS_BODY_H

#include "supervisor/gate/mcp_policy.h"
#include "supervisor/gate/tools_request.h"

#define TOOLS_BODY_SLUG_MAX 60U
#define TOOLS_BODY_CODE_MAX 64U
#define TOOLS_BODY_DETAIL_MAX 160U
#define TOOLS_BODY_SEPARATOR "__" /* "slug__tool"; no slug has a '_' */

enum tools_ask {
	TOOLS_ASK_CALL,       /* run a tool */
	TOOLS_ASK_LIST,       /* MCP: which tools are there */
	TOOLS_ASK_INITIALIZE, /* MCP: version is the answer's */
	TOOLS_ASK_PING,       /* MCP */
	TOOLS_ASK_NOTHING,    /* MCP: a notification or an answer */
	TOOLS_ASK_CANCEL,     /* MCP: of the request in cancels */
	TOOLS_ASK_RESULT      /* the agent's result */
};

struct tools_body {
	enum tools_ask ask;
	struct mcp_span id;      /* absent: none is known */
	struct mcp_span cancels; /* CANCEL: an id */
	char slug[TOOLS_BODY_SLUG_MAX + 1];
	char tool[MCP_POLICY_TOOL_MAX + 1]; /* "": the only one */
	struct mcp_span arguments;          /* an object, or absent: {} */
	const char *version;                /* static */
	bool ok;                            /* RESULT */
	struct mcp_span value;              /* RESULT: value, or error */
	char code[TOOLS_BODY_CODE_MAX + 1]; /* RESULT: of a failure */
	char detail[TOOLS_BODY_DETAIL_MAX]; /* of a fault; "": its row's */
};

/* Line ends outside of strings become blanks, so that a body written over
 * several lines is one line; inside of strings they stay, and are refused. */
void tools_body_flatten(char *bytes, size_t len);

/* bytes are flattened. */
enum tools_fault tools_body_read(struct mcp_json *json, enum tools_path path,
    const char *bytes, size_t len, struct tools_body *body_r);

#endif
