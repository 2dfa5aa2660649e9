/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One MCP conversation as the gate sees it: takes whole lines of either
 * side, judges them, and puts what passes, byte for byte, into the buffer
 * for the other side and what it has to say itself into either. Knows no
 * descriptors and no clock (now_ms comes in), so a test can play both.
 */
#ifndef SUPERVISOR_GATE_MCP_SESSION_H
#define SUPERVISOR_GATE_MCP_SESSION_H

#include "common/buffer.h"
#include "supervisor/gate/mcp_guard.h"
#include "supervisor/gate/mcp_peek.h"
#include "supervisor/gate/mcp_pending.h"
#include "supervisor/gate/mcp_policy.h"
#include "supervisor/gate/mcp_tools.h"

/* A side is read from only while the other side's buffer is below LOW;
 * RESERVE is what the gate's own messages may add on top of a line. */
#define MCP_SESSION_LOW 65536U
#define MCP_SESSION_RESERVE (1U << 20)

struct mcp_session_counts {
	uint64_t calls;    /* requests of the client that were answered */
	uint64_t first_ms; /* when the first was; 0: none */
	uint64_t denied;   /* entries denied, either side */
	uint64_t noise;    /* server lines that are no message */
	uint64_t dropped;  /* answers and notifications dropped */
	uint64_t too_long; /* lines over the cap */
	uint64_t filtered; /* tools taken out of lists */
};

/* Longest waits for an answer to the client, ms; 0: none. */
struct mcp_session_limits {
	uint64_t request_ms, initialize_ms;
};

struct mcp_session {
	struct mcp_policy policy;
	size_t line_max;
	struct mcp_session_limits limits;
	struct mcp_json json;
	struct mcp_message message;
	struct mcp_pending asked[2]; /* requests in flight, by who asked */
	struct mcp_tools tools;
	struct buffer out[2]; /* bytes for each side */
	struct mcp_session_counts counts;
	struct mcp_guard guard; /* plan and hook are set by the owner */
	/* Set by an owner that is the client itself, or NULL: this request
	 * of its gets an error of ours. What else is an error, is the
	 * server's, whatever it says. */
	void (*refused)(
	    struct mcp_span id, enum mcp_denial denial, void *context);
	void *refused_context;
	enum result result; /* not OK: out of memory, give up */
};

enum result mcp_session_init(struct mcp_session *session,
    const struct mcp_policy *policy, size_t line_max,
    const struct mcp_session_limits *limits, const struct mcp_hash_key *key);
void mcp_session_free(struct mcp_session *session);

/* False while a line of from could overfill a buffer: do not read. */
bool mcp_session_may_take(
    const struct mcp_session *session, enum mcp_side from);

/* One line of from, LF not included. */
void mcp_session_line(struct mcp_session *session, enum mcp_side from,
    const char *bytes, size_t len, uint64_t now_ms);
/* Guard's answer to its question (mcp_guard.h): the line that waits for it
 * passes, or is refused. */
void mcp_session_guarded(struct mcp_session *session, uint64_t id,
    const char *code, const char *detail, uint64_t now_ms);
/* A line of from that was over the cap and skipped. */
void mcp_session_too_long(struct mcp_session *session, enum mcp_side from,
    const struct mcp_peek *peek, uint64_t len);

/* Answer what waited longer than the timeout. */
void mcp_session_tick(struct mcp_session *session, uint64_t now_ms);
/* Answer everything that waits; how is "", " (exit 3)", " (signal 9)". */
void mcp_session_server_ended(struct mcp_session *session, const char *how);

/* The other side. */
static inline enum mcp_side
mcp_session_other(enum mcp_side side)
{
	return side == MCP_CLIENT ? MCP_SERVER : MCP_CLIENT;
}

#endif
