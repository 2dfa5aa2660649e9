/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cipher of keys.enc: scrypt makes a master key of the passphrase, and
 * AES-256-GCM seals the check and each entry under it (vault_format.h). The
 * only file of the helper that knows OpenSSL.
 */
#ifndef LLM_BROKER_KEYRING_VAULT_SEAL_H
#define LLM_BROKER_KEYRING_VAULT_SEAL_H

#include <stdbool.h>

#include "common/result.h"
#include "common/secret.h"
#include "llm-broker/keyring/vault_format.h"

#define VAULT_SEAL_KEY 32U

/* A new salt and no entries. */
enum result vault_seal_new(enum keyring_kind kind, struct vault *vault_r);

/* scrypt, 128 MiB and about half a second. The caller frees *master_r. */
enum result vault_seal_derive(const struct vault *vault,
    const struct secret *passphrase, struct secret **master_r);

/* Seal the check of a new vault; is it this master key's? */
enum result vault_seal_check(struct vault *vault, const struct secret *master);
bool vault_seal_is_master(
    const struct vault *vault, const struct secret *master);

/* A key for entry, which has its name: nonce, key_len and sealed are set;
 * sealed points into sealed_r (key length and VAULT_TAG bytes). */
enum result vault_seal_close(const struct vault *vault,
    const struct secret *master, const struct secret *key, uint8_t *sealed_r,
    struct vault_entry *entry);
/* RESULT_MISMATCH: not sealed by this master key, or changed. The caller
 * frees *key_r. */
enum result vault_seal_open(const struct vault *vault,
    const struct secret *master, const struct vault_entry *entry,
    struct secret **key_r);

#endif
