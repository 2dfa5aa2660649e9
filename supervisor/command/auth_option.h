/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `auth set`, `auth remove`, `auth test`, `secret set` and `secret
 * remove` are told: the words of the command line, where the key or secret
 * comes from, where it goes. One on the command line is refused without
 * being repeated.
 */
#ifndef SUPERVISOR_COMMAND_AUTH_OPTION_H
#define SUPERVISOR_COMMAND_AUTH_OPTION_H

#include <stdbool.h>

#include "llm-broker/keyring/keyring_words.h"

enum auth_option_verb {
	AUTH_OPTION_SET,
	AUTH_OPTION_REMOVE,
	AUTH_OPTION_TEST
};

struct auth_option {
	enum auth_option_verb verb;
	enum keyring_kind kind;
	const char *name; /* of a provider, or of a variable */
	bool has_backend; /* --backend was given */
	enum keyring_backend backend;
	/* Descriptors are owned once auth_option_open made them. */
	const char *from_env;
	int from_fd;       /* -1: not given */
	int passphrase_fd; /* -1: not given */
	enum keyring_input source, passphrase;
	int source_fd; /* -1 until open */
	int terminal;  /* owned; -1 */
};

/* COMMAND_DONE, or the exit code after the sentence was printed. Nothing
 * is opened yet. */
int auth_option_parse(enum keyring_kind kind, enum auth_option_verb verb,
    int argc, char **argv, struct auth_option *option_r);

/* The number of a descriptor that is open now and no terminal. Code as
 * above. */
int auth_option_fd(const char *text, const char *option, int *fd_r);
/* --secrets-passphrase-fd of the run commands. Code as above. */
int auth_option_secrets(const char *text);

/* The backend: as told, or the configuration's. Code as above. */
int auth_option_backend(struct auth_option *option);

/* Is there such a provider? Code as above. */
int auth_option_provider(const struct auth_option *option);

/* Where key (set) and passphrase (file) come from: a variable's value goes
 * into a pipe and out of the environment. Code as above; close in either
 * case. */
int auth_option_open(struct auth_option *option);
void auth_option_close(struct auth_option *option);

#endif
