/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key or a passphrase on its way in: asked for at a terminal, or read
 * from a pipe or file to its end, into locked memory.
 */
#ifndef LLM_BROKER_KEYRING_KEY_INPUT_H
#define LLM_BROKER_KEYRING_KEY_INPUT_H

#include "common/secret.h"
#include "llm-broker/keyring/keyring_outcome.h"
#include "llm-broker/keyring/keyring_config.h"

#define KEY_INPUT_PASSPHRASE_MIN 8U
#define KEY_INPUT_PASSPHRASE_MAX 1024U

/* The key or secret that the configuration names, checked by key_rule.h;
 * outcome->last4 is set for a key. NULL: outcome says why. The caller
 * frees. */
struct secret *key_input_key(
    const struct keyring_config *config, struct keyring_outcome *outcome);

/* A passphrase; is_new: a person types it twice. Likewise. */
struct secret *key_input_passphrase(const struct keyring_config *config,
    bool is_new, struct keyring_outcome *outcome);

#endif
