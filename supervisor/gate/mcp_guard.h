/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard in the gate: a line of the client that calls tools is judged by the
 * plan and its arguments looked at; then it is kept, one line at a time,
 * until the supervisor has taken its rate or put its denial on record. Used
 * by mcp_session. Knows no descriptors: what is to be asked goes to a hook.
 */
#ifndef SUPERVISOR_GATE_MCP_GUARD_H
#define SUPERVISOR_GATE_MCP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"
#include "supervisor/gate/mcp_message.h"
#include "supervisor/gate/mcp_policy.h"
#include "supervisor/policy/guard_plan.h"

#define MCP_GUARD_DETAIL_MAX 512U

/* What the supervisor is asked, once per line. Texts are borrowed. */
struct mcp_guard_ask {
	uint64_t id;
	const char *tool; /* the first that counts; printable ASCII */
	const char *code; /* "": they may be made */
	const char *actions, *detail;
	unsigned count; /* calls */
};

struct mcp_guard {
	const struct guard_plan *plan; /* borrowed; NULL: no Guard */
	/* False: it could not be asked, and the line is refused. */
	bool (*ask)(const struct mcp_guard_ask *ask, void *context);
	void *context;
	bool waits;
	uint64_t last_id;
	uint64_t passing;   /* the question whose line is passed on now, or 0 */
	struct buffer line; /* kept while it waits */
	char id[MCP_MESSAGE_ID_MAX]; /* of its one request; id_len 0: none */
	size_t id_len;
	bool dropped; /* its sender took it back */
	/* Why not, while a refusal is said. */
	enum mcp_denial denial;
	char detail[MCP_GUARD_DETAIL_MAX];
};

void mcp_guard_init(struct mcp_guard *guard, size_t line_max);
void mcp_guard_free(struct mcp_guard *guard);

/* Tools are called by this message, and Guard is on. */
bool mcp_guard_concerns(
    const struct mcp_guard *guard, const struct mcp_message *message);

/* Judge, keep and ask. RESULT_OK: it waits. RESULT_REFUSED: it could not be
 * asked; denial and detail say so. */
enum result mcp_guard_hold(struct mcp_guard *guard,
    const struct mcp_message *message, const char *bytes, size_t len);

/* The answer: false when it is none to this question. code "" lets the line
 * go; else denial and detail are set. Take the line out, then. */
bool mcp_guard_answered(
    struct mcp_guard *guard, uint64_t id, const char *code, const char *detail);

/* MCP_DENIED_GUARD and those behind it say what detail holds. */
bool mcp_guard_explains(enum mcp_denial denial);

#endif
