/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests; see tree_digest.h. Called by tree_hash.c, tree_check.c and the
 * hash_file job. The only file of unpack that touches libcrypto.
 */
#include "supervisor/unpack/tree_digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct tree_digest {
	EVP_MD_CTX *context;
};

static EVP_MD *tree_digest_sha256, *tree_digest_sha512;

enum result
tree_digest_load(void)
{
	if (tree_digest_sha256 == NULL)
		tree_digest_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (tree_digest_sha512 == NULL)
		tree_digest_sha512 = EVP_MD_fetch(NULL, "SHA512", NULL);
	return tree_digest_sha256 != NULL && tree_digest_sha512 != NULL
		   ? RESULT_OK
		   : RESULT_UNSUPPORTED;
}

enum result
tree_digest_new(struct tree_digest **digest_r)
{
	struct tree_digest *digest = calloc(1, sizeof(*digest));

	if (digest == NULL)
		return RESULT_NO_MEMORY;
	digest->context = EVP_MD_CTX_new();
	if (digest->context == NULL) {
		free(digest);
		return RESULT_NO_MEMORY;
	}
	*digest_r = digest;
	return RESULT_OK;
}

void
tree_digest_free(struct tree_digest **digest)
{
	if (*digest == NULL)
		return;
	EVP_MD_CTX_free((*digest)->context);
	free(*digest);
	*digest = NULL;
}

enum result
tree_digest_start(struct tree_digest *digest, size_t length)
{
	const EVP_MD *kind = length == TREE_DIGEST_SHA256 ? tree_digest_sha256
							  : tree_digest_sha512;

	return EVP_DigestInit_ex2(digest->context, kind, NULL) == 1
		   ? RESULT_OK
		   : RESULT_INTERNAL;
}

enum result
tree_digest_put(struct tree_digest *digest, const void *bytes, size_t len)
{
	return EVP_DigestUpdate(digest->context, bytes, len) == 1
		   ? RESULT_OK
		   : RESULT_INTERNAL;
}

enum result
tree_digest_end(struct tree_digest *digest, uint8_t *sum_r)
{
	return EVP_DigestFinal_ex(digest->context, sum_r, NULL) == 1
		   ? RESULT_OK
		   : RESULT_INTERNAL;
}

void
tree_digest_hex(const uint8_t *sum, size_t len, char *text_r)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		text_r[2 * i] = digits[sum[i] >> 4];
		text_r[2 * i + 1] = digits[sum[i] & 15];
	}
	text_r[2 * len] = '\0';
}
