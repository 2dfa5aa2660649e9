/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012), incremental. Called by the
 * JSON checker and the tool list filter; it must never be used where the
 * hash leaves the process.
 */
#include "supervisor/gate/mcp_hash.h"

static uint64_t
mcp_hash_rotate(uint64_t value, unsigned bits)
{
	return (value << bits) | (value >> (64U - bits));
}

static void
mcp_hash_round(struct mcp_hash *h)
{
	h->v0 += h->v1;
	h->v1 = mcp_hash_rotate(h->v1, 13) ^ h->v0;
	h->v0 = mcp_hash_rotate(h->v0, 32);
	h->v2 += h->v3;
	h->v3 = mcp_hash_rotate(h->v3, 16) ^ h->v2;
	h->v0 += h->v3;
	h->v3 = mcp_hash_rotate(h->v3, 21) ^ h->v0;
	h->v2 += h->v1;
	h->v1 = mcp_hash_rotate(h->v1, 17) ^ h->v2;
	h->v2 = mcp_hash_rotate(h->v2, 32);
}

static void
mcp_hash_word(struct mcp_hash *hash, uint64_t word)
{
	hash->v3 ^= word;
	mcp_hash_round(hash);
	mcp_hash_round(hash);
	hash->v0 ^= word;
}

void
mcp_hash_start(struct mcp_hash *hash, const struct mcp_hash_key *key)
{
	hash->v0 = key->k0 ^ 0x736f6d6570736575ULL;
	hash->v1 = key->k1 ^ 0x646f72616e646f6dULL;
	hash->v2 = key->k0 ^ 0x6c7967656e657261ULL;
	hash->v3 = key->k1 ^ 0x7465646279746573ULL;
	hash->word = 0;
	hash->count = 0;
}

void
mcp_hash_byte(struct mcp_hash *hash, uint8_t byte)
{
	hash->word |= (uint64_t)byte << (8U * (hash->count & 7U));
	hash->count++;
	if ((hash->count & 7U) == 0) {
		mcp_hash_word(hash, hash->word);
		hash->word = 0;
	}
}

void
mcp_hash_bytes(struct mcp_hash *hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		mcp_hash_byte(hash, p[i]);
}

uint64_t
mcp_hash_end(struct mcp_hash *hash)
{
	int i;

	mcp_hash_word(hash, hash->word | (hash->count << 56));
	hash->v2 ^= 0xff;
	for (i = 0; i < 4; i++)
		mcp_hash_round(hash);
	return hash->v0 ^ hash->v1 ^ hash->v2 ^ hash->v3;
}

uint64_t
mcp_hash_of(const struct mcp_hash_key *key, const void *bytes, size_t len)
{
	struct mcp_hash hash;

	mcp_hash_start(&hash, key);
	mcp_hash_bytes(&hash, bytes, len);
	return mcp_hash_end(&hash);
}
