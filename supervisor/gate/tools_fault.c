/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of reasons. Read by tools_answer and tools_port; it must never
 * get a row for "something else".
 */
#include "supervisor/gate/tools_fault.h"

static const struct tools_fault_row tools_fault_rows[TOOLS_FAULT_COUNT] = {
    [TOOLS_FAULT_NONE] = {"", 200, 0, ""},
    [TOOLS_FAULT_HEAD] = {"bad_request", 400, -32700,
	"the head is no strict HTTP/1.1"},
    [TOOLS_FAULT_HEAD_LONG] = {"bad_request", 431, -32700,
	"the head is longer than 16384 bytes or has more than 64 fields"},
    [TOOLS_FAULT_VERSION] = {"bad_request", 505, -32700,
	"only HTTP/1.1 is spoken here"},
    [TOOLS_FAULT_PATH] = {"path_not_allowed", 404, -32601,
	"the paths here are /agentnode/rpc, /agentnode/result and /mcp"},
    [TOOLS_FAULT_METHOD] = {"method_not_allowed", 405, -32601,
	"only POST is served here"},
    [TOOLS_FAULT_HOST] = {"host_not_allowed", 403, -32600,
	"Host must be 127.0.0.1 or localhost, with the port of this listener"},
    [TOOLS_FAULT_ORIGIN] = {"origin_not_allowed", 403, -32600,
	"a page of another origin may not use the tools"},
    [TOOLS_FAULT_MEDIA] = {"bad_request", 415, -32600,
	"Content-Type must be application/json"},
    [TOOLS_FAULT_ACCEPT] = {"bad_request", 406, -32600,
	"Accept leaves no application/json"},
    [TOOLS_FAULT_PROTOCOL] = {"bad_request", 400, -32600,
	"MCP-Protocol-Version must be 2025-03-26, 2025-06-18 or 2025-11-25"},
    [TOOLS_FAULT_REPEATED] = {"bad_request", 400, -32600,
	"Origin, Content-Type, Content-Encoding, MCP-Protocol-Version and "
	"Mcp-Session-Id may each be there once"},
    [TOOLS_FAULT_BODY] = {"bad_request", 400, -32700,
	"the body needs a Content-Length or well-formed chunks"},
    [TOOLS_FAULT_TOO_LONG] = {"too_long", 413, -32600,
	"the body is longer than this path takes"},
    [TOOLS_FAULT_SLOW] = {"request_timeout", 408, -32600,
	"the request did not arrive in time"},
    [TOOLS_FAULT_CROWDED] = {"too_many_requests", 503, -32000,
	"too many requests are held here; wait for some of them"},
    [TOOLS_FAULT_JSON] = {"bad_request", 400, -32700,
	"the body is no strict JSON"},
    [TOOLS_FAULT_MESSAGE] = {"bad_request", 400, -32600,
	"the body is no single request of JSON-RPC 2.0"},
    [TOOLS_FAULT_UNKNOWN] = {"method_not_allowed", 200, -32601,
	"this method is not known here"},
    [TOOLS_FAULT_PARAMS] = {"bad_request", 200, -32602, "bad params"},
    [TOOLS_FAULT_RESULT] = {"bad_request", 400, -32600,
	"a result is {\"ok\":true,\"value\":...} or "
	"{\"ok\":false,\"error\":TEXT,\"code\":WORD}"},
    [TOOLS_FAULT_GIVEN] = {"result_given", 409, -32600,
	"the result was given already"},
    [TOOLS_FAULT_DENIED] = {"tool_not_allowed", 200, -32602,
	"this tool is not in the agent's allowlist "
	"(tool_access.allowed_packages of its manifest)"},
    [TOOLS_FAULT_MANY_CALLS] = {"too_many_tool_calls", 200, -32000,
	"the run has used up its tool calls (limits.max_tool_calls of its "
	"manifest)"},
    [TOOLS_FAULT_BUSY] = {"too_many_requests", 200, -32000,
	"too many tool calls run at a time; wait for one of them"},
    [TOOLS_FAULT_ARGUMENTS] = {"too_long", 200, -32602,
	"the arguments are too large"},
    [TOOLS_FAULT_FAILED] = {"tool_failed", 200, -32000, "the tool failed"},
    [TOOLS_FAULT_ANSWER] = {"tool_failed", 200, -32603,
	"the package's answer is no result of a tool"},
};

const struct tools_fault_row *
tools_fault_row(enum tools_fault fault)
{
	return &tools_fault_rows[fault];
}
