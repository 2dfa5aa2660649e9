/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 over libcrypto. Called by digest.c and whoever has bytes; apart,
 * so that a program without that library can be linked.
 */
#include <openssl/evp.h>
#include <string.h>

#include "supervisor/policy/digest.h"

static EVP_MD *digest_sha_implementation; /* libcrypto's, fetched once */

enum result
digest_sha256(const void *bytes, size_t len, char hex_r[DIGEST_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned size = 0, i;

	memset(hex_r, 0, DIGEST_HEX + 1);
	if (digest_sha_implementation == NULL)
		digest_sha_implementation = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (digest_sha_implementation == NULL ||
	    EVP_Digest(
		bytes, len, raw, &size, digest_sha_implementation, NULL) != 1 ||
	    size != DIGEST_HEX / 2)
		return RESULT_UNSUPPORTED;
	for (i = 0; i < size; i++) {
		hex_r[2 * i] = digits[raw[i] >> 4];
		hex_r[2 * i + 1] = digits[raw[i] & 15];
	}
	return RESULT_OK;
}
