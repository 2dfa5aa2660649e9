/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token (see the header). Called by key_vault.c; must never leave bytes
 * of it in a pipe that nobody holds, nor read from the pipe itself.
 */
#include "llm-broker/keyring/vault_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "llm-broker/keyring/vault_seal.h"

#define VAULT_TOKEN_LEN (VAULT_SALT + VAULT_SEAL_KEY)

int
vault_token_make(const struct vault *vault, const struct secret *master)
{
	struct secret *token = NULL;
	int ends[2] = {-1, -1};
	enum result result = secret_new(VAULT_TOKEN_LEN, &token);
	uint8_t *bytes;

	if (result == RESULT_OK && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		result = RESULT_SYSTEM;
	if (result == RESULT_OK) {
		bytes = secret_resize(token, VAULT_TOKEN_LEN);
		memcpy(bytes, vault->salt, VAULT_SALT);
		memcpy(bytes + VAULT_SALT, secret_bytes_borrow(master),
		    VAULT_SEAL_KEY);
		result = fd_write_all(ends[1], bytes, VAULT_TOKEN_LEN);
	}
	secret_free(&token);
	fd_close(&ends[1]);
	if (result != RESULT_OK)
		fd_close(&ends[0]);
	return ends[0];
}

/* A copy of what the pipe holds; the pipe itself is not read. */
static enum result
vault_token_copy(int fd, struct secret *token)
{
	uint8_t *bytes = secret_resize(token, VAULT_TOKEN_LEN);
	int ends[2];
	enum result result = RESULT_BAD;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return RESULT_SYSTEM;
	if (tee(fd, ends[1], VAULT_TOKEN_LEN + 1, SPLICE_F_NONBLOCK) ==
		(ssize_t)VAULT_TOKEN_LEN &&
	    read(ends[0], bytes, VAULT_TOKEN_LEN) == (ssize_t)VAULT_TOKEN_LEN)
		result = RESULT_OK;
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	return result;
}

enum result
vault_token_use(int fd, const struct vault *vault, struct secret **master_r)
{
	struct secret *token;
	enum result result = secret_new(VAULT_TOKEN_LEN, &token);

	*master_r = NULL;
	if (result != RESULT_OK)
		return result;
	result = vault_token_copy(fd, token);
	if (result == RESULT_OK &&
	    memcmp(secret_bytes_borrow(token), vault->salt, VAULT_SALT) != 0)
		result = RESULT_MISMATCH;
	if (result == RESULT_OK)
		result = secret_new(VAULT_SEAL_KEY, master_r);
	if (result == RESULT_OK)
		result = secret_set(*master_r,
		    secret_bytes_borrow(token) + VAULT_SALT, VAULT_SEAL_KEY);
	secret_free(&token);
	return result;
}
