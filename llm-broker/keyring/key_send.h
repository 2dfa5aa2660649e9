/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a key to llm-key: a `key` message on their own pair, then the
 * secret as a datagram of its own. Nobody else hears it.
 */
#ifndef LLM_BROKER_KEYRING_KEY_SEND_H
#define LLM_BROKER_KEYRING_KEY_SEND_H

#include "common/secret.h"
#include "llm-broker/keyring/keyring_outcome.h"

/* What was read: key is there when outcome says OK, else NULL. When llm-key
 * does not take it, outcome says so. */
void key_send(int pair, const char *provider, const struct secret *key,
    struct keyring_outcome *outcome);

#endif
