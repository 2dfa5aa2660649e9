/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A package's secrets on their way to its sandbox: from the keychain into
 * one sealed memfd (secret_block.h), which the supervisor hands to init
 * unread. What the caller's environment has already comes as such a memfd
 * and is joined to it.
 */
#ifndef LLM_BROKER_KEYRING_KEY_FETCH_H
#define LLM_BROKER_KEYRING_KEY_FETCH_H

#include <stdbool.h>

#include "common/secret.h"
#include "llm-broker/keyring/keyring_config.h"
#include "llm-broker/keyring/keyring_outcome.h"
#include "supervisor/policy/secret_block.h"

/* All of config->names, or outcome says which is not there. OK:
 * outcome->block_fd. */
void key_fetch(
    const struct keyring_config *config, struct keyring_outcome *outcome);

/* One value more; false: outcome. For the backends. */
bool key_fetch_add(struct secret_block *block, const char *name,
    const struct secret *value, struct keyring_outcome *outcome);

#endif
