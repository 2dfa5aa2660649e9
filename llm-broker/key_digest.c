/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One digest at a time, with a context that is made once: a stream that
 * begins a thousand keys must not cost a thousand allocations. Must never
 * keep a text.
 */
#include "llm-broker/key_digest.h"

#include <openssl/evp.h>

/* The only state: libcrypto's own objects, made once. */
static EVP_MD *key_digest_method;
static EVP_MD_CTX *key_digest_context;

enum result
key_digest_prepare(void)
{
	if (key_digest_method == NULL)
		key_digest_method = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (key_digest_context == NULL)
		key_digest_context = EVP_MD_CTX_new();
	return key_digest_method != NULL && key_digest_context != NULL
		   ? RESULT_OK
		   : RESULT_UNSUPPORTED;
}

enum result
key_digest_make(const uint8_t salt[KEY_DIGEST_SALT], const void *text,
    size_t len, uint8_t digest_r[KEY_DIGEST_LEN])
{
	if (key_digest_prepare() != RESULT_OK ||
	    EVP_DigestInit_ex2(key_digest_context, key_digest_method, NULL) !=
		1 ||
	    EVP_DigestUpdate(key_digest_context, salt, KEY_DIGEST_SALT) != 1 ||
	    EVP_DigestUpdate(key_digest_context, text, len) != 1 ||
	    EVP_DigestFinal_ex(key_digest_context, digest_r, NULL) != 1)
		return RESULT_INTERNAL;
	return RESULT_OK;
}
