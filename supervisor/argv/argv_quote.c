/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell quoting with single quotes alone. Called where a command line is
 * shown; must never let a word be read as two, or as anything but itself.
 */
#include "supervisor/argv/argv_quote.h"

#include <string.h>

#define ARGV_QUOTE_PLAIN                                                 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" \
	"-_./:=@,+%"

enum result
argv_quote_word(struct buffer *buffer, const char *word)
{
	enum result result;

	if (word[0] != '\0' && word[0] != '=' &&
	    word[strspn(word, ARGV_QUOTE_PLAIN)] == '\0')
		return buffer_append_text(buffer, word);
	result = buffer_append_text(buffer, "'");
	while (*word != '\0' && result == RESULT_OK) {
		size_t len = strcspn(word, "'");

		result = buffer_append(buffer, word, len);
		word += len;
		if (result == RESULT_OK && *word == '\'') {
			result = buffer_append_text(buffer, "'\\''");
			word++;
		}
	}
	return result == RESULT_OK ? buffer_append_text(buffer, "'") : result;
}

enum result
argv_quote_words(struct buffer *buffer, const char *const *words, size_t count)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < count && result == RESULT_OK; i++) {
		if (i > 0)
			result = buffer_append_text(buffer, " ");
		if (result == RESULT_OK)
			result = argv_quote_word(buffer, words[i]);
	}
	return result;
}
