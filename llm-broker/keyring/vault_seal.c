/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seals and opens (see the header). Called by key_vault.c. Every nonce is
 * random and new; what does not authenticate is never given out.
 */
#include "llm-broker/keyring/vault_seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

/* scrypt needs 128 * N * r bytes and a little more. */
#define VAULT_SEAL_MEMORY (UINT64_C(160) << 20)

enum result
vault_seal_new(enum keyring_kind kind, struct vault *vault_r)
{
	memset(vault_r, 0, sizeof(*vault_r));
	vault_r->kind = kind;
	return RAND_bytes(vault_r->salt, (int)VAULT_SALT) == 1 ? RESULT_OK
							       : RESULT_SYSTEM;
}

enum result
vault_seal_derive(const struct vault *vault, const struct secret *passphrase,
    struct secret **master_r)
{
	enum result result = secret_new(VAULT_SEAL_KEY, master_r);

	if (result != RESULT_OK)
		return result;
	if (EVP_PBE_scrypt((const char *)secret_bytes_borrow(passphrase),
		secret_len(passphrase), vault->salt, VAULT_SALT,
		UINT64_C(1) << VAULT_LOG2_N, VAULT_R, VAULT_P,
		VAULT_SEAL_MEMORY, secret_resize(*master_r, VAULT_SEAL_KEY),
		VAULT_SEAL_KEY) == 1)
		return RESULT_OK;
	secret_free(master_r);
	return RESULT_NO_MEMORY;
}

/* A context with key, nonce and what is authenticated beside the text. */
static EVP_CIPHER_CTX *
vault_seal_begin(const struct vault *vault, const struct secret *master,
    const char *name, const uint8_t *nonce, int sealing)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	uint8_t aad[VAULT_AAD_MAX];
	int len = (int)vault_format_aad(vault, name, aad), done;

	if (context != NULL && secret_len(master) == VAULT_SEAL_KEY &&
	    EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL,
		secret_bytes_borrow(master), nonce, sealing) == 1 &&
	    EVP_CipherUpdate(context, NULL, &done, aad, len) == 1)
		return context;
	EVP_CIPHER_CTX_free(context);
	return NULL;
}

/* text_len bytes into sealed_r, and the tag. */
static bool
vault_seal_encrypt(EVP_CIPHER_CTX *context, const uint8_t *text,
    size_t text_len, uint8_t *sealed_r, uint8_t *tag_r)
{
	int done = 0, rest = 0;

	if (text_len > 0 && EVP_EncryptUpdate(context, sealed_r, &done, text,
				(int)text_len) != 1)
		return false;
	return (size_t)done == text_len &&
	       EVP_EncryptFinal_ex(context, tag_r, &rest) == 1 && rest == 0 &&
	       EVP_CIPHER_CTX_ctrl(
		   context, EVP_CTRL_GCM_GET_TAG, (int)VAULT_TAG, tag_r) == 1;
}

/* The other way; false and a wiped text when it is not authentic. */
static bool
vault_seal_decrypt(EVP_CIPHER_CTX *context, const uint8_t *sealed,
    size_t text_len, const uint8_t *tag, uint8_t *text_r)
{
	uint8_t copy[VAULT_TAG], none[VAULT_TAG];
	int done = 0, rest = 0;
	bool ok = true;

	memcpy(copy, tag, VAULT_TAG);
	if (text_len > 0)
		ok = EVP_DecryptUpdate(
			 context, text_r, &done, sealed, (int)text_len) == 1;
	ok = ok && (size_t)done == text_len &&
	     EVP_CIPHER_CTX_ctrl(
		 context, EVP_CTRL_GCM_SET_TAG, (int)VAULT_TAG, copy) == 1 &&
	     EVP_DecryptFinal_ex(context, none, &rest) == 1 && rest == 0;
	if (!ok && text_len > 0)
		secret_wipe(text_r, text_len);
	return ok;
}

enum result
vault_seal_check(struct vault *vault, const struct secret *master)
{
	EVP_CIPHER_CTX *context;
	bool ok;

	if (RAND_bytes(vault->check_nonce, (int)VAULT_NONCE) != 1)
		return RESULT_SYSTEM;
	context = vault_seal_begin(vault, master, NULL, vault->check_nonce, 1);
	ok = context != NULL &&
	     vault_seal_encrypt(context, NULL, 0, NULL, vault->check_tag);
	EVP_CIPHER_CTX_free(context);
	return ok ? RESULT_OK : RESULT_SYSTEM;
}

bool
vault_seal_is_master(const struct vault *vault, const struct secret *master)
{
	EVP_CIPHER_CTX *context =
	    vault_seal_begin(vault, master, NULL, vault->check_nonce, 0);
	bool ok = context != NULL &&
		  vault_seal_decrypt(context, NULL, 0, vault->check_tag, NULL);

	EVP_CIPHER_CTX_free(context);
	return ok;
}

enum result
vault_seal_close(const struct vault *vault, const struct secret *master,
    const struct secret *key, uint8_t *sealed_r, struct vault_entry *entry)
{
	EVP_CIPHER_CTX *context;
	size_t len = secret_len(key);
	bool ok;

	if (RAND_bytes(entry->nonce, (int)VAULT_NONCE) != 1)
		return RESULT_SYSTEM;
	context = vault_seal_begin(vault, master, entry->name, entry->nonce, 1);
	ok = context != NULL &&
	     vault_seal_encrypt(context, secret_bytes_borrow(key), len,
		 sealed_r, sealed_r + len);
	EVP_CIPHER_CTX_free(context);
	entry->key_len = len;
	entry->sealed = sealed_r;
	return ok ? RESULT_OK : RESULT_SYSTEM;
}

enum result
vault_seal_open(const struct vault *vault, const struct secret *master,
    const struct vault_entry *entry, struct secret **key_r)
{
	enum result result = secret_new(entry->key_len, key_r);
	EVP_CIPHER_CTX *context;
	bool ok;

	if (result != RESULT_OK)
		return result;
	context = vault_seal_begin(vault, master, entry->name, entry->nonce, 0);
	ok = context != NULL &&
	     vault_seal_decrypt(context, entry->sealed, entry->key_len,
		 entry->sealed + entry->key_len,
		 secret_resize(*key_r, entry->key_len));
	EVP_CIPHER_CTX_free(context);
	if (!ok)
		secret_free(key_r);
	return ok ? RESULT_OK : RESULT_MISMATCH;
}
