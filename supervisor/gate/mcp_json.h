/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict check of one line of JSON (RFC 8259) that is passed on byte for
 * byte: what two readers could understand differently is refused, because
 * the gate judges what the other side will read. Refused besides bad
 * grammar: invalid UTF-8, a raw CR inside the line (readers that split
 * lines at CR would see another message), duplicate keys in one object at
 * any depth (compared after unescaping), a key holding NUL or half a
 * surrogate pair, and anything past the bounds. Pure; fuzzed.
 */
#ifndef SUPERVISOR_GATE_MCP_JSON_H
#define SUPERVISOR_GATE_MCP_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/gate/mcp_hash.h"

#define MCP_JSON_DEPTH_MAX 128U
#define MCP_JSON_KEYS_MAX (1U << 19) /* all keys of one line */

enum mcp_json_fault {
	MCP_JSON_OK = 0,
	MCP_JSON_EMPTY,     /* nothing but blanks */
	MCP_JSON_SYNTAX,    /* not JSON */
	MCP_JSON_CONTROL,   /* raw control byte, CR among them */
	MCP_JSON_UTF8,      /* invalid UTF-8 in a string */
	MCP_JSON_ESCAPE,    /* unknown or cut escape */
	MCP_JSON_BAD_KEY,   /* NUL or lone surrogate in a key */
	MCP_JSON_DUPLICATE, /* the same key twice in one object */
	MCP_JSON_DEEP,      /* nested deeper than MCP_JSON_DEPTH_MAX */
	MCP_JSON_MANY_KEYS, /* more than MCP_JSON_KEYS_MAX */
	MCP_JSON_NO_MEMORY,
	MCP_JSON_FAULT_COUNT
};

/* The set of keys seen; kept between lines so that memory is reused. */
struct mcp_json {
	struct mcp_hash_key key;
	uint64_t *slots; /* owned; 0 = free */
	size_t size;     /* power of two or 0 */
	size_t used;
};

void mcp_json_init(struct mcp_json *json, const struct mcp_hash_key *key);
void mcp_json_free(struct mcp_json *json);

/* Exactly one value with blanks around it. On a fault position_r is the
 * byte where it was seen. */
enum mcp_json_fault mcp_json_check(
    struct mcp_json *json, const char *bytes, size_t len, size_t *position_r);

/* A phrase for messages: "duplicate key". */
const char *mcp_json_fault_text(enum mcp_json_fault fault);

/* Bytes of the UTF-8 sequence at p (1..4), 0 when it is not valid (over
 * long, surrogate, above U+10FFFF, cut). */
size_t mcp_json_utf8(const unsigned char *p, const unsigned char *end);
/* Value of four hex digits, -1 when they are not. */
int mcp_json_hex4(const char *p, const char *end);

#endif
