/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the config message. Called once by the helper's main. An unknown
 * option, a descriptor that is used twice or not at all, and a job without
 * what it needs are refused with their name.
 */
#include "llm-broker/keyring/keyring_config.h"

#include <stdio.h>
#include <string.h>

static void
keyring_config_words(const json_t *options, struct keyring_config *config_r,
    struct json_fault *fault)
{
	const char *op = NULL, *backend = NULL, *source = "none";
	const char *kind = "key";
	const char *passphrase = "none";

	json_field_string(options, "options", "op", 32, &op, fault);
	json_field_string_opt(options, "options", "kind", 32, &kind, fault);
	json_field_string(options, "options", "backend", 32, &backend, fault);
	json_field_string_opt(options, "options", "source", 32, &source, fault);
	json_field_string_opt(
	    options, "options", "passphrase", 32, &passphrase, fault);
	if (fault->text[0] != '\0')
		return;
	if (!keyring_words_find_kind(kind, &config_r->kind))
		json_field_fault(fault, "options.kind: '%s' is none", kind);
	if (!keyring_words_find_op(op, &config_r->op))
		json_field_fault(fault, "options.op: '%s' is none", op);
	if (!keyring_words_find_backend(backend, &config_r->backend))
		json_field_fault(
		    fault, "options.backend: '%s' is none", backend);
	if (!keyring_words_find_input(source, &config_r->source) ||
	    config_r->source == KEYRING_INPUT_TOKEN)
		json_field_fault(fault, "options.source: '%s' is none", source);
	if (!keyring_words_find_input(passphrase, &config_r->passphrase))
		json_field_fault(
		    fault, "options.passphrase: '%s' is none", passphrase);
}

static void
keyring_config_texts(const json_t *options, struct keyring_config *config_r,
    struct json_fault *fault)
{
	const char *name = "", *home_id = NULL, *bus = "";

	json_field_string_opt(
	    options, "options", "name", KEYRING_NAME_MAX, &name, fault);
	json_field_string(options, "options", "home_id", KEYRING_CONFIG_HOME_ID,
	    &home_id, fault);
	json_field_string_opt(
	    options, "options", "bus", KEYRING_CONFIG_BUS_MAX, &bus, fault);
	if (fault->text[0] != '\0')
		return;
	if (strspn(home_id, "0123456789abcdef") != KEYRING_CONFIG_HOME_ID)
		json_field_fault(
		    fault, "options.home_id: must be 16 hex digits");
	if (!keyring_words_is_name(config_r->kind, name) &&
	    (name[0] != '\0' || (config_r->op != KEYRING_TEST &&
				    config_r->op != KEYRING_FETCH)))
		json_field_fault(fault, "options.name: is no name");
	(void)snprintf(config_r->name, sizeof(config_r->name), "%s", name);
	(void)snprintf(
	    config_r->home_id, sizeof(config_r->home_id), "%s", home_id);
	(void)snprintf(config_r->bus, sizeof(config_r->bus), "%s", bus);
}

/* The names of a fetch, each once. */
static void
keyring_config_names(const json_t *options, struct keyring_config *config_r,
    struct json_fault *fault)
{
	const json_t *list = json_object_get(options, "names");
	size_t count = json_array_size(list);

	if (list == NULL)
		return;
	if (!json_is_array(list) || count == 0 ||
	    count > KEYRING_CONFIG_NAMES_MAX) {
		json_field_fault(fault, "options.names: 1 to %u names",
		    KEYRING_CONFIG_NAMES_MAX);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(list, i));
		bool good =
		    name != NULL && keyring_words_is_name(config_r->kind, name);

		for (size_t k = 0; good && k < i; k++)
			good = strcmp(config_r->names[k], name) != 0;
		if (!good) {
			json_field_fault(fault,
			    "options.names[%zu]: is no name, or there twice",
			    i);
			return;
		}
		(void)snprintf(
		    config_r->names[i], sizeof(config_r->names[i]), "%s", name);
	}
	config_r->name_count = count;
}

static void
keyring_config_times(const json_t *options, struct keyring_config *config_r,
    struct json_fault *fault)
{
	int64_t unlock = 0, deadline = KEYRING_CONFIG_DEADLINE_MS;

	json_field_int_opt(options, "options", "unlock_ms", 0,
	    KEYRING_CONFIG_UNLOCK_MAX_MS, &unlock, fault);
	json_field_int_opt(options, "options", "deadline_ms", 100,
	    KEYRING_CONFIG_DEADLINE_MS, &deadline, fault);
	config_r->unlock_ms = (unsigned)unlock;
	config_r->deadline_ms = (unsigned)deadline;
}

/* The descriptor that options[key] names, taken; -1 when it names none. */
static int
keyring_config_fd(struct ipc_message *message, const json_t *options,
    const char *key, struct json_fault *fault)
{
	int64_t index = 0;
	int fd;

	json_field_int_opt(
	    options, "options", key, 1, IPC_FDS_MAX - 1, &index, fault);
	if (index == 0 || fault->text[0] != '\0')
		return -1;
	fd = ipc_message_take_fd(message, (size_t)index);
	if (fd < 0)
		json_field_fault(fault,
		    "options.%s: there is no descriptor %lld, or it is used "
		    "twice",
		    key, (long long)index);
	return fd;
}

static void
keyring_config_fds(struct ipc_message *message, const json_t *options,
    struct keyring_config *config_r, struct json_fault *fault)
{
	config_r->pair_fd =
	    keyring_config_fd(message, options, "pair_fd", fault);
	config_r->home_fd =
	    keyring_config_fd(message, options, "home_fd", fault);
	config_r->credentials_fd =
	    keyring_config_fd(message, options, "credentials_fd", fault);
	config_r->source_fd =
	    keyring_config_fd(message, options, "source_fd", fault);
	config_r->passphrase_fd =
	    keyring_config_fd(message, options, "passphrase_fd", fault);
	config_r->block_fd =
	    keyring_config_fd(message, options, "block_fd", fault);
	for (size_t i = 0; i < message->fd_count; i++) {
		if (message->fds[i] >= 0)
			json_field_fault(
			    fault, "config: descriptor %zu has no name", i);
	}
}

/* Everything that the job needs is there. */
static void
keyring_config_whole(
    const struct keyring_config *config, struct json_fault *fault)
{
	if (config->kind == KEYRING_SECRET ? config->op == KEYRING_READ
					   : config->op == KEYRING_FETCH)
		json_field_fault(
		    fault, "options.op: read is for keys, fetch for secrets");
	if ((config->name_count > 0) != (config->op == KEYRING_FETCH))
		json_field_fault(fault, "options.names: is for fetch");
	if (config->block_fd >= 0 && config->op != KEYRING_FETCH)
		json_field_fault(fault, "options.block_fd: is for fetch");
	if ((config->pair_fd >= 0) != (config->op == KEYRING_READ))
		json_field_fault(fault, "options.pair_fd: is for read");
	if ((config->home_fd >= 0) != (config->backend == KEYRING_FILE))
		json_field_fault(fault, "options.home_fd: is for file");
	if (config->credentials_fd >= 0 &&
	    config->backend != KEYRING_CREDENTIALS)
		json_field_fault(
		    fault, "options.credentials_fd: is for credentials");
	if ((config->source_fd >= 0) != (config->op == KEYRING_STORE) ||
	    (config->source_fd >= 0) != (config->source != KEYRING_INPUT_NONE))
		json_field_fault(fault, "options.source: is for store");
	if ((config->passphrase_fd >= 0) !=
	    (config->passphrase != KEYRING_INPUT_NONE))
		json_field_fault(
		    fault, "options.passphrase: needs its descriptor");
}

void
keyring_config_read(struct ipc_message *message,
    struct keyring_config *config_r, struct json_fault *fault)
{
	static const char *const known[] = {"op", "kind", "backend", "name",
	    "names",

	    "home_id", "bus", "unlock_ms", "deadline_ms", "source",
	    "passphrase", "pair_fd", "home_fd", "credentials_fd", "source_fd",
	    "passphrase_fd", "block_fd", NULL};
	const json_t *options = NULL;

	memset(config_r, 0, sizeof(*config_r));
	config_r->log_fd = ipc_message_take_fd(message, 0);
	json_field_object(message->body, "config", "options", &options, fault);
	if (config_r->log_fd < 0)
		json_field_fault(fault, "config: there is no log");
	if (fault->text[0] != '\0')
		return;
	json_field_only(options, "options", known, fault);
	keyring_config_words(options, config_r, fault);
	keyring_config_texts(options, config_r, fault);
	keyring_config_names(options, config_r, fault);
	keyring_config_times(options, config_r, fault);
	keyring_config_fds(message, options, config_r, fault);
	if (fault->text[0] == '\0')
		keyring_config_whole(config_r, fault);
}
