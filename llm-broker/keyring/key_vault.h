/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encrypted file as a place for keys, and another one for secrets:
 * AGENTNODE_HOME/keys.enc and secrets.enc, each opened with a passphrase.
 * Opt-in, for machines without a keychain. The file is replaced whole, or not
 * at all.
 */
#ifndef LLM_BROKER_KEYRING_KEY_VAULT_H
#define LLM_BROKER_KEYRING_KEY_VAULT_H

#include "common/secret.h"
#include "llm-broker/keyring/keyring_outcome.h"
#include "llm-broker/keyring/keyring_config.h"
#include "llm-broker/keyring/vault_format.h"

#define KEY_VAULT_KEYS "keys.enc"
#define KEY_VAULT_SECRETS "secrets.enc"

/* The key, or NULL and outcome says why. outcome->token_fd is set when a
 * passphrase was given: a pipe with salt and master key, for a later helper
 * (KEYRING_INPUT_TOKEN), that nobody else reads. */
struct secret *key_vault_read(
    const struct keyring_config *config, struct keyring_outcome *outcome);

/* All names of the configuration into the block; false: outcome. The token
 * likewise. */
struct secret_block;
bool key_vault_fetch(const struct keyring_config *config,
    struct secret_block *block, struct keyring_outcome *outcome);

/* What a store needs: made before the commit, so that a wrong passphrase
 * is no effect. NULL: outcome. */
struct key_vault_store;
struct key_vault_store *key_vault_prepare(
    const struct keyring_config *config, struct keyring_outcome *outcome);
void key_vault_store(const struct keyring_config *config,
    const struct key_vault_store *store, const struct secret *key,
    struct keyring_outcome *outcome);
void key_vault_store_free(struct key_vault_store **store);

/* Needs no passphrase. With the last key the file goes. */
void key_vault_remove(
    const struct keyring_config *config, struct keyring_outcome *outcome);

/* Is the file whole, or not there? */
void key_vault_test(
    const struct keyring_config *config, struct keyring_outcome *outcome);

#endif
