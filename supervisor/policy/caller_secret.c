/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the caller's secrets; see caller_secret.h. It must never copy a
 * value anywhere but into locked memory, nor write one down.
 */
#include "supervisor/policy/caller_secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/package/env_entry.h"

struct caller_secret_row {
	char name[ENV_ENTRY_NAME_MAX + 1];
	struct secret *value; /* NULL: it was empty */
	enum result result;   /* what taking it came to */
};

/* As global as the environment that they come from. */
static struct caller_secret_row caller_secret_rows[CALLER_SECRET_MAX];
static size_t caller_secret_count;

static struct caller_secret_row *
caller_secret_row_of(const char *name)
{
	for (size_t i = 0; i < caller_secret_count; i++)
		if (strcmp(caller_secret_rows[i].name, name) == 0)
			return &caller_secret_rows[i];
	return NULL;
}

static enum result
caller_secret_keep(struct caller_secret_row *row, const char *value)
{
	size_t len = strlen(value);
	enum result result;

	if (len == 0)
		return RESULT_OK;
	if (len > CALLER_SECRET_VALUE_MAX)
		return RESULT_TOO_LONG;
	result = secret_new(len, &row->value);
	if (result == RESULT_OK)
		result = secret_set(row->value, value, len);
	if (result != RESULT_OK)
		secret_free(&row->value);
	return result;
}

/* In place, and each that has the name: /proc/PID/environ shows these very
 * bytes. */
static void
caller_secret_clear(const char *name)
{
	size_t len = strlen(name);

	for (char **at = environ; at != NULL && *at != NULL; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			secret_wipe(*at + len + 1, strlen(*at + len + 1));
	(void)unsetenv(name);
}

enum result
caller_secret_take(const char *name, const struct secret **secret_r)
{
	struct caller_secret_row *row = caller_secret_row_of(name);
	char *value;

	*secret_r = NULL;
	if (row == NULL) {
		value = getenv(name);
		if (value == NULL)
			return RESULT_NOT_FOUND;
		if (caller_secret_count == CALLER_SECRET_MAX ||
		    strlen(name) > ENV_ENTRY_NAME_MAX)
			return RESULT_TOO_LONG;
		row = &caller_secret_rows[caller_secret_count++];
		(void)snprintf(row->name, sizeof(row->name), "%s", name);
		row->result = caller_secret_keep(row, value);
		caller_secret_clear(name);
	}
	*secret_r = row->value;
	return row->result;
}
