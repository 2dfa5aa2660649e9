/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Secret Service (GNOME Keyring, KWallet, KeePassXC) over the session's
 * D-Bus, through libsecret. The only file that knows libsecret. Items have
 * the schema com.agentnode.sandbox.key with the attributes provider and
 * home, or com.agentnode.sandbox.secret with secret and home. A locked keychain
 * is unlocked only where a person can be asked.
 */
#ifndef LLM_BROKER_KEYRING_KEY_SERVICE_H
#define LLM_BROKER_KEYRING_KEY_SERVICE_H

#include "common/secret.h"
#include "llm-broker/keyring/keyring_outcome.h"
#include "llm-broker/keyring/keyring_config.h"

/* Each sets outcome. After one that failed none is called any more: a call
 * may still be under way. */

/* That one, or NULL. The caller frees. */
struct secret *key_service_read(const struct keyring_config *config,
    const char *name, struct keyring_outcome *outcome);

/* What a store needs, before anybody is asked for a key: the keychain is
 * there and unlocked. NULL: outcome. The process's end frees it. */
struct key_service;
struct key_service *key_service_prepare(
    const struct keyring_config *config, struct keyring_outcome *outcome);
void key_service_store(struct key_service *keys, const struct secret *key);

void key_service_remove(
    const struct keyring_config *config, struct keyring_outcome *outcome);
/* Unlocks nothing and asks nobody. */
void key_service_test(
    const struct keyring_config *config, struct keyring_outcome *outcome);

#endif
