/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of the tools port, HTTP head and JSON body, into the buffer
 * of a connection. What a package said goes in as it came (it was checked);
 * every other foreign byte is escaped. Pure.
 */
#ifndef SUPERVISOR_GATE_TOOLS_ANSWER_H
#define SUPERVISOR_GATE_TOOLS_ANSWER_H

#include "common/buffer.h"
#include "supervisor/gate/tools_listing.h"

#define TOOLS_ANSWER_RESERVE 8192U /* of ours around a package's bytes */
#define TOOLS_ANSWER_MODE "sandbox"

/* Whom it is for. */
struct tools_answer {
	struct buffer *out;
	enum tools_path path;
	struct mcp_span id; /* absent: null */
	bool keep;          /* the connection goes on */
	uint64_t session;   /* said in the head; 0: none */
};

/* Why not. code NULL: the fault's own; detail NULL or "": its sentence. */
enum result tools_answer_fault(const struct tools_answer *answer,
    enum tools_fault fault, const char *code, const char *detail);

/* What a tool returned: the result of MCP's tools/call, an object. On the
 * path of MCP as it is; for run_tool {success, result, error, mode_used}. */
enum result tools_answer_call(
    const struct tools_answer *answer, struct mcp_span result);
/* The form of that object allows it to be a result at all. */
bool tools_answer_is_call(struct mcp_span result);

enum result tools_answer_list(const struct tools_answer *answer,
    const struct tools_listing *listings, size_t count);
enum result tools_answer_initialize(
    const struct tools_answer *answer, const char *version);
enum result tools_answer_ping(const struct tools_answer *answer);
/* A notification: 202 and nothing else. */
enum result tools_answer_nothing(const struct tools_answer *answer);
/* The agent's result was taken. */
enum result tools_answer_taken(const struct tools_answer *answer);

#endif
