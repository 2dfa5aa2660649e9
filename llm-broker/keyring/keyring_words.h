/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that agentnode and agentnode-keyring say to each other: what is
 * to be done, where the key lies, where a secret comes from, what came of
 * it. Pure. Every word of the wire is in one of the tables here; another one
 * is refused.
 */
#ifndef LLM_BROKER_KEYRING_KEYRING_WORDS_H
#define LLM_BROKER_KEYRING_KEYRING_WORDS_H

#include <stdbool.h>

/* Two name spaces that never mix: other items of the keychain, other
 * credentials, another file. */
enum keyring_kind {
	KEYRING_KEY,    /* of an LLM provider: for llm-key alone */
	KEYRING_SECRET, /* of packages: for sandboxes, with a consent */
	KEYRING_KIND_COUNT
};

enum keyring_op {
	KEYRING_READ,   /* give the key to llm-key, on the pair */
	KEYRING_FETCH,  /* secrets into a sealed memfd, for init */
	KEYRING_STORE,  /* take a key, wait for `commit`, store it */
	KEYRING_REMOVE, /* forget it */
	KEYRING_TEST,   /* could a key be stored there? Touches none */
	KEYRING_OP_COUNT
};

enum keyring_backend {
	KEYRING_SECRET_SERVICE, /* the desktop's keychain, over D-Bus */
	KEYRING_CREDENTIALS,    /* systemd's; read only */
	KEYRING_FILE,           /* AGENTNODE_HOME/keys.enc, a passphrase */
	KEYRING_BACKEND_COUNT
};

/* Where a key or a passphrase comes from. */
enum keyring_input {
	KEYRING_INPUT_NONE,
	KEYRING_INPUT_TERMINAL, /* asked for, not shown */
	KEYRING_INPUT_PIPE,     /* read to its end */
	KEYRING_INPUT_TOKEN,    /* what an earlier helper made of it */
	KEYRING_INPUT_COUNT
};

enum keyring_status {
	KEYRING_OK,
	KEYRING_MISSING,          /* no such key */
	KEYRING_LOCKED,           /* the keychain is locked, nobody to ask */
	KEYRING_NO_BUS,           /* no D-Bus session */
	KEYRING_NO_SERVICE,       /* a D-Bus session without a keychain */
	KEYRING_NO_COLLECTION,    /* a keychain without a default place */
	KEYRING_TIMEOUT,          /* it did not answer in time */
	KEYRING_READ_ONLY,        /* this place is not written by us */
	KEYRING_BAD_KEY,          /* what was given cannot be a key */
	KEYRING_CANCELLED,        /* the person at the terminal said no */
	KEYRING_WRONG_PASSPHRASE, /* or the file's header was changed */
	KEYRING_DAMAGED,          /* the file is not what was written */
	KEYRING_FAILED,           /* anything else; detail says what */
	KEYRING_STATUS_COUNT
};

/* The word on the wire; never NULL. */
const char *keyring_words_kind(enum keyring_kind kind);
const char *keyring_words_op(enum keyring_op op);
const char *keyring_words_backend(enum keyring_backend backend);
const char *keyring_words_input(enum keyring_input input);
const char *keyring_words_status(enum keyring_status status);

/* And back; false when it is none of them. text may be NULL. */
bool keyring_words_find_kind(const char *text, enum keyring_kind *kind_r);
bool keyring_words_find_op(const char *text, enum keyring_op *op_r);
bool keyring_words_find_backend(
    const char *text, enum keyring_backend *backend_r);
bool keyring_words_find_input(const char *text, enum keyring_input *input_r);
bool keyring_words_find_status(const char *text, enum keyring_status *status_r);

/* A provider's name: 1 to 31 lower-case letters, digits and hyphens. */
#define KEYRING_PROVIDER_MAX 31U
bool keyring_words_is_provider(const char *name);

/* A secret's name is a variable's: letters, digits and _, no digit first. */
#define KEYRING_NAME_MAX 64U
bool keyring_words_is_name(enum keyring_kind kind, const char *name);

#endif
