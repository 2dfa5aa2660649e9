/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a config's value as a shell may (see the header). Called by
 * native_repository; must never miss a plain word, and a word too many only
 * costs a look.
 */
#include "supervisor/native/native_gitwords.h"

#include <stdbool.h>
#include <string.h>

/* Where a word ends: blanks, and what a shell takes for its own. */
static bool
native_gitwords_ends(char c)
{
	return strchr(" \t\n\r\b;|&()<>{}$`!=,:", c) != NULL;
}

/* whole: what is quoted is one word, and quotes are no part of it; else a
 * quote ends a word. */
static enum result
native_gitwords_split(
    const char *value, bool whole, native_gitwords_each *each, void *context)
{
	char word[NATIVE_GITCONFIG_VALUE_MAX];
	size_t len = 0, count = 0;
	char quote = '\0';
	enum result result = RESULT_OK;

	for (; result == RESULT_OK; value++) {
		bool mark = *value == '"' || *value == '\'';

		if (whole && mark && (quote == '\0' || quote == *value)) {
			quote = quote == '\0' ? *value : '\0';
			continue;
		}
		if (*value != '\0' && (quote != '\0' || !mark) &&
		    (quote != '\0' || !native_gitwords_ends(*value))) {
			if (*value == '\\' && value[1] != '\0')
				value++;
			word[len++] = *value;
			continue;
		}
		word[len] = '\0';
		if (len > 0)
			result = each(word, count++, context);
		len = 0;
		if (*value == '\0')
			break;
	}
	return result;
}

enum result
native_gitwords_read(
    const char *value, native_gitwords_each *each, void *context)
{
	enum result result = native_gitwords_split(value, true, each, context);

	if (result == RESULT_OK && strpbrk(value, "\"'") != NULL)
		result = native_gitwords_split(value, false, each, context);
	return result;
}
