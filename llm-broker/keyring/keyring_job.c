/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job per backend (see the header). Called by main once. It must never
 * store before the commit: until then nothing is in the audit chain.
 */
#include "llm-broker/keyring/keyring_job.h"

#include "common/fd.h"
#include "common/log.h"
#include "llm-broker/keyring/key_credentials.h"
#include "llm-broker/keyring/key_fetch.h"
#include "llm-broker/keyring/key_input.h"
#include "llm-broker/keyring/key_send.h"
#include "llm-broker/keyring/key_service.h"
#include "llm-broker/keyring/key_vault.h"
#include "llm-broker/keyring/keyring_channel.h"

static void
keyring_job_done(const char *job, const struct keyring_config *config,
    struct keyring_outcome *outcome)
{
	if (outcome->status == KEYRING_OK)
		outcome->detail[0] = '\0';
	log_event(LOG_INFO_LEVEL, "keyring_job", LOG_TEXT("job", job),
	    LOG_TEXT("backend", keyring_words_backend(config->backend)),
	    LOG_TEXT("kind", keyring_words_kind(config->kind)),
	    LOG_TEXT("name", config->name),
	    LOG_TEXT("status", keyring_words_status(outcome->status)),
	    LOG_TEXT("detail", outcome->detail));
	keyring_channel_done(job, outcome);
	fd_close(&outcome->token_fd);
	fd_close(&outcome->block_fd);
}

static void
keyring_job_read(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct secret *key = NULL;

	switch (config->backend) {
	case KEYRING_SECRET_SERVICE:
		key = key_service_read(config, config->name, outcome);
		break;
	case KEYRING_CREDENTIALS:
		key = key_credentials_read(config, config->name, outcome);
		break;
	case KEYRING_FILE:
		key = key_vault_read(config, outcome);
		break;
	case KEYRING_BACKEND_COUNT:
		break;
	}
	if (key != NULL)
		outcome->status = KEYRING_OK;
	key_send(config->pair_fd, config->name, key, outcome);
	secret_free(&key);
}

/* The place for a key, open and unlocked before anybody is asked for it. */
struct keyring_job_place {
	struct key_vault_store *vault;
	struct key_service *service;
};

static bool
keyring_job_prepare(const struct keyring_config *config,
    struct keyring_job_place *place_r, struct keyring_outcome *outcome)
{
	*place_r = (struct keyring_job_place){NULL, NULL};
	switch (config->backend) {
	case KEYRING_SECRET_SERVICE:
		place_r->service = key_service_prepare(config, outcome);
		return place_r->service != NULL;
	case KEYRING_CREDENTIALS:
		key_credentials_refuse(config, outcome);
		return false;
	case KEYRING_FILE:
		place_r->vault = key_vault_prepare(config, outcome);
		return place_r->vault != NULL;
	case KEYRING_BACKEND_COUNT:
		break;
	}
	return false;
}

static void
keyring_job_put(const struct keyring_config *config,
    const struct keyring_job_place *place, const struct secret *key,
    struct keyring_outcome *outcome)
{
	outcome->status = KEYRING_OK;
	keyring_job_done("take", config, outcome);
	keyring_channel_wait_commit();
	outcome->status = KEYRING_FAILED;
	if (place->vault != NULL)
		key_vault_store(config, place->vault, key, outcome);
	else
		key_service_store(place->service, key);
}

static void
keyring_job_store(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct keyring_job_place place;
	struct secret *key;

	if (!keyring_job_prepare(config, &place, outcome))
		return;
	key = key_input_key(config, outcome);
	if (key != NULL)
		keyring_job_put(config, &place, key, outcome);
	key_vault_store_free(&place.vault);
	secret_free(&key);
}

static void
keyring_job_remove(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	switch (config->backend) {
	case KEYRING_SECRET_SERVICE:
		key_service_remove(config, outcome);
		break;
	case KEYRING_CREDENTIALS:
		key_credentials_refuse(config, outcome);
		break;
	case KEYRING_FILE:
		key_vault_remove(config, outcome);
		break;
	case KEYRING_BACKEND_COUNT:
		break;
	}
}

static void
keyring_job_test(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	switch (config->backend) {
	case KEYRING_SECRET_SERVICE:
		key_service_test(config, outcome);
		break;
	case KEYRING_CREDENTIALS:
		key_credentials_test(config, outcome);
		break;
	case KEYRING_FILE:
		key_vault_test(config, outcome);
		break;
	case KEYRING_BACKEND_COUNT:
		break;
	}
}

void
keyring_job_run(const struct keyring_config *config)
{
	struct keyring_outcome outcome = {
	    .status = KEYRING_FAILED, .token_fd = -1, .block_fd = -1};

	switch (config->op) {
	case KEYRING_READ:
		keyring_job_read(config, &outcome);
		break;
	case KEYRING_FETCH:
		key_fetch(config, &outcome);
		break;
	case KEYRING_STORE:
		keyring_job_store(config, &outcome);
		break;
	case KEYRING_REMOVE:
		keyring_job_remove(config, &outcome);
		break;
	case KEYRING_TEST:
		keyring_job_test(config, &outcome);
		break;
	case KEYRING_OP_COUNT:
		break;
	}
	keyring_job_done(keyring_words_op(config->op), config, &outcome);
}
