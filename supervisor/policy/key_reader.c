/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the keys of a run (see the header). Called by the LLM part of a run
 * and by `auth test`. It must never read from a pair or a token: they pass
 * through closed.
 */
#include "supervisor/policy/key_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/keyring_call.h"

#define KEY_READER_DETAIL_MAX 768U

struct key_reader_item {
	char provider[KEYRING_PROVIDER_MAX + 1];
	int pair; /* owned */
};

struct key_reader {
	struct event_base *base;
	struct event *next; /* starts the first that waits */
	struct keyring_call *call;
	struct key_reader_item waiting[KEY_READER_WAITING_MAX];
	size_t count; /* waiting[0] is under way while call is there */
	bool noted;   /* of waiting[0] */
	bool given;   /* a passphrase was: no person is asked for one */
	bool piped;   /* to the helper under way */
	int passphrase_fd, token_fd; /* -1 */
	key_reader_done *done;
	void *context;
};

/* Of systemd, by its name alone. */
static bool
key_reader_has_credential(const char *provider)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char path[4096];
	int len;

	if (folder == NULL || folder[0] != '/')
		return false;
	len = snprintf(path, sizeof(path), "%s/agentnode.%s", folder, provider);
	return len > 0 && (size_t)len < sizeof(path) && access(path, F_OK) == 0;
}

enum result
key_reader_backend(const char *provider, enum keyring_backend *backend_r,
    bool *noted_r, char *detail_r, size_t size)
{
	struct json_fault fault = {""};
	struct credential credential;
	struct config *config = NULL;
	enum result result =
	    credential_find(KEYRING_KEY, provider, &credential, &fault);

	*noted_r = result == RESULT_OK;
	*backend_r = credential.backend;
	if (result == RESULT_NOT_FOUND && key_reader_has_credential(provider)) {
		*backend_r = KEYRING_CREDENTIALS;
		*noted_r = true;
		result = RESULT_OK;
	}
	if (result == RESULT_NOT_FOUND) {
		result = config_load(&config, &fault);
		if (result == RESULT_OK)
			(void)keyring_words_find_backend(
			    config_text(config, "auth.backend"), backend_r);
		config_free(&config);
	}
	(void)snprintf(detail_r, size, "%s", fault.text);
	return result;
}

/* The first is through; the next one begins from the loop. */
static void
key_reader_finish(
    struct key_reader *reader, enum keyring_status status, const char *detail)
{
	struct timeval now = event_loop_timeval(0);
	char provider[KEYRING_PROVIDER_MAX + 1], text[KEY_READER_DETAIL_MAX];

	(void)snprintf(
	    provider, sizeof(provider), "%s", reader->waiting[0].provider);
	if (status != KEYRING_OK && !reader->noted)
		(void)snprintf(text, sizeof(text),
		    "no key is set for %s ('agentnode auth set %s' sets "
		    "one)%s%s",
		    provider, provider, detail[0] != '\0' ? ": " : "", detail);
	else
		(void)snprintf(text, sizeof(text), "%s", detail);
	fd_close(&reader->waiting[0].pair);
	reader->count--;
	memmove(&reader->waiting[0], &reader->waiting[1],
	    reader->count * sizeof(reader->waiting[0]));
	if (reader->count > 0)
		(void)event_add(reader->next, &now);
	reader->done(provider, status, text, reader->context);
}

static void
key_reader_on_done(struct keyring_answer *answer, void *context)
{
	struct key_reader *reader = context;

	if (answer->token_fd >= 0) {
		fd_close(&reader->token_fd);
		reader->token_fd = answer->token_fd;
		answer->token_fd = -1;
		fd_close(&reader->passphrase_fd);
	}
	/* The pipe is still full when the key was not in the file. */
	if (reader->piped && answer->status != KEYRING_MISSING)
		fd_close(&reader->passphrase_fd);
	key_reader_finish(reader, answer->status, answer->detail);
}

/* What opens keys.enc: what we have of it, what was handed to us, or a
 * person. A terminal is opened here; the caller closes it. */
static void
key_reader_passphrase(
    struct key_reader *reader, struct keyring_call_spec *spec, int *terminal_r)
{
	*terminal_r = -1;
	if (spec->backend != KEYRING_FILE)
		return;
	if (reader->token_fd >= 0) {
		spec->passphrase = KEYRING_INPUT_TOKEN;
		spec->passphrase_fd = reader->token_fd;
	} else if (reader->passphrase_fd >= 0) {
		spec->passphrase = KEYRING_INPUT_PIPE;
		spec->passphrase_fd = reader->passphrase_fd;
	} else if (!reader->given) {
		*terminal_r = keyring_call_terminal();
		if (*terminal_r >= 0)
			spec->passphrase = KEYRING_INPUT_TERMINAL;
		spec->passphrase_fd = *terminal_r;
	}
}

static enum result
key_reader_start(struct key_reader *reader, enum keyring_backend backend)
{
	static const struct keyring_call_handlers handlers = {
	    NULL, key_reader_on_done};
	struct key_reader_item *item = &reader->waiting[0];
	struct keyring_call_spec spec = {.op = KEYRING_READ,
	    .backend = backend,
	    .name = item->provider,
	    .pair_fd = item->pair,
	    .source_fd = -1,
	    .passphrase_fd = -1};
	FD_CLEANUP int terminal = -1;
	enum result result;

	key_reader_passphrase(reader, &spec, &terminal);
	result = keyring_call_start(
	    reader->base, &spec, &handlers, reader, &reader->call);
	reader->piped = spec.passphrase == KEYRING_INPUT_PIPE;
	fd_close(&item->pair);
	return result;
}

static void
key_reader_on_next(evutil_socket_t fd, short what, void *context)
{
	struct key_reader *reader = context;
	char detail[JSON_FIELD_FAULT_MAX];
	enum keyring_backend backend;
	enum result result;

	(void)fd;
	(void)what;
	keyring_call_free(&reader->call);
	if (reader->count == 0)
		return;
	result = key_reader_backend(reader->waiting[0].provider, &backend,
	    &reader->noted, detail, sizeof(detail));
	if (result == RESULT_OK)
		result = key_reader_start(reader, backend);
	else
		reader->noted = true; /* we do not know */
	if (result != RESULT_OK)
		key_reader_finish(reader, KEYRING_FAILED,
		    detail[0] != '\0' ? detail
				      : "agentnode-keyring could not be "
					"started");
}

enum result
key_reader_new(struct event_base *base, int passphrase_fd,
    key_reader_done *done, void *context, struct key_reader **reader_r)
{
	struct key_reader *reader = calloc(1, sizeof(*reader));

	*reader_r = NULL;
	if (reader == NULL)
		return RESULT_NO_MEMORY;
	reader->base = base;
	reader->done = done;
	reader->context = context;
	reader->token_fd = reader->passphrase_fd = -1;
	reader->given = passphrase_fd >= 0;
	if (reader->given)
		reader->passphrase_fd =
		    fcntl(passphrase_fd, F_DUPFD_CLOEXEC, 3);
	reader->next = event_new(base, -1, 0, key_reader_on_next, reader);
	if (reader->next == NULL ||
	    (passphrase_fd >= 0 && reader->passphrase_fd < 0)) {
		key_reader_free(&reader);
		return RESULT_NO_MEMORY;
	}
	*reader_r = reader;
	return RESULT_OK;
}

enum result
key_reader_read(struct key_reader *reader, const char *provider, int pair)
{
	struct timeval now = event_loop_timeval(0);
	struct key_reader_item *item;

	if (reader->count >= KEY_READER_WAITING_MAX ||
	    !keyring_words_is_provider(provider)) {
		fd_close(&pair);
		return RESULT_TOO_LONG;
	}
	item = &reader->waiting[reader->count++];
	(void)snprintf(item->provider, sizeof(item->provider), "%s", provider);
	item->pair = pair;
	if (reader->count == 1)
		(void)event_add(reader->next, &now);
	return RESULT_OK;
}

void
key_reader_free(struct key_reader **reader)
{
	struct key_reader *gone = *reader;

	if (gone == NULL)
		return;
	*reader = NULL;
	keyring_call_free(&gone->call);
	while (gone->count > 0)
		fd_close(&gone->waiting[--gone->count].pair);
	if (gone->next != NULL)
		event_free(gone->next);
	fd_close(&gone->passphrase_fd);
	fd_close(&gone->token_fd);
	free(gone);
}
