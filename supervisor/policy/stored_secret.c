/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the helper for secrets; see stored_secret.h. It must never map or
 * read a memfd that came back.
 */
#include "supervisor/policy/stored_secret.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/keyring_call.h"

/* A run does not wait longer for a keychain that hangs. */
#define STORED_SECRET_DEADLINE_MS 5000U

/* One passphrase and one terminal per process. */
static struct {
	int passphrase_fd; /* borrowed; 0: none */
	int token_fd;      /* owned; 0: none */
	bool given;        /* a passphrase was: no terminal is asked */
	bool quiet;
} stored_secret_state;

/* Of systemd, by its name alone. */
static bool
stored_secret_has_credential(const char *name)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char path[4096];
	int len;

	if (folder == NULL || folder[0] != '/')
		return false;
	len = snprintf(
	    path, sizeof(path), "%s/agentnode-secret.%s", folder, name);
	return len > 0 && (size_t)len < sizeof(path) && access(path, F_OK) == 0;
}

enum result
stored_secret_find(
    const char *name, enum keyring_backend *backend_r, struct json_fault *fault)
{
	struct credential credential;
	enum result result =
	    credential_find(KEYRING_SECRET, name, &credential, fault);

	*backend_r = credential.backend;
	if (result != RESULT_NOT_FOUND || !stored_secret_has_credential(name))
		return result;
	*backend_r = KEYRING_CREDENTIALS;
	return RESULT_OK;
}

bool
stored_secret_is_there(const char *name)
{
	const char *value = getenv(name);
	struct json_fault fault = {""};
	enum keyring_backend backend;

	if (value != NULL)
		return value[0] != '\0';
	return stored_secret_find(name, &backend, &fault) == RESULT_OK;
}

/* What opens secrets.enc. A terminal is opened here; the caller closes. */
static void
stored_secret_unlock(struct keyring_call_spec *spec, int *terminal_r)
{
	*terminal_r = -1;
	if (spec->backend != KEYRING_FILE)
		return;
	if (stored_secret_state.token_fd > 0) {
		spec->passphrase = KEYRING_INPUT_TOKEN;
		spec->passphrase_fd = stored_secret_state.token_fd;
	} else if (stored_secret_state.passphrase_fd > 0) {
		spec->passphrase = KEYRING_INPUT_PIPE;
		spec->passphrase_fd = stored_secret_state.passphrase_fd;
		stored_secret_state.passphrase_fd = 0; /* read once */
	} else if (!stored_secret_state.quiet && !stored_secret_state.given) {
		*terminal_r = keyring_call_terminal();
		if (*terminal_r >= 0)
			spec->passphrase = KEYRING_INPUT_TERMINAL;
		spec->passphrase_fd = *terminal_r;
	}
}

enum keyring_status
stored_secret_fetch(enum keyring_backend backend, const json_t *names,
    int *block_fd, char *detail_r, size_t size)
{
	struct keyring_call_spec spec = {.op = KEYRING_FETCH,
	    .kind = KEYRING_SECRET,
	    .backend = backend,
	    .names = names,
	    .block_fd = *block_fd >= 0 ? *block_fd : 0,
	    .pair_fd = -1,
	    .source_fd = -1,
	    .passphrase_fd = -1,
	    .deadline_ms = STORED_SECRET_DEADLINE_MS,
	    .quiet = stored_secret_state.quiet};
	int block = -1, token = -1;
	FD_CLEANUP int terminal = -1;
	enum keyring_status status;

	stored_secret_unlock(&spec, &terminal);
	status = keyring_call_fetch(&spec, &block, &token, detail_r, size);
	if (token >= 0) {
		if (stored_secret_state.token_fd > 0)
			fd_close(&stored_secret_state.token_fd);
		stored_secret_state.token_fd = token;
	}
	if (status == KEYRING_OK && block < 0)
		status = KEYRING_FAILED;
	if (status != KEYRING_OK) {
		fd_close(&block);
		return status;
	}
	fd_close(block_fd);
	*block_fd = block;
	return KEYRING_OK;
}

void
stored_secret_passphrase(int fd)
{
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	stored_secret_state.passphrase_fd = fd;
	stored_secret_state.given = true;
}

void
stored_secret_quiet(void)
{
	stored_secret_state.quiet = true;
}
