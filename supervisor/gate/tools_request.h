/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of one request to the tools port: which of the three paths, and
 * whether it may come here at all. Host and Origin are looked at so that a
 * browser inside the sandbox that was led here by a web page is turned
 * away. Pure; fuzzed with tools_body.
 */
#ifndef SUPERVISOR_GATE_TOOLS_REQUEST_H
#define SUPERVISOR_GATE_TOOLS_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/http_body.h"
#include "common/http_head.h"
#include "supervisor/gate/tools_fault.h"

#define TOOLS_REQUEST_SESSION "Mcp-Session-Id"

enum tools_path {
	TOOLS_PATH_RPC,    /* POST /agentnode/rpc */
	TOOLS_PATH_RESULT, /* POST /agentnode/result */
	TOOLS_PATH_MCP     /* POST /mcp */
};

struct tools_request {
	enum tools_path path; /* the likeliest one when there is a fault */
	bool keep;            /* the connection may go on */
	bool expects;         /* 100 Continue is waited for */
	uint64_t session;     /* MCP: whose request; 0: says none of ours */
	struct http_body body;
};

const char *tools_request_path_text(enum tools_path path);

/* What http_head's parser says, as one of ours. */
enum tools_fault tools_request_head_fault(enum http_head_status status);

/* Judge a head that was parsed; port is the listener's. */
enum tools_fault tools_request_judge(const struct http_head *head,
    uint16_t port, struct tools_request *request_r);

#endif
