/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys in keys.enc, secrets in secrets.enc (see the header). Called by the
 * job. It must never write over a file that it cannot read, nor put a key
 * beside keys that are sealed under another passphrase.
 */
#include "llm-broker/keyring/key_vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "llm-broker/keyring/key_fetch.h"
#include "llm-broker/keyring/key_input.h"
#include "llm-broker/keyring/vault_seal.h"
#include "llm-broker/keyring/vault_token.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/state_dir.h"

/* The file in memory; vault borrows from bytes. */
struct key_vault {
	const char *name;
	enum keyring_kind kind;
	struct state_dir home; /* its fd belongs to the config */
	char *bytes;
	size_t len;
	struct vault vault;
};

struct key_vault_store {
	const char *name;
	struct vault vault; /* salt and check; the entries are read again */
	struct secret *master;
	bool is_new;
};

static const char *
key_vault_name(const struct keyring_config *config)
{
	return config->kind == KEYRING_SECRET ? KEY_VAULT_SECRETS
					      : KEY_VAULT_KEYS;
}

static void
key_vault_close(struct key_vault *file)
{
	free(file->bytes);
	file->bytes = NULL;
}

/* Digest and format. */
static bool
key_vault_check(struct key_vault *file, struct keyring_outcome *outcome)
{
	const char *bytes = file->bytes;
	char hex[DIGEST_HEX + 1];
	enum vault_fault fault = VAULT_CUT;
	size_t len = file->len;

	if (len > VAULT_DIGEST) {
		len -= VAULT_DIGEST;
		if (digest_sha256(bytes, len, hex) != RESULT_OK ||
		    memcmp(bytes + len, hex, VAULT_DIGEST) != 0) {
			keyring_outcome_set(outcome, KEYRING_DAMAGED,
			    "%s is damaged: its bytes are not those that were "
			    "written (the passphrase was not tried)",
			    file->name);
			return false;
		}
		fault = vault_format_read(
		    file->kind, (const uint8_t *)bytes, len, &file->vault);
	}
	if (fault == VAULT_OK)
		return true;
	keyring_outcome_set(outcome, KEYRING_DAMAGED, "%s is damaged: %s",
	    file->name, vault_format_text(fault));
	return false;
}

/* OK, MISSING without a file, or what is wrong. Close when OK. */
static enum keyring_status
key_vault_open(const struct keyring_config *config, struct key_vault *file_r,
    struct keyring_outcome *outcome)
{
	struct json_fault fault = {""};
	enum result result;

	memset(file_r, 0, sizeof(*file_r));
	file_r->name = key_vault_name(config);
	file_r->kind = config->kind;
	(void)snprintf(
	    file_r->home.path, sizeof(file_r->home.path), "AGENTNODE_HOME");
	file_r->home.fd = config->home_fd;
	result = state_dir_read(&file_r->home, file_r->name, STATE_DIR_OURS,
	    VAULT_FILE_MAX, &file_r->bytes, &file_r->len, &fault);
	if (result == RESULT_NOT_FOUND) {
		keyring_outcome_set(
		    outcome, KEYRING_MISSING, "there is no %s", file_r->name);
		return KEYRING_MISSING;
	}
	if (result != RESULT_OK) {
		keyring_outcome_set(outcome, KEYRING_FAILED, "%s",
		    fault.text[0] != '\0' ? fault.text : result_text(result));
		return KEYRING_FAILED;
	}
	if (key_vault_check(file_r, outcome))
		return KEYRING_OK;
	key_vault_close(file_r);
	return outcome->status;
}

/* The master key out of passphrase or token; NULL: outcome. */
static struct secret *
key_vault_master(const struct keyring_config *config, const struct vault *vault,
    bool is_new, struct keyring_outcome *outcome)
{
	struct secret *passphrase = NULL, *master = NULL;
	enum result result;

	if (config->passphrase == KEYRING_INPUT_NONE) {
		keyring_outcome_set(outcome, KEYRING_WRONG_PASSPHRASE,
		    "%s needs its passphrase: there is no terminal, so give "
		    "it with %s",
		    key_vault_name(config),
		    config->op == KEYRING_FETCH ? "--secrets-passphrase-fd"
						: "--passphrase-fd");
		return NULL;
	}
	if (config->passphrase == KEYRING_INPUT_TOKEN)
		result = vault_token_use(config->passphrase_fd, vault, &master);
	else {
		passphrase = key_input_passphrase(config, is_new, outcome);
		if (passphrase == NULL)
			return NULL;
		result = vault_seal_derive(vault, passphrase, &master);
		secret_free(&passphrase);
	}
	if (result == RESULT_OK)
		return master;
	secret_free(&master);
	keyring_outcome_set(outcome,
	    result == RESULT_MISMATCH ? KEYRING_WRONG_PASSPHRASE
				      : KEYRING_FAILED,
	    result == RESULT_MISMATCH
		? "%s was made anew under another passphrase"
		: "the passphrase of %s could not be used: scrypt needs 128 "
		  "MiB of memory and a little that can be locked",
	    key_vault_name(config));
	return NULL;
}

/* As above, and it is the right one. */
static struct secret *
key_vault_unlock(const struct keyring_config *config, const struct vault *vault,
    struct keyring_outcome *outcome)
{
	struct secret *master = key_vault_master(config, vault, false, outcome);

	if (master == NULL || vault_seal_is_master(vault, master))
		return master;
	keyring_outcome_set(outcome, KEYRING_WRONG_PASSPHRASE,
	    "wrong passphrase for %s (the file itself is whole)",
	    key_vault_name(config));
	secret_free(&master);
	return NULL;
}

static void
key_vault_missing(const struct key_vault *file, const char *name,
    struct keyring_outcome *outcome)
{
	keyring_outcome_set(outcome, KEYRING_MISSING, "%s has no %s for %s",
	    file->name, keyring_words_kind(file->kind), name);
}

/* One entry, with the master key that opens it. */
static struct secret *
key_vault_entry(struct key_vault *file, const struct secret *master,
    const char *name, struct keyring_outcome *outcome)
{
	const struct vault_entry *entry = vault_format_find(&file->vault, name);
	struct secret *key = NULL;

	if (entry == NULL)
		key_vault_missing(file, name, outcome);
	else if (vault_seal_open(&file->vault, master, entry, &key) !=
		 RESULT_OK)
		keyring_outcome_set(outcome, KEYRING_DAMAGED,
		    "the entry of %s in %s was changed: it does not "
		    "authenticate",
		    name, file->name);
	return key;
}

/* The master key; no passphrase is asked for when the name is not there. */
static struct secret *
key_vault_take(const struct keyring_config *config, struct key_vault *file,
    const char *name, struct keyring_outcome *outcome)
{
	struct secret *master;

	if (vault_format_find(&file->vault, name) == NULL) {
		key_vault_missing(file, name, outcome);
		return NULL;
	}
	master = key_vault_unlock(config, &file->vault, outcome);
	if (master != NULL && config->passphrase != KEYRING_INPUT_TOKEN)
		outcome->token_fd = vault_token_make(&file->vault, master);
	return master;
}

struct secret *
key_vault_read(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct secret *key = NULL, *master;
	struct key_vault file;

	if (key_vault_open(config, &file, outcome) != KEYRING_OK)
		return NULL;
	master = key_vault_take(config, &file, config->name, outcome);
	if (master != NULL)
		key = key_vault_entry(&file, master, config->name, outcome);
	secret_free(&master);
	key_vault_close(&file);
	return key;
}

bool
key_vault_fetch(const struct keyring_config *config, struct secret_block *block,
    struct keyring_outcome *outcome)
{
	struct secret *value, *master;
	struct key_vault file;
	bool ok;

	if (key_vault_open(config, &file, outcome) != KEYRING_OK)
		return false;
	master = key_vault_take(config, &file, config->names[0], outcome);
	ok = master != NULL;
	for (size_t i = 0; ok && i < config->name_count; i++) {
		value =
		    key_vault_entry(&file, master, config->names[i], outcome);
		ok = value != NULL &&
		     key_fetch_add(block, config->names[i], value, outcome);
		secret_free(&value);
	}
	secret_free(&master);
	key_vault_close(&file);
	return ok;
}

struct key_vault_store *
key_vault_prepare(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct key_vault_store *store = calloc(1, sizeof(*store));
	struct key_vault file;
	enum keyring_status status;

	if (store == NULL)
		return NULL;
	status = key_vault_open(config, &file, outcome);
	if (status == KEYRING_OK) {
		store->vault = file.vault;
		store->master =
		    key_vault_unlock(config, &store->vault, outcome);
		key_vault_close(&file);
	} else if (status == KEYRING_MISSING &&
		   vault_seal_new(config->kind, &store->vault) == RESULT_OK) {
		store->is_new = true;
		store->master =
		    key_vault_master(config, &store->vault, true, outcome);
		if (store->master != NULL &&
		    vault_seal_check(&store->vault, store->master) != RESULT_OK)
			secret_free(&store->master);
	}
	if (store->master == NULL)
		key_vault_store_free(&store);
	return store;
}

void
key_vault_store_free(struct key_vault_store **store)
{
	struct key_vault_store *gone = *store;

	if (gone == NULL)
		return;
	*store = NULL;
	secret_free(&gone->master);
	free(gone);
}

/* The vault with its digest, in place of the old file. */
static void
key_vault_write(const struct state_dir *home, const char *name,
    const struct vault *vault, struct keyring_outcome *outcome)
{
	struct json_fault fault = {""};
	char hex[DIGEST_HEX + 1];
	struct buffer out;
	enum result result;

	buffer_init(&out, VAULT_FILE_MAX);
	result = vault_format_write(vault, &out);
	if (result == RESULT_OK)
		result = digest_sha256(buffer_bytes_borrow(&out), out.len, hex);
	if (result == RESULT_OK)
		result = buffer_append(&out, hex, VAULT_DIGEST);
	if (result == RESULT_OK)
		result = state_dir_write(home, name, 0600,
		    buffer_bytes_borrow(&out), out.len, &fault);
	buffer_free(&out);
	if (result == RESULT_OK)
		outcome->status = KEYRING_OK;
	else
		keyring_outcome_set(outcome, KEYRING_FAILED, "%s",
		    fault.text[0] != '\0' ? fault.text : result_text(result));
}

/* Lock and open again: what was prepared must still fit. */
static bool
key_vault_reopen(const struct keyring_config *config, bool is_new,
    const uint8_t *salt, struct key_vault *file_r, int *lock_r,
    struct keyring_outcome *outcome)
{
	struct state_dir home = {"AGENTNODE_HOME", config->home_fd};
	struct json_fault fault = {""};
	enum keyring_status status;

	if (state_dir_lock(&home, lock_r, &fault) != RESULT_OK) {
		keyring_outcome_set(outcome, KEYRING_FAILED, "%s", fault.text);
		return false;
	}
	status = key_vault_open(config, file_r, outcome);
	if (is_new && status == KEYRING_MISSING)
		return true;
	if (status != KEYRING_OK && status != KEYRING_MISSING)
		return false;
	if (!is_new && status == KEYRING_OK &&
	    (salt == NULL || memcmp(file_r->vault.salt, salt, VAULT_SALT) == 0))
		return true;
	key_vault_close(file_r);
	if (salt != NULL)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "%s was made anew meanwhile; try again",
		    key_vault_name(config));
	return false;
}

void
key_vault_store(const struct keyring_config *config,
    const struct key_vault_store *store, const struct secret *key,
    struct keyring_outcome *outcome)
{
	FD_CLEANUP int lock = -1;
	struct vault_entry *entry;
	struct key_vault file;
	uint8_t *sealed;

	if (!key_vault_reopen(config, store->is_new, store->vault.salt, &file,
		&lock, outcome))
		return;
	if (store->is_new)
		file.vault = store->vault;
	sealed = malloc(secret_len(key) + VAULT_TAG);
	entry = vault_format_find(&file.vault, config->name);
	if (entry == NULL && file.vault.count < VAULT_ENTRIES_MAX) {
		entry = &file.vault.entries[file.vault.count++];
		(void)snprintf(
		    entry->name, sizeof(entry->name), "%s", config->name);
	}
	if (entry == NULL)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "%s is full: %u entries", file.name, VAULT_ENTRIES_MAX);
	else if (sealed != NULL && vault_seal_close(&file.vault, store->master,
				       key, sealed, entry) == RESULT_OK)
		key_vault_write(&file.home, file.name, &file.vault, outcome);
	else
		keyring_outcome_set(
		    outcome, KEYRING_FAILED, "it could not be sealed");
	free(sealed);
	key_vault_close(&file);
}

/* The last one takes the file with it. */
static void
key_vault_unlink(const struct state_dir *home, const char *name,
    struct keyring_outcome *outcome)
{
	if (unlinkat(home->fd, name, 0) == 0 && fsync(home->fd) == 0)
		outcome->status = KEYRING_OK;
	else
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "%s cannot be removed: %s", name, strerror(errno));
}

void
key_vault_remove(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	FD_CLEANUP int lock = -1;
	struct vault_entry *entry;
	struct key_vault file;
	struct vault *vault = &file.vault;

	if (!key_vault_reopen(config, false, NULL, &file, &lock, outcome))
		return;
	entry = vault_format_find(vault, config->name);
	if (entry == NULL)
		key_vault_missing(&file, config->name, outcome);
	else if (vault->count == 1)
		key_vault_unlink(&file.home, file.name, outcome);
	else {
		*entry = vault->entries[--vault->count];
		key_vault_write(&file.home, file.name, vault, outcome);
	}
	key_vault_close(&file);
}

void
key_vault_test(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	struct key_vault file;
	enum keyring_status status = key_vault_open(config, &file, outcome);

	if (status == KEYRING_OK)
		key_vault_close(&file);
	if (status == KEYRING_MISSING || status == KEYRING_OK) {
		outcome->status = KEYRING_OK;
		outcome->detail[0] = '\0';
	}
}
