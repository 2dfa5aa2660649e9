/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CSV record, field by field, into one block of memory. Called with a
 * value of a command line; never reads behind its end.
 */
#include "supervisor/argv/argv_csv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct argv_csv {
	size_t count;
	const char *fields[ARGV_CSV_FIELDS_MAX];
	char bytes[]; /* the fields, each ending with NUL */
};

/* From behind the opening quote; *to moves over what is written. NULL: the
 * quote never ends, or something follows it. */
static const char *
argv_csv_quoted(const char *at, char **to)
{
	for (;;) {
		if (*at == '\0')
			return NULL;
		if (*at == '"' && at[1] != '"')
			break;
		if (*at == '"')
			at++;
		*(*to)++ = *at++;
	}
	at++;
	return *at == ',' || *at == '\0' ? at : NULL;
}

static const char *
argv_csv_plain(const char *at, char **to)
{
	while (*at != ',' && *at != '\0') {
		if (*at == '"' || *at == '\n' || *at == '\r')
			return NULL;
		*(*to)++ = *at++;
	}
	return at;
}

static enum result
argv_csv_read(struct argv_csv *csv, const char *at)
{
	char *to = csv->bytes;

	while (at != NULL) {
		if (csv->count >= ARGV_CSV_FIELDS_MAX)
			return RESULT_TOO_LONG;
		csv->fields[csv->count++] = to;
		at = *at == '"' ? argv_csv_quoted(at + 1, &to)
				: argv_csv_plain(at, &to);
		if (at == NULL)
			break;
		*to++ = '\0';
		if (*at == '\0')
			return RESULT_OK;
		at++;
	}
	return RESULT_BAD;
}

enum result
argv_csv_new(const char *text, struct argv_csv **csv_r)
{
	/* A field is never longer than its source; each comma gives its byte
	 * to a NUL. */
	struct argv_csv *csv = calloc(1, sizeof(*csv) + strlen(text) + 2);
	enum result result = RESULT_OK;

	*csv_r = NULL;
	if (csv == NULL)
		return RESULT_NO_MEMORY;
	if (text[0] != '\0')
		result = argv_csv_read(csv, text);
	if (result == RESULT_OK)
		*csv_r = csv;
	else
		free(csv);
	return result;
}

void
argv_csv_free(struct argv_csv **csv)
{
	free(*csv);
	*csv = NULL;
}

size_t
argv_csv_count(const struct argv_csv *csv)
{
	return csv->count;
}

const char *
argv_csv_field_borrow(const struct argv_csv *csv, size_t index)
{
	return csv->fields[index];
}
