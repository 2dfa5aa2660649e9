/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the helper's options (see the header). It must never pass a whole
 * environment on, nor a D-Bus address that leaves this machine or starts a
 * program.
 */
#include "supervisor/policy/keyring_options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "llm-broker/keyring/keyring_config.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/state_dir.h"

#define KEYRING_OPTIONS_UNLOCK_MS 60000U
/* scrypt, a loaded machine, the start of a process. */
#define KEYRING_OPTIONS_SLACK_MS 10000U

static void
keyring_options_set(
    struct keyring_options *options, const char *key, json_t *value)
{
	(void)json_object_set_new(
	    json_object_get(options->config, "options"), key, value);
}

/* One more descriptor, under a name; its index. */
static size_t
keyring_options_add(struct keyring_options *options, const char *key, int fd)
{
	if (fd < 0 || options->fd_count >= KEYRING_OPTIONS_FDS)
		return 0;
	options->fds[options->fd_count] = fd;
	keyring_options_set(
	    options, key, json_integer((json_int_t)options->fd_count));
	return options->fd_count++;
}

/* Each address of the list is a unix socket: another transport would carry
 * the key over a network or start a program. */
static bool
keyring_options_is_bus(const char *address)
{
	for (;;) {
		if (strncmp(address, "unix:", 5) != 0)
			return false;
		address = strchr(address, ';');
		if (address == NULL || address[1] == '\0')
			return true;
		address++;
	}
}

/* As D-Bus clients look for it, without starting anything. */
static void
keyring_options_bus(struct keyring_options *options)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const char *run = getenv("XDG_RUNTIME_DIR");
	char path[KEYRING_CONFIG_BUS_MAX];
	struct stat status;
	int len;

	if (address == NULL || address[0] == '\0') {
		if (run == NULL || run[0] != '/' ||
		    strpbrk(run, ",;=%\\") != NULL)
			return;
		len = snprintf(path, sizeof(path), "unix:path=%s/bus", run);
		if (len < 0 || (size_t)len >= sizeof(path) ||
		    stat(path + strlen("unix:path="), &status) != 0 ||
		    !S_ISSOCK(status.st_mode))
			return;
		address = path;
	}
	if (strlen(address) <= KEYRING_CONFIG_BUS_MAX &&
	    keyring_options_is_bus(address))
		keyring_options_set(options, "bus", json_string(address));
}

static bool
keyring_options_has(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0';
}

/* Somebody can be asked by the keychain's own window. */
static void
keyring_options_unlock(
    struct keyring_options *options, const struct keyring_call_spec *spec)
{
	if (spec->quiet || spec->op == KEYRING_TEST ||
	    (!keyring_options_has("DISPLAY") &&
		!keyring_options_has("WAYLAND_DISPLAY")))
		return;
	options->limit_ms += KEYRING_OPTIONS_UNLOCK_MS;
	keyring_options_set(
	    options, "unlock_ms", json_integer(KEYRING_OPTIONS_UNLOCK_MS));
}

static enum result
keyring_options_home(struct keyring_options *options)
{
	struct json_fault fault = {""};
	struct state_dir home;
	enum result result = state_dir_home(true, &home, &fault);

	if (result == RESULT_OK)
		options->own[0] =
		    keyring_options_add(options, "home_fd", home.fd);
	return result;
}

static void
keyring_options_credentials(struct keyring_options *options)
{
	const char *path = getenv("CREDENTIALS_DIRECTORY");
	int fd = -1;

	if (path != NULL && path[0] == '/')
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	options->own[1] = keyring_options_add(options, "credentials_fd", fd);
}

/* What only one of the places needs. */
static enum result
keyring_options_place(
    struct keyring_options *options, const struct keyring_call_spec *spec)
{
	switch (spec->backend) {
	case KEYRING_SECRET_SERVICE:
		keyring_options_bus(options);
		keyring_options_unlock(options, spec);
		return RESULT_OK;
	case KEYRING_CREDENTIALS:
		keyring_options_credentials(options);
		return RESULT_OK;
	case KEYRING_FILE:
		if (spec->passphrase != KEYRING_INPUT_NONE) {
			keyring_options_set(options, "passphrase",
			    json_string(keyring_words_input(spec->passphrase)));
			(void)keyring_options_add(
			    options, "passphrase_fd", spec->passphrase_fd);
		}
		return keyring_options_home(options);
	case KEYRING_BACKEND_COUNT:
		break;
	}
	return RESULT_INTERNAL;
}

enum result
keyring_options_make(const struct keyring_call_spec *spec, int log,
    struct keyring_options *options_r)
{
	unsigned deadline = spec->deadline_ms != 0 ? spec->deadline_ms
						   : KEYRING_CONFIG_DEADLINE_MS;
	char id[CREDENTIAL_HOME_ID + 1];
	struct json_fault fault = {""};
	enum result result;

	*options_r = (struct keyring_options){.fds = {log}, .fd_count = 1};
	options_r->limit_ms = deadline + KEYRING_OPTIONS_SLACK_MS;
	result = credential_home_id(id, &fault);
	if (result != RESULT_OK)
		return result;
	options_r->config = json_pack("{s:{s:s, s:s, s:s, s:s, s:i}}",
	    "options", "op", keyring_words_op(spec->op), "kind",
	    keyring_words_kind(spec->kind), "backend",
	    keyring_words_backend(spec->backend), "home_id", id, "deadline_ms",
	    (int)deadline);
	if (options_r->config == NULL)
		return RESULT_NO_MEMORY;
	if (spec->name != NULL)
		keyring_options_set(options_r, "name", json_string(spec->name));
	if (spec->op == KEYRING_FETCH)
		keyring_options_set(
		    options_r, "names", json_deep_copy(spec->names));
	if (spec->op == KEYRING_FETCH && spec->block_fd > 0)
		(void)keyring_options_add(
		    options_r, "block_fd", spec->block_fd);
	(void)keyring_options_add(options_r, "pair_fd", spec->pair_fd);
	if (spec->source != KEYRING_INPUT_NONE) {
		keyring_options_set(options_r, "source",
		    json_string(keyring_words_input(spec->source)));
		(void)keyring_options_add(
		    options_r, "source_fd", spec->source_fd);
	}
	return keyring_options_place(options_r, spec);
}

void
keyring_options_clear(struct keyring_options *options)
{
	for (size_t i = 0; i < 2; i++) {
		if (options->own[i] != 0)
			fd_close(&options->fds[options->own[i]]);
	}
	json_decref(options->config);
	options->config = NULL;
}
