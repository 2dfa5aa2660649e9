/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one of systemd's credentials (see the header). Called by the job;
 * must never follow a link out of the folder, nor take a file that anybody
 * may read.
 */
#include "llm-broker/keyring/key_credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "llm-broker/keyring/key_rule.h"

/* What the names of the files begin with. */
static const char *const key_credentials_begin[KEYRING_KIND_COUNT] = {
    [KEYRING_KEY] = "agentnode.",
    [KEYRING_SECRET] = "agentnode-secret.",
};

#define KEY_CREDENTIALS_NAME_MAX (KEYRING_NAME_MAX + 32U)

/* The open file, or -1 and outcome says why. */
static int
key_credentials_open(
    int folder, const char *name, struct keyring_outcome *outcome)
{
	struct stat status;
	int fd = openat(folder, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		keyring_outcome_set(outcome, KEYRING_MISSING,
		    "there is no credential %s", name);
	else if (fd < 0 || fstat(fd, &status) != 0)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the credential %s cannot be read: %s", name,
		    strerror(errno));
	else if (!S_ISREG(status.st_mode))
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the credential %s is no regular file", name);
	else if ((status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the credential %s is open to other users (mode %04o)",
		    name, (unsigned)status.st_mode & 07777U);
	else
		return fd;
	fd_close(&fd);
	return -1;
}

static struct secret *
key_credentials_take(
    int fd, enum keyring_kind kind, struct keyring_outcome *outcome)
{
	char sentence[192];
	struct secret *key;
	enum key_rule rule = KEY_RULE_LONG;
	enum result result = secret_new(SECRET_MAX, &key);
	size_t at = 0;

	if (result == RESULT_OK)
		result = secret_read_fd(key, fd);
	if (result == RESULT_OK) {
		(void)secret_resize(key,
		    key_rule_trim(secret_bytes_borrow(key), secret_len(key)));
		rule = key_rule_check(
		    kind, secret_bytes_borrow(key), secret_len(key), &at);
		if (rule == KEY_RULE_OK)
			return key;
	}
	if (result != RESULT_OK && result != RESULT_TOO_LONG)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the credential cannot be read: %s", result_text(result));
	else {
		key_rule_sentence(kind, rule, key == NULL ? 0 : secret_len(key),
		    at, sentence, sizeof(sentence));
		keyring_outcome_set(outcome, KEYRING_BAD_KEY,
		    "the credential cannot be used: %s", sentence);
	}
	secret_free(&key);
	return NULL;
}

struct secret *
key_credentials_read(const struct keyring_config *config, const char *name,
    struct keyring_outcome *outcome)
{
	char file[KEY_CREDENTIALS_NAME_MAX];
	FD_CLEANUP int fd = -1;

	if (config->credentials_fd < 0) {
		key_credentials_test(config, outcome);
		return NULL;
	}
	(void)snprintf(file, sizeof(file), "%s%s",
	    key_credentials_begin[config->kind], name);
	fd = key_credentials_open(config->credentials_fd, file, outcome);
	return fd < 0 ? NULL : key_credentials_take(fd, config->kind, outcome);
}

void
key_credentials_refuse(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	const char *begin = key_credentials_begin[config->kind];

	keyring_outcome_set(outcome, KEYRING_READ_ONLY,
	    "credentials belong to systemd: 'systemd-creds encrypt "
	    "--name=%s%s - FILE' makes one, and the unit has "
	    "LoadCredentialEncrypted=%s%s:FILE",
	    begin, config->name, begin, config->name);
}

void
key_credentials_test(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	if (config->credentials_fd >= 0)
		outcome->status = KEYRING_OK;
	else
		keyring_outcome_set(outcome, KEYRING_NO_SERVICE,
		    "CREDENTIALS_DIRECTORY is not set: this was not started "
		    "by a systemd unit with LoadCredential=");
}
