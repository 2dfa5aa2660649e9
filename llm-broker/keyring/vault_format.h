/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AGENTNODE_HOME/keys.enc and secrets.enc, the encrypted files of keys and
 * of secrets: their bytes and their meaning, without any cipher. Pure,
 * strict, fuzzed. Numbers are big endian.
 *
 *   8  "ANKEYS01" or "ANSECR01"       magic and version
 *   4  17, 8, 1, COUNT                scrypt: log2 N, r, p; entries, 0..64
 *  16  salt                           of scrypt
 *  12  nonce, 16 tag                  the check: an empty text, sealed
 *  COUNT times:
 *    1  length of the name, the name  each once
 *    2  length of the key, 12 nonce   16..2048; of a secret 1..8192
 *    n  the key, sealed, 16 tag
 *  64  SHA-256 of all before it, hex  tells damage from a wrong passphrase
 *
 * Seals are AES-256-GCM under scrypt(passphrase, salt). What is
 * authenticated beside the text: of the check the first 11 bytes and the
 * salt, of an entry these and its name.
 */
#ifndef LLM_BROKER_KEYRING_VAULT_FORMAT_H
#define LLM_BROKER_KEYRING_VAULT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "llm-broker/keyring/key_rule.h"
#include "llm-broker/keyring/keyring_words.h"

#define VAULT_SALT 16U
#define VAULT_NONCE 12U
#define VAULT_TAG 16U
#define VAULT_DIGEST 64U
#define VAULT_LOG2_N 17U
#define VAULT_R 8U
#define VAULT_P 1U
#define VAULT_ENTRIES_MAX 64U
#define VAULT_HEAD 56U /* bytes before the first entry */
#define VAULT_FILE_MAX                                                      \
	(VAULT_HEAD + VAULT_DIGEST +                                        \
	    VAULT_ENTRIES_MAX * (1U + KEYRING_NAME_MAX + 2U + VAULT_NONCE + \
				    KEY_RULE_SECRET_MAX + VAULT_TAG))
/* What is authenticated: the longest. */
#define VAULT_AAD_MAX (11U + VAULT_SALT + KEYRING_NAME_MAX)

struct vault_entry {
	char name[KEYRING_NAME_MAX + 1];
	uint8_t nonce[VAULT_NONCE];
	size_t key_len;
	const uint8_t *sealed; /* key_len bytes and the tag; borrowed */
};

struct vault {
	enum keyring_kind kind; /* what it holds; authenticated */
	uint8_t salt[VAULT_SALT];
	uint8_t check_nonce[VAULT_NONCE], check_tag[VAULT_TAG];
	size_t count;
	struct vault_entry entries[VAULT_ENTRIES_MAX];
};

enum vault_fault {
	VAULT_OK,
	VAULT_CUT,     /* it ends too early */
	VAULT_MAGIC,   /* no such file */
	VAULT_VERSION, /* of a later version */
	VAULT_SCRYPT,  /* other parameters than the version's */
	VAULT_COUNT,
	VAULT_NAME,   /* not a name, or there twice */
	VAULT_LENGTH, /* of a key */
	VAULT_REST    /* bytes behind the last entry */
};

/* Read all but the digest, which the caller has checked and cut off: a file
 * of this kind, no other. The vault borrows from bytes. */
enum vault_fault vault_format_read(enum keyring_kind kind, const uint8_t *bytes,
    size_t len, struct vault *vault_r);

/* Append all but the digest. */
enum result vault_format_write(const struct vault *vault, struct buffer *out);

/* The entry of a name, or NULL. */
struct vault_entry *vault_format_find(struct vault *vault, const char *name);

/* What the check (name NULL) or an entry authenticates; the length. */
size_t vault_format_aad(
    const struct vault *vault, const char *name, uint8_t aad_r[VAULT_AAD_MAX]);

/* A few words on a fault. */
const char *vault_format_text(enum vault_fault fault);

#endif
