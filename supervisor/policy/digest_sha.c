/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 over libnettle, which needs no start and no memory. Called by
 * digest.c and whoever has bytes, some with a key before them: must never
 * leave what it worked on in memory.
 */
#include <nettle/sha2.h>

#include "common/secret.h"
#include "supervisor/policy/digest.h"

enum result
digest_sha256(const void *bytes, size_t len, char hex_r[DIGEST_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t raw[SHA256_DIGEST_SIZE];
	struct sha256_ctx state;

	_Static_assert(2 * sizeof(raw) == DIGEST_HEX, "SHA-256");
	sha256_init(&state);
	sha256_update(&state, len, bytes);
	sha256_digest(&state, sizeof(raw), raw);
	for (size_t i = 0; i < sizeof(raw); i++) {
		hex_r[2 * i] = digits[raw[i] >> 4];
		hex_r[2 * i + 1] = digits[raw[i] & 15];
	}
	hex_r[DIGEST_HEX] = '\0';
	secret_wipe(&state, sizeof(state));
	secret_wipe(raw, sizeof(raw));
	return RESULT_OK;
}
