/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of one side that wait for an answer: an answer passes only when
 * its id is here, and takes it away, so that nobody answers twice or
 * unasked. Pure, bounded.
 */
#ifndef SUPERVISOR_GATE_MCP_PENDING_H
#define SUPERVISOR_GATE_MCP_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/gate/mcp_message.h"

#define MCP_PENDING_MAX 512U
#define MCP_PENDING_TOOL_MAX 128U

struct mcp_pending_row {
	bool used;
	bool cancelled;  /* the sender no longer waits */
	bool first_page; /* tools/list without a cursor */
	enum mcp_rule rule;
	uint64_t id_hash;
	uint64_t cursor_hash; /* tools/list: which page */
	uint64_t since_ms;
	uint64_t limit_ms; /* longest wait for the answer; 0: none */
	uint64_t bytes;    /* size of the request */
	uint64_t ask;      /* the question to Guard about it; 0: none */
	size_t id_len;
	char id[MCP_MESSAGE_ID_MAX]; /* token as sent */
	char method[MCP_METHOD_MAX + 1];
	char tool[MCP_PENDING_TOOL_MAX + 1]; /* tools/call, else empty */
};

struct mcp_pending {
	struct mcp_hash_key key;
	struct mcp_pending_row *rows; /* owned, MCP_PENDING_MAX */
	size_t used;                  /* rows in use */
	size_t high;                  /* rows ever in use lie below */
};

enum result mcp_pending_init(
    struct mcp_pending *pending, const struct mcp_hash_key *key);
void mcp_pending_free(struct mcp_pending *pending);

/* The row of an id (strings compared unescaped), or NULL. Borrowed. */
struct mcp_pending_row *mcp_pending_find(
    struct mcp_pending *pending, struct mcp_span id);
/* Add; RESULT_EXISTS for an id in flight, RESULT_TOO_LONG when full (a
 * cancelled row makes room first). row_r is borrowed, to be completed. */
enum result mcp_pending_add(struct mcp_pending *pending, struct mcp_span id,
    struct mcp_pending_row **row_r);
void mcp_pending_remove(
    struct mcp_pending *pending, struct mcp_pending_row *row);
/* Room for count more. */
bool mcp_pending_has_room(const struct mcp_pending *pending, size_t count);
/* Walk: the first used row at or after *index, which is moved behind it. */
struct mcp_pending_row *mcp_pending_next(
    struct mcp_pending *pending, size_t *index);

/* Two ids that an answer could not be told apart by. */
bool mcp_pending_same_id(struct mcp_span a, struct mcp_span b);

/* Eight hex digits that stand for an id in the log. */
void mcp_pending_id_text(const struct mcp_pending_row *row, char text_r[9]);

#endif
