/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects secrets (see the header). Called by the job. A value is in locked
 * memory and in the sealed memfd; it must never be in a message, nor may a
 * name be left out in silence.
 */
#include "llm-broker/keyring/key_fetch.h"

#include "llm-broker/keyring/key_credentials.h"
#include "llm-broker/keyring/key_rule.h"
#include "llm-broker/keyring/key_service.h"
#include "llm-broker/keyring/key_vault.h"

bool
key_fetch_add(struct secret_block *block, const char *name,
    const struct secret *value, struct keyring_outcome *outcome)
{
	enum result result = secret_block_add(block, name, value);

	if (result == RESULT_OK)
		return true;
	keyring_outcome_set(outcome,
	    result == RESULT_TOO_LONG ? KEYRING_BAD_KEY : KEYRING_FAILED,
	    result == RESULT_TOO_LONG
		? "with %s the secrets are longer than %u bytes together"
		: "%s cannot be put beside the others (limit: %u bytes)",
	    name, SECRET_MAX);
	return false;
}

/* One after the other; the first that fails is the last. */
static bool
key_fetch_each(const struct keyring_config *config, struct secret_block *block,
    struct keyring_outcome *outcome)
{
	struct secret *value;
	bool ok = true;

	for (size_t i = 0; ok && i < config->name_count; i++) {
		value =
		    config->backend == KEYRING_SECRET_SERVICE
			? key_service_read(config, config->names[i], outcome)
			: key_credentials_read(
			      config, config->names[i], outcome);
		ok = value != NULL &&
		     key_fetch_add(block, config->names[i], value, outcome);
		secret_free(&value);
	}
	return ok;
}

static bool
key_fetch_all(const struct keyring_config *config, struct secret_block *block,
    struct keyring_outcome *outcome)
{
	switch (config->backend) {
	case KEYRING_SECRET_SERVICE:
	case KEYRING_CREDENTIALS:
		return key_fetch_each(config, block, outcome);
	case KEYRING_FILE:
		return key_vault_fetch(config, block, outcome);
	case KEYRING_BACKEND_COUNT:
		break;
	}
	return false;
}

void
key_fetch(const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct secret_block *block;
	enum result result = secret_block_new(&block);

	if (result == RESULT_OK && config->block_fd >= 0)
		result = secret_block_join(block, config->block_fd);
	if (result == RESULT_OK && key_fetch_all(config, block, outcome)) {
		result = secret_block_seal(block, &outcome->block_fd);
		if (result == RESULT_OK)
			outcome->status = KEYRING_OK;
	}
	if (result != RESULT_OK)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the secrets cannot be collected: %s", result_text(result));
	secret_block_free(&block);
}
