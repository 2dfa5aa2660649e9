/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads refusals out of printed lines (see the header). Called by
 * collect.c, in the process that reads what a command wrote, and by nobody
 * else; must never be more than a hint, whatever the line says.
 */
#include "supervisor/native/native_hint.h"

#include <string.h>
#include <strings.h>

/* What strerror(3) and the runtimes say; need: what the call was about. */
static const struct native_hint_phrase {
	const char *text;
	enum native_hint_need need;
} native_hint_phrases[] = {
    {"read-only file system", NATIVE_HINT_WRITE},
    {"device or resource busy", NATIVE_HINT_WRITE},
    {"resource busy or locked", NATIVE_HINT_WRITE}, /* node */
    {"invalid cross-device link", NATIVE_HINT_WRITE},
    {"cross-device link not permitted", NATIVE_HINT_WRITE}, /* node */
    {"permission denied", NATIVE_HINT_ANY},
    {"operation not permitted", NATIVE_HINT_ANY},
    {"no such file or directory", NATIVE_HINT_READ},
};

#define NATIVE_HINT_PHRASES \
	(sizeof(native_hint_phrases) / sizeof(native_hint_phrases[0]))

const char *
native_hint_word(enum native_hint_need need)
{
	switch (need) {
	case NATIVE_HINT_READ:
		return "read";
	case NATIVE_HINT_WRITE:
		return "write";
	case NATIVE_HINT_ANY:
		break;
	}
	return "any";
}

static const char *
native_hint_find(const char *line, size_t len, const char *phrase)
{
	size_t size = strlen(phrase);

	for (size_t i = 0; i + size <= len; i++) {
		if (strncasecmp(line + i, phrase, size) == 0)
			return line + i;
	}
	return NULL;
}

/* A path a person would take for one: no blank at an end, printable. */
static void
native_hint_add(struct native_hints *hints, const char *path, size_t len,
    enum native_hint_need need)
{
	struct native_hint *hint;

	if (len == 0 || len >= NATIVE_HINT_PATH_MAX)
		return;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)path[i] < 0x20 ||
		    (unsigned char)path[i] > 0x7e)
			return;
	}
	for (size_t i = 0; i < hints->count; i++) {
		if (strlen(hints->hints[i].path) == len &&
		    memcmp(hints->hints[i].path, path, len) == 0)
			return;
	}
	if (hints->count == NATIVE_HINT_MAX) {
		hints->full = true;
		return;
	}
	hint = &hints->hints[hints->count++];
	memcpy(hint->path, path, len);
	hint->path[len] = '\0';
	hint->need = need;
}

/* 'a', "a" or `a': each is a path. True when there was one. */
static bool
native_hint_quoted(struct native_hints *hints, const char *line, size_t len,
    enum native_hint_need need)
{
	bool found = false;

	for (size_t i = 0; i < len; i++) {
		char close = line[i] == '`' ? '\'' : line[i];
		const char *end;

		if (line[i] != '\'' && line[i] != '"' && line[i] != '`')
			continue;
		end = memchr(line + i + 1, close, len - i - 1);
		if (end == NULL)
			break;
		native_hint_add(
		    hints, line + i + 1, (size_t)(end - line) - i - 1, need);
		found = true;
		i = (size_t)(end - line);
	}
	return found;
}

/* "tool: open PATH: phrase", the last word before the colon. */
static void
native_hint_before(struct native_hints *hints, const char *line,
    const char *phrase, enum native_hint_need need)
{
	const char *end = phrase, *start;

	if (end - line < 3 || end[-1] != ' ' || end[-2] != ':')
		return;
	end -= 2;
	for (start = end; start > line && start[-1] != ' ';)
		start--;
	if (start > line) /* the first word is the tool's own name */
		native_hint_add(hints, start, (size_t)(end - start), need);
}

static void
native_hint_line(struct native_hints *hints, const char *line, size_t len)
{
	for (size_t i = 0; i < NATIVE_HINT_PHRASES; i++) {
		const struct native_hint_phrase *phrase =
		    &native_hint_phrases[i];
		const char *at = native_hint_find(line, len, phrase->text);

		if (at == NULL)
			continue;
		if (!native_hint_quoted(hints, line, len, phrase->need))
			native_hint_before(hints, line, at, phrase->need);
		return;
	}
}

void
native_hint_read(const char *text, size_t len, struct native_hints *hints)
{
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t size =
		    end != NULL ? (size_t)(end - text) - at : len - at;

		if (size <= NATIVE_HINT_LINE_MAX)
			native_hint_line(hints, text + at, size);
		at += size + 1;
	}
}
