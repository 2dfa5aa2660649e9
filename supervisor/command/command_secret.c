/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode secret set|list|remove`: secrets of packages, kept where the
 * host keeps secrets. Called by command_dispatch. This program never sees
 * one: agentnode-keyring takes it from the terminal or descriptor that it is
 * handed.
 */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/auth_option.h"
#include "supervisor/command/auth_store.h"
#include "supervisor/command/command.h"
#include "supervisor/package/secret_need.h"
#include "supervisor/policy/credential.h"

#define COMMAND_SECRET_CREDENTIAL "agentnode-secret."

static int
command_secret_set(int argc, char **argv)
{
	struct json_fault fault = {""};
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_SECRET, AUTH_OPTION_SET, argc, argv, &option);

	if (code == COMMAND_DONE && !secret_need_may(option.name, &fault))
		code = command_error(COMMAND_REFUSED, "%s", fault.text);
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
command_secret_remove(int argc, char **argv)
{
	struct auth_option option;
	int code = auth_option_parse(
	    KEYRING_SECRET, AUTH_OPTION_REMOVE, argc, argv, &option);

	return code == COMMAND_DONE ? auth_store_remove(&option) : code;
}

static json_t *
command_secret_row(
    const char *name, const char *backend, const json_t *stored_at)
{
	return json_pack("{s:s, s:s, s:O}", "name", name, "backend", backend,
	    "stored_at", stored_at != NULL ? stored_at : json_null());
}

/* What systemd gave us, by name; not what secret set noted. */
static void
command_secret_credentials(const json_t *secrets, json_t *rows)
{
	const char *path = getenv("CREDENTIALS_DIRECTORY");
	size_t begin = strlen(COMMAND_SECRET_CREDENTIAL);
	const struct dirent *entry;
	DIR *folder;

	if (path == NULL || path[0] != '/')
		return;
	folder = opendir(path);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		const char *name = entry->d_name + begin;

		if (strncmp(entry->d_name, COMMAND_SECRET_CREDENTIAL, begin) ==
			0 &&
		    keyring_words_is_name(KEYRING_SECRET, name) &&
		    json_object_get(secrets, name) == NULL)
			(void)json_array_append_new(rows,
			    command_secret_row(name, "credentials", NULL));
	}
	if (folder != NULL)
		(void)closedir(folder);
}

static int
command_secret_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* By name, whatever order the file has. */
static json_t *
command_secret_table(const json_t *secrets)
{
	const char *names[CREDENTIAL_MAX], *name;
	json_t *rows = json_array(), *entry;
	size_t count = 0;

	json_object_foreach((json_t *)(uintptr_t)secrets, name, entry)
	{
		if (count < CREDENTIAL_MAX)
			names[count++] = name;
	}
	if (count > 1)
		qsort(names, count, sizeof(names[0]), command_secret_compare);
	for (size_t i = 0; i < count; i++) {
		entry = json_object_get(secrets, names[i]);
		(void)json_array_append_new(rows,
		    command_secret_row(names[i],
			json_string_value(json_object_get(entry, "backend")),
			json_object_get(entry, "stored_at")));
	}
	command_secret_credentials(secrets, rows);
	return rows;
}

static void
command_secret_print(const json_t *rows)
{
	const char *stored_at;
	json_t *row;
	size_t i;

	if (json_array_size(rows) == 0)
		printf("No secret is stored; 'agentnode secret set NAME' "
		       "stores one.\n");
	json_array_foreach(rows, i, row)
	{
		stored_at =
		    json_string_value(json_object_get(row, "stored_at"));
		printf("%-32s %-15s %s\n",
		    json_string_value(json_object_get(row, "name")),
		    json_string_value(json_object_get(row, "backend")),
		    stored_at != NULL ? stored_at : "-");
	}
}

static int
command_secret_list(int argc, char **argv)
{
	static const struct option known[] = {
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct json_fault fault = {""};
	json_t *secrets, *rows, *answer;
	bool json = false;
	enum result result;
	int option, code = COMMAND_DONE;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option != 'j')
			return command_option_fault("secret list");
		json = true;
	}
	if (optind != argc)
		return command_option_fault("secret list");
	result = credential_load(KEYRING_SECRET, &secrets, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	rows = command_secret_table(secrets);
	json_decref(secrets);
	if (json) {
		answer = json_pack("{s:O}", "secrets", rows);
		code = command_print_json(answer);
		json_decref(answer);
	} else
		command_secret_print(rows);
	json_decref(rows);
	return code;
}

extern const struct command command_secret_rows[];
const struct command command_secret_rows[] = {
    {"secret set", "store a secret for packages that ask for it",
	"Usage: agentnode secret set NAME [--from-env VAR | --from-fd N]\n"
	"           [--backend WHERE] [--passphrase-fd N]\n\n"
	"Asks for the value without showing it, and stores it where the host\n"
	"keeps secrets. A package that asks for the variable NAME, and that\n"
	"`agentnode consent add` gave it, has it at its next start; a "
	"variable\n"
	"of that name in the environment comes first. A value never goes on\n"
	"the command line. One newline at the end is cut off; 1 to 8192 bytes\n"
	"without NUL. Keys of LLM providers are refused: they never enter a\n"
	"sandbox (`agentnode auth set`). Exit code 130: cancelled.\n\n"
	"Options:\n"
	"  --from-env VAR      take it from this variable\n"
	"  --from-fd N         take it from this descriptor, to its end\n"
	"  --backend WHERE     secret_service: the desktop's keychain\n"
	"                      file: AGENTNODE_HOME/secrets.enc, encrypted\n"
	"                      under a passphrase\n"
	"                      credentials: systemd's; read only, says how\n"
	"                      (default: the configuration's auth.backend)\n"
	"  --passphrase-fd N   file: take the passphrase from there\n\n"
	"Example:\n"
	"  agentnode secret set GITHUB_TOKEN\n"
	"  pass show github | agentnode secret set GITHUB_TOKEN --from-fd 0\n",
	command_secret_set},
    {"secret list", "list the secrets that are stored, by name",
	"Usage: agentnode secret list [--json]\n\n"
	"One line per secret: name, where it is stored, since when. No part\n"
	"of a value. Reads AGENTNODE_HOME/secrets.json; no keychain is "
	"asked.\n\n"
	"Options:\n"
	"  --json   {\"secrets\": [{\"name\", \"backend\", \"stored_at\"}]}\n\n"
	"Example:\n"
	"  agentnode secret list\n",
	command_secret_list},
    {"secret remove", "remove a stored secret",
	"Usage: agentnode secret remove NAME [--backend WHERE]\n\n"
	"Exit code 1 when there is none. What runs already has it.\n\n"
	"Options:\n"
	"  --backend WHERE   there, even if secrets.json does not know of it:\n"
	"                    secret_service, file\n\n"
	"Example:\n"
	"  agentnode secret remove GITHUB_TOKEN\n",
	command_secret_remove},
    {NULL, NULL, NULL, NULL},
};
