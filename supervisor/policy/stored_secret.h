/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of packages that `agentnode secret set` keeps, on their way to a
 * sandbox: which there are (secrets.json, systemd's credentials), and a
 * sealed memfd with the values, made by agentnode-keyring and handed on
 * unread. Waits for the helper: used before anything runs. Used by
 * run_secret, doctor and explain.
 */
#ifndef SUPERVISOR_POLICY_STORED_SECRET_H
#define SUPERVISOR_POLICY_STORED_SECRET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "llm-broker/keyring/keyring_words.h"

/* Where it lies. RESULT_NOT_FOUND without fault: nobody stored one. Asks no
 * keychain. */
enum result stored_secret_find(const char *name,
    enum keyring_backend *backend_r, struct json_fault *fault);

/* Is there a value for it at all: a variable of ours, or a stored one? */
bool stored_secret_is_there(const char *name);

/* The names' values, behind those of *block_fd when that is not -1, which
 * is replaced. Not OK: detail_r is one sentence, *block_fd as it was. */
enum keyring_status stored_secret_fetch(enum keyring_backend backend,
    const json_t *names, int *block_fd, char *detail_r, size_t size);

/* secrets.enc opens with what is read from fd, once per process; without it
 * the terminal is asked. fd is the caller's and stays open. */
void stored_secret_passphrase(int fd);
/* From now on nobody is asked: neither for a passphrase nor to unlock. */
void stored_secret_quiet(void);

#endif
