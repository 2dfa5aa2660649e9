/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of words (see the header). Used by agentnode and by the helper;
 * must never accept a word that is in no table.
 */
#include "llm-broker/keyring/keyring_words.h"

#include <stddef.h>
#include <string.h>

static const char *const keyring_words_kinds[KEYRING_KIND_COUNT] = {
    [KEYRING_KEY] = "key",
    [KEYRING_SECRET] = "secret",
};
static const char *const keyring_words_ops[KEYRING_OP_COUNT] = {
    [KEYRING_READ] = "read",
    [KEYRING_FETCH] = "fetch",
    [KEYRING_STORE] = "store",
    [KEYRING_REMOVE] = "remove",
    [KEYRING_TEST] = "test",
};
static const char *const keyring_words_backends[KEYRING_BACKEND_COUNT] = {
    [KEYRING_SECRET_SERVICE] = "secret_service",
    [KEYRING_CREDENTIALS] = "credentials",
    [KEYRING_FILE] = "file",
};
static const char *const keyring_words_inputs[KEYRING_INPUT_COUNT] = {
    [KEYRING_INPUT_NONE] = "none",
    [KEYRING_INPUT_TERMINAL] = "terminal",
    [KEYRING_INPUT_PIPE] = "pipe",
    [KEYRING_INPUT_TOKEN] = "token",
};
static const char *const keyring_words_statuses[KEYRING_STATUS_COUNT] = {
    [KEYRING_OK] = "ok",
    [KEYRING_MISSING] = "missing",
    [KEYRING_LOCKED] = "locked",
    [KEYRING_NO_BUS] = "no_bus",
    [KEYRING_NO_SERVICE] = "no_service",
    [KEYRING_NO_COLLECTION] = "no_collection",
    [KEYRING_TIMEOUT] = "timeout",
    [KEYRING_READ_ONLY] = "read_only",
    [KEYRING_BAD_KEY] = "bad_key",
    [KEYRING_CANCELLED] = "cancelled",
    [KEYRING_WRONG_PASSPHRASE] = "wrong_passphrase",
    [KEYRING_DAMAGED] = "damaged",
    [KEYRING_FAILED] = "failed",
};

/* The place of text in the table; count when it is not there. */
static unsigned
keyring_words_index(const char *text, const char *const *table, unsigned count)
{
	for (unsigned i = 0; text != NULL && i < count; i++) {
		if (strcmp(text, table[i]) == 0)
			return i;
	}
	return count;
}

const char *
keyring_words_kind(enum keyring_kind kind)
{
	return keyring_words_kinds[kind];
}

const char *
keyring_words_op(enum keyring_op op)
{
	return keyring_words_ops[op];
}

const char *
keyring_words_backend(enum keyring_backend backend)
{
	return keyring_words_backends[backend];
}

const char *
keyring_words_input(enum keyring_input input)
{
	return keyring_words_inputs[input];
}

const char *
keyring_words_status(enum keyring_status status)
{
	return keyring_words_statuses[status];
}

bool
keyring_words_find_kind(const char *text, enum keyring_kind *kind_r)
{
	*kind_r = (enum keyring_kind)keyring_words_index(
	    text, keyring_words_kinds, KEYRING_KIND_COUNT);
	return *kind_r != KEYRING_KIND_COUNT;
}

bool
keyring_words_find_op(const char *text, enum keyring_op *op_r)
{
	*op_r = (enum keyring_op)keyring_words_index(
	    text, keyring_words_ops, KEYRING_OP_COUNT);
	return *op_r != KEYRING_OP_COUNT;
}

bool
keyring_words_find_backend(const char *text, enum keyring_backend *backend_r)
{
	*backend_r = (enum keyring_backend)keyring_words_index(
	    text, keyring_words_backends, KEYRING_BACKEND_COUNT);
	return *backend_r != KEYRING_BACKEND_COUNT;
}

bool
keyring_words_find_input(const char *text, enum keyring_input *input_r)
{
	*input_r = (enum keyring_input)keyring_words_index(
	    text, keyring_words_inputs, KEYRING_INPUT_COUNT);
	return *input_r != KEYRING_INPUT_COUNT;
}

bool
keyring_words_find_status(const char *text, enum keyring_status *status_r)
{
	*status_r = (enum keyring_status)keyring_words_index(
	    text, keyring_words_statuses, KEYRING_STATUS_COUNT);
	return *status_r != KEYRING_STATUS_COUNT;
}

bool
keyring_words_is_provider(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= KEYRING_PROVIDER_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

bool
keyring_words_is_name(enum keyring_kind kind, const char *name)
{
	size_t len = strlen(name);

	if (kind != KEYRING_SECRET)
		return keyring_words_is_provider(name);
	return len >= 1 && len <= KEYRING_NAME_MAX &&
	       (name[0] < '0' || name[0] > '9') &&
	       strspn(name,
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		   "0123456789_") == len;
}
