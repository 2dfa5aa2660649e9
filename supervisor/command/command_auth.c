/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode auth set|list|test|remove`: the keys of the LLM providers. Called
 * by command_dispatch. This program never sees a key: agentnode-keyring takes
 * it from the terminal or descriptor that it is handed.
 */
#include <dirent.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/auth_option.h"
#include "supervisor/command/auth_store.h"
#include "supervisor/command/auth_test.h"
#include "supervisor/command/command.h"
#include "supervisor/policy/credential.h"

#define COMMAND_AUTH_CREDENTIAL "agentnode."

static int
command_auth_set(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_KEY, AUTH_OPTION_SET, argc, argv, &option);

	if (code == COMMAND_DONE)
		code = auth_option_provider(&option);
	if (code == COMMAND_DONE)
		code = auth_option_backend(&option);
	if (code != COMMAND_DONE)
		return code;
	code = auth_option_open(&option);
	if (code == COMMAND_DONE)
		code = auth_store_set(&option);
	auth_option_close(&option);
	return code;
}

static int
command_auth_remove(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_KEY, AUTH_OPTION_REMOVE, argc, argv, &option);

	return code == COMMAND_DONE ? auth_store_remove(&option) : code;
}

static int
command_auth_test(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_KEY, AUTH_OPTION_TEST, argc, argv, &option);

	if (code == COMMAND_DONE)
		code = auth_option_provider(&option);
	if (code == COMMAND_DONE)
		code = auth_test_run(&option);
	auth_option_close(&option);
	return code;
}

static json_t *
command_auth_row(const char *provider, const char *backend, const json_t *last4,
    const json_t *stored_at)
{
	return json_pack("{s:s, s:s, s:O, s:O}", "provider", provider,
	    "backend", backend, "last4", last4 != NULL ? last4 : json_null(),
	    "stored_at", stored_at != NULL ? stored_at : json_null());
}

/* What systemd gave us, by name; not what auth set noted. */
static void
command_auth_credentials(const json_t *providers, json_t *rows)
{
	const char *path = getenv("CREDENTIALS_DIRECTORY");
	size_t begin = strlen(COMMAND_AUTH_CREDENTIAL);
	const struct dirent *entry;
	DIR *folder;

	if (path == NULL || path[0] != '/')
		return;
	folder = opendir(path);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		const char *name = entry->d_name + begin;

		if (strncmp(entry->d_name, COMMAND_AUTH_CREDENTIAL, begin) ==
			0 &&
		    keyring_words_is_provider(name) &&
		    json_object_get(providers, name) == NULL)
			(void)json_array_append_new(rows,
			    command_auth_row(name, "credentials", NULL, NULL));
	}
	if (folder != NULL)
		(void)closedir(folder);
}

static int
command_auth_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* By name, whatever order the file has. */
static json_t *
command_auth_table(const json_t *providers)
{
	const char *names[CREDENTIAL_MAX], *name;
	json_t *rows = json_array(), *entry;
	size_t count = 0;

	json_object_foreach((json_t *)(uintptr_t)providers, name, entry)
	{
		if (count < CREDENTIAL_MAX)
			names[count++] = name;
	}
	qsort(names, count, sizeof(names[0]), command_auth_compare);
	for (size_t i = 0; i < count; i++) {
		entry = json_object_get(providers, names[i]);
		(void)json_array_append_new(rows,
		    command_auth_row(names[i],
			json_string_value(json_object_get(entry, "backend")),
			json_object_get(entry, "last4"),
			json_object_get(entry, "stored_at")));
	}
	command_auth_credentials(providers, rows);
	return rows;
}

static void
command_auth_print(const json_t *rows)
{
	const char *last4, *stored_at;
	char key[16];
	json_t *row;
	size_t i;

	if (json_array_size(rows) == 0)
		printf("No key is set; 'agentnode auth set PROVIDER' sets "
		       "one.\n");
	json_array_foreach(rows, i, row)
	{
		last4 = json_string_value(json_object_get(row, "last4"));
		stored_at =
		    json_string_value(json_object_get(row, "stored_at"));
		(void)snprintf(key, sizeof(key), "%s%s",
		    last4 != NULL ? "..." : "set", last4 != NULL ? last4 : "");
		printf("%-32s %-15s %-8s %s\n",
		    json_string_value(json_object_get(row, "provider")),
		    json_string_value(json_object_get(row, "backend")), key,
		    stored_at != NULL ? stored_at : "-");
	}
}

static int
command_auth_list(int argc, char **argv)
{
	static const struct option known[] = {
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct json_fault fault = {""};
	json_t *providers, *rows, *answer;
	bool json = false;
	enum result result;
	int option, code = COMMAND_DONE;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option != 'j')
			return command_option_fault("auth list");
		json = true;
	}
	if (optind != argc)
		return command_option_fault("auth list");
	result = credential_load(KEYRING_KEY, &providers, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	rows = command_auth_table(providers);
	json_decref(providers);
	if (json) {
		answer = json_pack("{s:O}", "keys", rows);
		code = command_print_json(answer);
		json_decref(answer);
	} else
		command_auth_print(rows);
	json_decref(rows);
	return code;
}

const struct command command_auth_rows[] = {
    {"auth set", "store the key of an LLM provider",
	"Usage: agentnode auth set PROVIDER [--from-env VAR | --from-fd N]\n"
	"           [--backend WHERE] [--passphrase-fd N]\n\n"
	"Asks for the key without showing it, and stores it where the host\n"
	"keeps secrets. A key never goes on the command line. Runs that are\n"
	"alive use the new key from their next call on. One newline at the\n"
	"end is cut off; a key is one word of printable ASCII without '%'\n"
	"and backslashes, 16 to 2048 bytes. Exit code 130: cancelled.\n\n"
	"Options:\n"
	"  --from-env VAR      take it from this variable\n"
	"  --from-fd N         take it from this descriptor, to its end\n"
	"  --backend WHERE     secret_service: the desktop's keychain\n"
	"                      file: AGENTNODE_HOME/keys.enc, encrypted under\n"
	"                      a passphrase\n"
	"                      credentials: systemd's; read only, says how\n"
	"                      (default: the configuration's auth.backend)\n"
	"  --passphrase-fd N   file: take the passphrase from there\n\n"
	"Example:\n"
	"  agentnode auth set openai\n"
	"  pass show openai | agentnode auth set openai --from-fd 0\n",
	command_auth_set},
    {"auth list", "list the providers that have a key",
	"Usage: agentnode auth list [--json]\n\n"
	"One line per key: provider, where it is stored, its last four\n"
	"characters (only of keys of 20 bytes or more), and since when.\n"
	"Reads AGENTNODE_HOME/credentials.json; no keychain is asked.\n\n"
	"Options:\n"
	"  --json   {\"keys\": [{\"provider\", \"backend\", \"last4\",\n"
	"           \"stored_at\"}]}\n\n"
	"Example:\n"
	"  agentnode auth list\n",
	command_auth_list},
    {"auth test", "ask a provider whether it takes the stored key",
	"Usage: agentnode auth test PROVIDER [--passphrase-fd N]\n\n"
	"One call for the provider's list of models, with the stored key, on\n"
	"the way that an agent's call goes. Exit codes: 0 the provider takes\n"
	"the key, 1 it refuses it, 5 no key is set, 4 it could not be found\n"
	"out (the keychain, the network, or an error of the provider's).\n\n"
	"Options:\n"
	"  --passphrase-fd N   for a key in keys.enc; else it is asked for\n\n"
	"Example:\n"
	"  agentnode auth test openai\n",
	command_auth_test},
    {"auth remove", "remove the key of a provider",
	"Usage: agentnode auth remove PROVIDER [--backend WHERE]\n\n"
	"Exit code 1 when there is none. Calls of runs that are alive are\n"
	"refused from then on.\n\n"
	"Options:\n"
	"  --backend WHERE   there, even if credentials.json does not know\n"
	"                    of it: secret_service, file\n\n"
	"Example:\n"
	"  agentnode auth remove openai\n",
	command_auth_remove},
    {NULL, NULL, NULL, NULL},
};
