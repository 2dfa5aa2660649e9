/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the top-level "id" of a JSON object without keeping it: for lines
 * that are too long to hold or that were refused, so that the request that
 * waits for them can be answered. What it says is a guess about foreign
 * bytes: it chooses whom to tell, never what passes. Pure; fuzzed.
 */
#ifndef SUPERVISOR_GATE_MCP_PEEK_H
#define SUPERVISOR_GATE_MCP_PEEK_H

#include <stdbool.h>
#include <stddef.h>

#define MCP_PEEK_ID_MAX 256U

enum mcp_peek_want {
	MCP_PEEK_KEY,
	MCP_PEEK_COLON,
	MCP_PEEK_VALUE
};

struct mcp_peek {
	enum mcp_peek_want want;
	unsigned long depth;
	bool in_string, escaped, lost; /* lost: no object, or not JSON */
	char key[8];                   /* start of the current key, raw */
	size_t key_len;
	bool is_id; /* the value under way is the id */
	char id[MCP_PEEK_ID_MAX];
	size_t id_len; /* raw token; 0: none, or too long */
	bool id_too_long;
	bool has_method; /* a request or notification, not an answer */
};

void mcp_peek_start(struct mcp_peek *peek);
void mcp_peek_feed(struct mcp_peek *peek, const char *bytes, size_t len);

#endif
