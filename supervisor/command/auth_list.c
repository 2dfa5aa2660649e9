/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two lists of what is stored. Called by command_auth.c and
 * command_secret.c. Must never ask a keychain, nor read a credential of
 * systemd's.
 */
#include "supervisor/command/auth_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/credential.h"

/* entry: what was noted when it was stored; NULL: nothing was. */
static void
auth_list_add(const struct auth_list *list, const char *name,
    const char *backend, const json_t *entry, json_t *rows)
{
	static const char *const noted[] = {"last4", "stored_at"};
	json_t *row =
	    json_pack("{s:s, s:s}", list->name, name, "backend", backend);

	for (size_t i = list->has_last4 ? 0 : 1; i < 2; i++) {
		json_t *value = json_object_get(entry, noted[i]);

		(void)json_object_set(
		    row, noted[i], value != NULL ? value : json_null());
	}
	(void)json_array_append_new(rows, row);
}

/* What systemd gave us, by name; not what was noted. */
static void
auth_list_credentials(
    const struct auth_list *list, const json_t *stored, json_t *rows)
{
	const char *path = getenv("CREDENTIALS_DIRECTORY");
	size_t begin = strlen(list->credential);
	const struct dirent *entry;
	DIR *folder;

	if (path == NULL || path[0] != '/')
		return;
	folder = opendir(path);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		const char *name = entry->d_name + begin;

		if (strncmp(entry->d_name, list->credential, begin) == 0 &&
		    keyring_words_is_name(list->kind, name) &&
		    json_object_get(stored, name) == NULL)
			auth_list_add(list, name, "credentials", NULL, rows);
	}
	if (folder != NULL)
		(void)closedir(folder);
}

static int
auth_list_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* By name, whatever order the file has. */
static json_t *
auth_list_table(const struct auth_list *list, const json_t *stored)
{
	const char *names[CREDENTIAL_MAX], *name;
	json_t *rows = json_array(), *entry;
	size_t count = 0;

	json_object_foreach((json_t *)(uintptr_t)stored, name, entry)
	{
		if (count < CREDENTIAL_MAX)
			names[count++] = name;
	}
	if (count > 1)
		qsort(names, count, sizeof(names[0]), auth_list_compare);
	for (size_t i = 0; i < count; i++) {
		entry = json_object_get(stored, names[i]);
		auth_list_add(list, names[i],
		    json_string_value(json_object_get(entry, "backend")), entry,
		    rows);
	}
	auth_list_credentials(list, stored, rows);
	return rows;
}

static void
auth_list_print_row(const struct auth_list *list, const json_t *row)
{
	const char *last4 = json_string_value(json_object_get(row, "last4"));
	const char *stored_at =
	    json_string_value(json_object_get(row, "stored_at"));
	char key[16];

	printf("%-32s %-15s ",
	    json_string_value(json_object_get(row, list->name)),
	    json_string_value(json_object_get(row, "backend")));
	(void)snprintf(key, sizeof(key), "%s%s", last4 != NULL ? "..." : "set",
	    last4 != NULL ? last4 : "");
	if (list->has_last4)
		printf("%-8s ", key);
	printf("%s\n", stored_at != NULL ? stored_at : "-");
}

static int
auth_list_print(const struct auth_list *list, json_t *rows, bool json)
{
	json_t *answer, *row;
	size_t i;
	int code;

	if (json) {
		answer = json_pack("{s:O}", list->rows, rows);
		code = command_print_json(answer);
		json_decref(answer);
		return code;
	}
	if (json_array_size(rows) == 0)
		printf("%s\n", list->none);
	json_array_foreach(rows, i, row) auth_list_print_row(list, row);
	return COMMAND_DONE;
}

int
auth_list_run(const struct auth_list *list, int argc, char **argv)
{
	static const struct option known[] = {
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct json_fault fault = {""};
	json_t *stored, *rows;
	bool json = false;
	enum result result;
	int option, code;

	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option != 'j')
			return command_option_fault(list->command);
		json = true;
	}
	if (optind != argc)
		return command_option_fault(list->command);
	result = credential_load(list->kind, &stored, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	rows = auth_list_table(list, stored);
	json_decref(stored);
	code = auth_list_print(list, rows, json);
	json_decref(rows);
	return code;
}
