/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 fed byte by byte, with a key of the process: names that a
 * hostile server chooses (JSON keys, tool names) are told apart by it, and
 * nobody outside can prepare a collision. Pure. Used by the gate only.
 */
#ifndef SUPERVISOR_GATE_MCP_HASH_H
#define SUPERVISOR_GATE_MCP_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 128 random bits, drawn once before confinement. */
struct mcp_hash_key {
	uint64_t k0, k1;
};

struct mcp_hash {
	uint64_t v0, v1, v2, v3;
	uint64_t word;  /* bytes of the unfinished 8-byte word */
	uint64_t count; /* bytes fed so far */
};

void mcp_hash_start(struct mcp_hash *hash, const struct mcp_hash_key *key);
void mcp_hash_byte(struct mcp_hash *hash, uint8_t byte);
void mcp_hash_bytes(struct mcp_hash *hash, const void *bytes, size_t len);
uint64_t mcp_hash_end(struct mcp_hash *hash);

/* All of it in one call. */
uint64_t mcp_hash_of(
    const struct mcp_hash_key *key, const void *bytes, size_t len);

#endif
