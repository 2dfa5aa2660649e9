/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell quoting with single quotes. Called where a command line is
 * shown; must never let a word be read as two, or as anything but itself.
 */
#include "supervisor/argv/argv_quote.h"

#include <stdbool.h>
#include <string.h>

#define ARGV_QUOTE_PLAIN                                                 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" \
	"-_./:=@,+%"

static bool
argv_quote_is_control(unsigned char byte)
{
	return byte < 0x20 || byte == 0x7f;
}

static bool
argv_quote_has_control(const char *word)
{
	while (*word != '\0' && !argv_quote_is_control((unsigned char)*word))
		word++;
	return *word != '\0';
}

/* $'...', which bash, zsh, ksh and POSIX of 2024 read: one line, whatever
 * the word holds. */
static enum result
argv_quote_escaped(struct buffer *buffer, const char *word)
{
	enum result result = buffer_append_text(buffer, "$'");

	for (; *word != '\0' && result == RESULT_OK; word++) {
		if (*word == '\n')
			result = buffer_append_text(buffer, "\\n");
		else if (*word == '\t')
			result = buffer_append_text(buffer, "\\t");
		else if (argv_quote_is_control((unsigned char)*word))
			result = buffer_printf(
			    buffer, "\\%03o", (unsigned)(unsigned char)*word);
		else if (*word == '\'' || *word == '\\')
			result = buffer_printf(buffer, "\\%c", *word);
		else
			result = buffer_append(buffer, word, 1);
	}
	return result == RESULT_OK ? buffer_append_text(buffer, "'") : result;
}

enum result
argv_quote_word(struct buffer *buffer, const char *word)
{
	enum result result;

	if (argv_quote_has_control(word))
		return argv_quote_escaped(buffer, word);

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
