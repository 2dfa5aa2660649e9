/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs and verifies; see ed25519.h. Called by trust.c, registry.c and the
 * signing commands. It must never verify without the domain in front.
 */
#include "supervisor/policy/ed25519.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define ED25519_HEAP 16384U

static const char *const ed25519_domains[ED25519_DOMAIN_COUNT] = {
    [ED25519_ATTESTATION] = "agentnode attestation v1",
    [ED25519_ARTIFACT] = "agentnode artifact v1",
    [ED25519_INDEX] = "agentnode index v1",
};

const char *
ed25519_domain_name(enum ed25519_domain domain)
{
	return ed25519_domains[domain];
}

static int
ed25519_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
ed25519_unhex(const char *text, uint8_t *bytes_r, size_t len)
{
	if (strnlen(text, 2 * len + 1) != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = ed25519_digit(text[2 * i]);
		int low = ed25519_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes_r[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static void
ed25519_hex(const uint8_t *bytes, size_t len, char *text_r)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		text_r[2 * i] = digits[bytes[i] >> 4];
		text_r[2 * i + 1] = digits[bytes[i] & 15];
	}
	text_r[2 * len] = '\0';
}

/* Domain, line feed, bytes; the caller frees. */
static uint8_t *
ed25519_message(
    enum ed25519_domain domain, const void *bytes, size_t len, size_t *len_r)
{
	size_t head = strlen(ed25519_domains[domain]);
	uint8_t *message;

	if (len > ED25519_MESSAGE_MAX)
		return NULL;
	message = malloc(head + 1 + len);
	if (message == NULL)
		return NULL;
	memcpy(message, ed25519_domains[domain], head);
	message[head] = '\n';
	if (len > 0)
		memcpy(message + head + 1, bytes, len);
	*len_r = head + 1 + len;
	return message;
}

enum result
ed25519_verify(const char *key, const char *signature,
    enum ed25519_domain domain, const void *bytes, size_t len)
{
	uint8_t point[ED25519_KEY], mark[ED25519_SIGNATURE], *message = NULL;
	EVP_MD_CTX *context = NULL;
	EVP_PKEY *public = NULL;
	enum result result = RESULT_BAD;
	size_t size = 0;

	if (!ed25519_unhex(key, point, sizeof(point)) ||
	    !ed25519_unhex(signature, mark, sizeof(mark)))
		return RESULT_BAD;
	public = EVP_PKEY_new_raw_public_key(
	    EVP_PKEY_ED25519, NULL, point, sizeof(point));
	context = EVP_MD_CTX_new();
	message = ed25519_message(domain, bytes, len, &size);
	if (context == NULL || message == NULL)
		result = RESULT_NO_MEMORY;
	else if (public != NULL &&
		 EVP_DigestVerifyInit(context, NULL, NULL, NULL, public) == 1)
		result = EVP_DigestVerify(
			     context, mark, sizeof(mark), message, size) == 1
			     ? RESULT_OK
			     : RESULT_MISMATCH;
	free(message);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(public);
	return result;
}

static EVP_PKEY *
ed25519_private(const struct secret *key)
{
	if (secret_len(key) != ED25519_KEY)
		return NULL;
	return EVP_PKEY_new_raw_private_key(
	    EVP_PKEY_ED25519, NULL, secret_bytes_borrow(key), ED25519_KEY);
}

enum result
ed25519_sign(const struct secret *key, enum ed25519_domain domain,
    const void *bytes, size_t len, char signature_r[2 * ED25519_SIGNATURE + 1])
{
	EVP_PKEY *private = ed25519_private(key);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t size = 0, mark_len = ED25519_SIGNATURE;
	uint8_t mark[ED25519_SIGNATURE];
	uint8_t *message = ed25519_message(domain, bytes, len, &size);
	bool good =
	    private != NULL && context != NULL && message != NULL &&
	    EVP_DigestSignInit(context, NULL, NULL, NULL, private) == 1 &&
	    EVP_DigestSign(context, mark, &mark_len, message, size) == 1 &&
	    mark_len == sizeof(mark);

	signature_r[0] = '\0';
	if (good)
		ed25519_hex(mark, sizeof(mark), signature_r);
	free(message);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(private);
	return good ? RESULT_OK : RESULT_BAD;
}

enum result
ed25519_public(const struct secret *key, char hex_r[2 * ED25519_KEY + 1])
{
	EVP_PKEY *private = ed25519_private(key);
	uint8_t point[ED25519_KEY];
	size_t len = sizeof(point);
	bool good = private != NULL &&
		    EVP_PKEY_get_raw_public_key(private, point, &len) == 1 &&
		    len == sizeof(point);

	hex_r[0] = '\0';
	if (good)
		ed25519_hex(point, sizeof(point), hex_r);
	EVP_PKEY_free(private);
	return good ? RESULT_OK : RESULT_BAD;
}

enum result
ed25519_generate(struct secret **key_r)
{
	enum result result = secret_new(ED25519_KEY, key_r);

	if (result != RESULT_OK)
		return result;
	if (RAND_priv_bytes(
		secret_resize(*key_r, ED25519_KEY), (int)ED25519_KEY) == 1)
		return RESULT_OK;
	secret_free(key_r);
	return RESULT_SYSTEM;
}

enum result
ed25519_prepare_signing(void)
{
	const struct rlimit none = {0, 0};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    setrlimit(RLIMIT_CORE, &none) != 0)
		return RESULT_SYSTEM;
	return CRYPTO_secure_malloc_initialized() == 1 ||
		       CRYPTO_secure_malloc_init(ED25519_HEAP, 16) >= 1
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}
