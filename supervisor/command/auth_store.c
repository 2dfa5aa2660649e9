/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets and removes a key (see the header). Called by command_auth.c. It must
 * never let the helper store before the record is on disk, nor say that
 * something is stored that the helper did not say.
 */
#include "supervisor/command/auth_store.h"

#include <stdio.h>
#include <string.h>

#include "common/event_loop.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/keyring_call.h"

struct auth_store {
	const struct auth_option *option;
	struct command_ledger ledger;
	struct keyring_call *call;
	bool is_recorded;
	enum keyring_status status;
	char detail[640], last4[5];
};

static const char *
auth_store_group(const struct auth_option *option)
{
	return option->kind == KEYRING_KEY ? "auth" : "secret";
}

/* Fields of a record: whose, and where. */
static json_t *
auth_store_fields(
    const struct auth_option *option, enum keyring_backend backend)
{
	return json_pack("{s:s, s:s}",
	    option->kind == KEYRING_KEY ? "provider" : "name", option->name,
	    "backend", keyring_words_backend(backend));
}

/* key_set, secret_removed, ...: text_r has room for 32. */
static const char *
auth_store_event(
    const struct auth_option *option, const char *what, char *text_r)
{
	(void)snprintf(text_r, 32, "%s_%s",
	    option->kind == KEYRING_KEY ? "key" : "secret", what);
	return text_r;
}

/* The words for a person. */
static const char *
auth_store_what(const struct auth_option *option)
{
	return option->kind == KEYRING_KEY ? "key of" : "secret";
}

int
auth_store_fault(const struct auth_option *option, enum keyring_status status,
    const char *detail)
{
	const char *text = detail[0] != '\0' ? detail : "it failed";

	switch (status) {
	case KEYRING_OK:
		return COMMAND_DONE;
	case KEYRING_MISSING:
		return command_error(COMMAND_NO, "%s", text);
	case KEYRING_LOCKED:
		return command_error(COMMAND_UNAVAILABLE, "%s", text);
	case KEYRING_NO_BUS:
	case KEYRING_NO_SERVICE:
	case KEYRING_NO_COLLECTION:
	case KEYRING_TIMEOUT:
		return command_error(COMMAND_UNAVAILABLE,
		    "%s; without a keychain there are systemd credentials, or "
		    "'agentnode %s set %s --backend file' (encrypted under a "
		    "passphrase); a %s is never kept in plain text",
		    text, auth_store_group(option), option->name,
		    keyring_words_kind(option->kind));
	case KEYRING_READ_ONLY:
	case KEYRING_BAD_KEY:
		return command_error(COMMAND_USAGE, "%s", text);
	case KEYRING_CANCELLED:
		return command_error(AUTH_STORE_CANCELLED, "%s", text);
	case KEYRING_WRONG_PASSPHRASE:
		return command_error(COMMAND_NO, "%s", text);
	case KEYRING_DAMAGED:
		return command_error(COMMAND_INTEGRITY, "%s", text);
	case KEYRING_FAILED:
	case KEYRING_STATUS_COUNT:
		break;
	}
	return command_error(COMMAND_INTERNAL, "%s", text);
}

static void
auth_store_end(
    struct auth_store *store, enum keyring_status status, const char *detail)
{
	store->status = status;
	(void)snprintf(store->detail, sizeof(store->detail), "%s", detail);
	event_loop_stop(store->ledger.base);
}

/* The record is on disk, or it is not and nothing happens. */
static void
auth_store_on_record(enum result result, const char *detail, void *context)
{
	struct auth_store *store = context;
	char text[512];

	if (result == RESULT_OK) {
		store->is_recorded = true;
		keyring_call_commit(store->call);
		return;
	}
	(void)snprintf(text, sizeof(text),
	    "the audit record could not be written, so nothing was changed: "
	    "%.300s",
	    detail);
	auth_store_end(store, KEYRING_FAILED, text);
}

static void
auth_store_on_taken(struct keyring_call *call,
    const struct keyring_answer *answer, void *context)
{
	struct auth_store *store = context;
	json_t *fields =
	    auth_store_fields(store->option, store->option->backend);
	char event[32];
	enum result result = RESULT_NO_MEMORY;

	store->call = call;
	(void)snprintf(store->last4, sizeof(store->last4), "%s", answer->last4);
	if (fields != NULL)
		result = audit_submit(store->ledger.audit,
		    auth_store_event(store->option, "set", event), fields,
		    auth_store_on_record, store);
	json_decref(fields);
	if (result != RESULT_OK)
		auth_store_on_record(result, result_text(result), store);
}

static void
auth_store_on_done(struct keyring_answer *answer, void *context)
{
	auth_store_end(context, answer->status, answer->detail);
}

/* A record that an effect announced in the chain did not happen. */
static void
auth_store_record_failure(struct auth_store *store, const char *what)
{
	json_t *fields =
	    auth_store_fields(store->option, store->option->backend);
	char event[32];

	if (fields != NULL)
		(void)json_object_set_new(fields, "code",
		    json_string(keyring_words_status(store->status)));
	(void)command_ledger_write(&store->ledger,
	    auth_store_event(store->option, what, event), fields);
}

static void
auth_store_run_set(struct auth_store *store)
{
	static const struct keyring_call_handlers handlers = {
	    auth_store_on_taken, auth_store_on_done};
	const struct auth_option *option = store->option;
	struct keyring_call_spec spec = {.op = KEYRING_STORE,
	    .kind = option->kind,
	    .backend = option->backend,
	    .name = option->name,
	    .pair_fd = -1,
	    .source = option->source,
	    .source_fd = option->source_fd,
	    .passphrase = option->passphrase,
	    .passphrase_fd = option->passphrase_fd};
	enum result result = keyring_call_start(
	    store->ledger.base, &spec, &handlers, store, &store->call);

	if (result == RESULT_OK)
		result = event_loop_run(store->ledger.base);
	if (result != RESULT_OK)
		(void)snprintf(store->detail, sizeof(store->detail),
		    "agentnode-keyring could not be started: %s",
		    result_text(result));
	keyring_call_free(&store->call);
	if (store->is_recorded && store->status != KEYRING_OK)
		auth_store_record_failure(store, "set_failed");
}

/* The helper's part of a removal, on its own loop. */
static enum keyring_status
auth_store_run_remove(const struct auth_option *option,
    enum keyring_backend backend, char *detail_r, size_t size)
{
	struct keyring_call_spec spec = {.op = KEYRING_REMOVE,
	    .kind = option->kind,
	    .backend = backend,
	    .name = option->name,
	    .pair_fd = -1,
	    .source_fd = -1,
	    .passphrase_fd = -1};

	return keyring_call_wait(&spec, detail_r, size);
}

/* A key that lies elsewhere would come back one day. */
static void
auth_store_drop_old(struct auth_store *store, const struct credential *old)
{
	const struct auth_option *option = store->option;
	char detail[640] = "", event[32];
	enum keyring_status status = KEYRING_FAILED;

	if (command_ledger_write(&store->ledger,
		auth_store_event(option, "removed", event),
		auth_store_fields(option, old->backend)) == COMMAND_DONE)
		status = auth_store_run_remove(
		    option, old->backend, detail, sizeof(detail));
	if (status != KEYRING_OK && status != KEYRING_MISSING)
		(void)command_error(COMMAND_DONE,
		    "the %s that %s had before is still in %s: %s",
		    keyring_words_kind(option->kind), option->name,
		    keyring_words_backend(old->backend), detail);
}

static int
auth_store_note(struct auth_store *store)
{
	const struct auth_option *option = store->option;
	struct json_fault fault = {""};
	struct credential old;
	enum result had =
	    credential_find(option->kind, option->name, &old, &fault);
	enum result result = had == RESULT_NOT_FOUND ? RESULT_OK : had;

	if (result == RESULT_OK)
		result = credential_put(option->kind, option->name,
		    option->backend, store->last4, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (had == RESULT_OK && old.backend != option->backend &&
	    old.backend != KEYRING_CREDENTIALS)
		auth_store_drop_old(store, &old);
	printf("The %s %s is set in %s", auth_store_what(option), option->name,
	    keyring_words_backend(option->backend));
	if (store->last4[0] != '\0')
		printf(" (it ends in %s)", store->last4);
	printf(".\n");
	return COMMAND_DONE;
}

int
auth_store_set(const struct auth_option *option)
{
	struct auth_store store = {.option = option, .status = KEYRING_FAILED};
	int code;

	if (option->backend == KEYRING_FILE)
		(void)command_error(COMMAND_DONE,
		    "warning: the backend 'file' keeps %ss in "
		    "AGENTNODE_HOME/%ss.enc, which is as safe as its "
		    "passphrase: whoever copies the file can try passphrases "
		    "for ever. A keychain or systemd credentials are better",
		    keyring_words_kind(option->kind),
		    keyring_words_kind(option->kind));
	code = command_ledger_open(&store.ledger);
	if (code == COMMAND_DONE) {
		auth_store_run_set(&store);
		code =
		    store.status == KEYRING_OK
			? auth_store_note(&store)
			: auth_store_fault(option, store.status, store.detail);
	}
	command_ledger_close(&store.ledger);
	return code;
}

/* Gone from the keychain; gone from the list. */
static int
auth_store_forget(const struct auth_option *option, bool was_there)
{
	struct json_fault fault = {""};
	enum result result =
	    credential_drop(option->kind, option->name, &fault);

	if (result != RESULT_OK && result != RESULT_NOT_FOUND)
		return command_fault(result, &fault);
	if (!was_there && result == RESULT_NOT_FOUND)
		return command_error(COMMAND_NO, "%s has no %s in %s",
		    option->name, keyring_words_kind(option->kind),
		    keyring_words_backend(option->backend));
	printf("The %s %s is removed from %s%s.\n", auth_store_what(option),
	    option->name, keyring_words_backend(option->backend),
	    was_there ? "" : " (it was gone there already)");
	return COMMAND_DONE;
}

static int
auth_store_remove_from(struct auth_store *store)
{
	const struct auth_option *option = store->option;
	char event[32];
	int code = command_ledger_write(&store->ledger,
	    auth_store_event(option, "removed", event),
	    auth_store_fields(option, option->backend));

	if (code != COMMAND_DONE)
		return code;
	store->status = auth_store_run_remove(
	    option, option->backend, store->detail, sizeof(store->detail));
	if (store->status == KEYRING_OK || store->status == KEYRING_MISSING)
		return auth_store_forget(option, store->status == KEYRING_OK);
	auth_store_record_failure(store, "remove_failed");
	return auth_store_fault(option, store->status, store->detail);
}

int
auth_store_remove(const struct auth_option *option)
{
	struct auth_option found = *option;
	struct auth_store store = {.option = &found, .status = KEYRING_FAILED};
	struct json_fault fault = {""};
	struct credential credential;
	enum result result;
	int code;

	if (!option->has_backend) {
		result = credential_find(
		    option->kind, option->name, &credential, &fault);
		if (result == RESULT_NOT_FOUND)
			return command_error(COMMAND_NO, "%s has no %s",
			    option->name, keyring_words_kind(option->kind));
		if (result != RESULT_OK)
			return command_fault(result, &fault);
		found.backend = credential.backend;
	}
	code = command_ledger_open(&store.ledger);
	if (code == COMMAND_DONE)
		code = auth_store_remove_from(&store);
	command_ledger_close(&store.ledger);
	return code;
}
