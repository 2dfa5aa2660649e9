/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A passphrase is asked for once per run, but keys are read by one helper
 * each, and again after a rotation. What scrypt made of the passphrase goes
 * from the first helper to the later ones in a pipe: kernel memory that is
 * not swapped, held by the supervisor, which does not read it.
 */
#ifndef LLM_BROKER_KEYRING_VAULT_TOKEN_H
#define LLM_BROKER_KEYRING_VAULT_TOKEN_H

#include "common/secret.h"
#include "llm-broker/keyring/vault_format.h"

/* The read end of a pipe that holds salt and master key; -1: failed. */
int vault_token_make(const struct vault *vault, const struct secret *master);

/* The master key for this vault; the pipe keeps what it holds.
 * RESULT_MISMATCH: of another vault. The caller frees. */
enum result vault_token_use(
    int fd, const struct vault *vault, struct secret **master_r);

#endif
