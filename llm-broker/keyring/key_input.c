/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a key or passphrase in (see the header). Called by the job and the
 * encrypted file; must never keep a byte of one outside of locked memory.
 */
#include "llm-broker/keyring/key_input.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc.h"
#include "llm-broker/keyring/key_rule.h"
#include "llm-broker/keyring/key_terminal.h"

/* Wait for the descriptor without holding on to it when we are alone. */
static enum result
key_input_wait(int fd)
{
	struct pollfd fds[] = {
	    {.fd = fd, .events = POLLIN},
	    {.fd = IPC_CONTROL_FD, .events = 0},
	};

	for (;;) {
		if (poll(fds, 2, -1) >= 0)
			return fds[1].revents != 0 ? RESULT_CLOSED : RESULT_OK;
		if (errno != EINTR)
			return RESULT_SYSTEM;
	}
}

/* To its end, which belongs to somebody else and may not block. */
static enum result
key_input_pipe(int fd, struct secret *secret)
{
	size_t len = 0, room = SECRET_MAX;
	uint8_t *bytes = secret_resize(secret, room);
	enum result result;
	ssize_t got;

	for (;;) {
		result = key_input_wait(fd);
		if (result != RESULT_OK)
			return result;
		if (len == room)
			return RESULT_TOO_LONG;
		got = read(fd, bytes + len, room - len);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return RESULT_SYSTEM;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	(void)secret_resize(secret, len);
	(void)secret_resize(secret, key_rule_trim(bytes, len));
	return RESULT_OK;
}

static void
key_input_failed(
    enum result result, const char *what, struct keyring_outcome *outcome)
{
	if (result == RESULT_REFUSED)
		keyring_outcome_set(
		    outcome, KEYRING_CANCELLED, "cancelled; nothing changed");
	else if (result == RESULT_TOO_LONG)
		keyring_outcome_set(outcome, KEYRING_BAD_KEY,
		    "the %s is longer than %u bytes", what,
		    strcmp(what, "secret") == 0 ? KEY_RULE_SECRET_MAX
						: KEY_RULE_MAX);
	else if (result == RESULT_UNSUPPORTED)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "no memory can be locked for the %s: RLIMIT_MEMLOCK is "
		    "too small",
		    what);
	else
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "the %s could not be read: %s", what,
		    result == RESULT_SYSTEM ? strerror(errno)
					    : result_text(result));
}

static struct secret *
key_input_read(enum keyring_input from, int fd, const char *prompt,
    const char *what, struct keyring_outcome *outcome)
{
	struct secret *secret;
	enum result result = secret_new(SECRET_MAX, &secret);

	if (result == RESULT_OK && from == KEYRING_INPUT_TERMINAL)
		result = key_terminal_ask(fd, prompt, secret);
	else if (result == RESULT_OK)
		result = key_input_pipe(fd, secret);
	if (result == RESULT_OK)
		return secret;
	key_input_failed(result, what, outcome);
	secret_free(&secret);
	return NULL;
}

struct secret *
key_input_key(
    const struct keyring_config *config, struct keyring_outcome *outcome)
{
	bool is_key = config->kind == KEYRING_KEY;
	char prompt[128], sentence[192];
	struct secret *key;
	enum key_rule rule;
	size_t len, at;

	(void)snprintf(prompt, sizeof(prompt),
	    "%s %s (it is not shown): ", is_key ? "Key for" : "Secret",
	    config->name);
	key = key_input_read(config->source, config->source_fd, prompt,
	    keyring_words_kind(config->kind), outcome);
	if (key == NULL)
		return NULL;
	len = secret_len(key);
	rule = key_rule_check(config->kind, secret_bytes_borrow(key), len, &at);
	if (rule == KEY_RULE_OK) {
		if (is_key)
			key_rule_last4(
			    secret_bytes_borrow(key), len, outcome->last4);
		return key;
	}
	key_rule_sentence(
	    config->kind, rule, len, at, sentence, sizeof(sentence));
	keyring_outcome_set(outcome, KEYRING_BAD_KEY, "%s", sentence);
	secret_free(&key);
	return NULL;
}

/* Typed once more, for a passphrase that nothing can be compared with. */
static bool
key_input_again(
    int fd, const struct secret *first, struct keyring_outcome *outcome)
{
	struct secret *second = key_input_read(KEYRING_INPUT_TERMINAL, fd,
	    "The same passphrase again: ", "passphrase", outcome);
	bool same = second != NULL && secret_equal(first, second);

	if (second != NULL && !same)
		keyring_outcome_set(outcome, KEYRING_WRONG_PASSPHRASE,
		    "the two passphrases differ; nothing changed");
	secret_free(&second);
	return same;
}

struct secret *
key_input_passphrase(const struct keyring_config *config, bool is_new,
    struct keyring_outcome *outcome)
{
	int fd = config->passphrase_fd;
	struct secret *passphrase;
	char prompt[96];

	(void)snprintf(prompt, sizeof(prompt), "%s %s.enc (it is not shown): ",
	    is_new ? "New passphrase for" : "Passphrase of",
	    config->kind == KEYRING_KEY ? "keys" : "secrets");
	passphrase = key_input_read(
	    config->passphrase, fd, prompt, "passphrase", outcome);

	if (passphrase == NULL)
		return NULL;
	if (is_new && (secret_len(passphrase) < KEY_INPUT_PASSPHRASE_MIN ||
			  secret_len(passphrase) > KEY_INPUT_PASSPHRASE_MAX))
		keyring_outcome_set(outcome, KEYRING_WRONG_PASSPHRASE,
		    "a passphrase has %u to %u bytes; nothing changed",
		    KEY_INPUT_PASSPHRASE_MIN, KEY_INPUT_PASSPHRASE_MAX);
	else if (secret_len(passphrase) == 0)
		keyring_outcome_set(outcome, KEYRING_WRONG_PASSPHRASE,
		    "the passphrase is empty");
	else if (!is_new || config->passphrase != KEYRING_INPUT_TERMINAL ||
		 key_input_again(fd, passphrase, outcome))
		return passphrase;
	secret_free(&passphrase);
	return NULL;
}
