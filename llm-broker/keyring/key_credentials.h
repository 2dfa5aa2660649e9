/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd's credentials: $CREDENTIALS_DIRECTORY/agentnode.PROVIDER for keys
 * and agentnode-secret.NAME for secrets, put there by LoadCredential= or
 * LoadCredentialEncrypted= of the unit. Read only: they are stored with
 * systemd-creds.
 */
#ifndef LLM_BROKER_KEYRING_KEY_CREDENTIALS_H
#define LLM_BROKER_KEYRING_KEY_CREDENTIALS_H

#include "common/secret.h"
#include "llm-broker/keyring/keyring_config.h"
#include "llm-broker/keyring/keyring_outcome.h"

/* That one, or NULL and outcome says why. The caller frees. */
struct secret *key_credentials_read(const struct keyring_config *config,
    const char *name, struct keyring_outcome *outcome);

/* Store and remove: what to do instead. */
void key_credentials_refuse(
    const struct keyring_config *config, struct keyring_outcome *outcome);

/* Is there such a folder? */
void key_credentials_test(
    const struct keyring_config *config, struct keyring_outcome *outcome);

#endif
