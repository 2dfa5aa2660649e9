/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `auth list` and `secret list`: what credentials.json or secrets.json says
 * is stored, and what systemd gave us, by name. Called by command_auth.c and
 * command_secret.c. No keychain is asked, and nothing of a value is shown
 * but the last four characters of a key that were noted when it was set.
 */
#ifndef SUPERVISOR_COMMAND_AUTH_LIST_H
#define SUPERVISOR_COMMAND_AUTH_LIST_H

#include <stdbool.h>

#include "llm-broker/keyring/keyring_words.h"

struct auth_list {
	enum keyring_kind kind;
	const char *command;    /* its words, for faults */
	const char *rows;       /* the field of --json that holds them */
	const char *name;       /* the field of a row that names it */
	const char *credential; /* what systemd's names begin with */
	const char *none;       /* the sentence when there are none */
	bool has_last4;
};

/* Options and all; an exit code. */
int auth_list_run(const struct auth_list *list, int argc, char **argv);

#endif
