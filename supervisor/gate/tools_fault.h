/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request of an agent to the tools port is not served: one row per
 * reason with its short name (for programs and the log), the HTTP status,
 * the JSON-RPC code and a sentence. Pure data; docs/agents.md says the same.
 */
#ifndef SUPERVISOR_GATE_TOOLS_FAULT_H
#define SUPERVISOR_GATE_TOOLS_FAULT_H

enum tools_fault {
	TOOLS_FAULT_NONE = 0,
	/* the HTTP request */
	TOOLS_FAULT_HEAD,      /* no strict HTTP/1.1 */
	TOOLS_FAULT_HEAD_LONG, /* more head than fits */
	TOOLS_FAULT_VERSION,   /* HTTP/1.0, 2 */
	TOOLS_FAULT_PATH,      /* not one of the three */
	TOOLS_FAULT_METHOD,    /* not POST */
	TOOLS_FAULT_HOST,      /* not our own name: rebinding */
	TOOLS_FAULT_ORIGIN,    /* a web page of elsewhere */
	TOOLS_FAULT_MEDIA,     /* not application/json */
	TOOLS_FAULT_ACCEPT,    /* wants something else */
	TOOLS_FAULT_PROTOCOL,  /* an MCP version we do not speak */
	TOOLS_FAULT_REPEATED,  /* a field that decides, twice */
	TOOLS_FAULT_BODY,      /* broken framing */
	TOOLS_FAULT_TOO_LONG,  /* more body than fits */
	TOOLS_FAULT_SLOW,      /* not all there in time */
	TOOLS_FAULT_CROWDED,   /* too much is held already */
	/* the message in it */
	TOOLS_FAULT_JSON,       /* no strict JSON */
	TOOLS_FAULT_MESSAGE,    /* no request of JSON-RPC 2.0 */
	TOOLS_FAULT_UNKNOWN,    /* a method that is none of ours */
	TOOLS_FAULT_PARAMS,     /* parameters that are not as they must be */
	TOOLS_FAULT_RESULT,     /* no result of an agent */
	TOOLS_FAULT_GIVEN,      /* a second result */
	TOOLS_FAULT_DENIED,     /* not in the allowlist */
	TOOLS_FAULT_MANY_CALLS, /* max_tool_calls is reached */
	TOOLS_FAULT_BUSY,       /* too many at a time */
	TOOLS_FAULT_ARGUMENTS,  /* arguments too large */
	TOOLS_FAULT_FAILED,     /* the package's run said why */
	TOOLS_FAULT_ANSWER,     /* what came back is no result */
	TOOLS_FAULT_COUNT
};

struct tools_fault_row {
	const char *code; /* "tool_not_allowed" */
	unsigned status;  /* of HTTP */
	int rpc_code;
	const char *sentence; /* without a final stop */
};

const struct tools_fault_row *tools_fault_row(enum tools_fault fault);

#endif
