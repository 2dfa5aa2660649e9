/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a git config for places (see the header). Called by native_protect;
 * must never take a place outside of the workspace for one inside.
 */
#include "supervisor/native/native_gitconfig.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define NATIVE_GITCONFIG_LINE_MAX 1024U

enum native_gitconfig_section {
	NATIVE_GITCONFIG_OTHER,
	NATIVE_GITCONFIG_CORE,
	NATIVE_GITCONFIG_INCLUDE
};

/* "[core]", "[include]", "[includeIf \"...\"]". */
static enum native_gitconfig_section
native_gitconfig_head(const char *line)
{
	size_t len = strcspn(line + 1, "] \t\"");

	if (len == 4 && strncasecmp(line + 1, "core", len) == 0)
		return NATIVE_GITCONFIG_CORE;
	if ((len == 7 && strncasecmp(line + 1, "include", len) == 0) ||
	    (len == 9 && strncasecmp(line + 1, "includeif", len) == 0))
		return NATIVE_GITCONFIG_INCLUDE;
	return NATIVE_GITCONFIG_OTHER;
}

/* What stands behind "=": quotes and escapes undone, comment cut. */
static void
native_gitconfig_value(const char *from, char *value_r, size_t size)
{
	size_t len = 0, kept = 0;
	bool quoted = false;

	from += strspn(from, " \t");
	for (; *from != '\0' && len + 1 < size; from++) {
		if (*from == '"') {
			quoted = !quoted;
			continue;
		}
		if (!quoted && (*from == '#' || *from == ';'))
			break;
		if (*from == '\\' && from[1] != '\0')
			from++;
		value_r[len++] = *from;
		if (quoted || (*from != ' ' && *from != '\t' && *from != '\r'))
			kept = len;
	}
	value_r[kept] = '\0';
}

static enum result
native_gitconfig_add(struct native_gitconfig *places,
    const struct native_gitplace_from *from, const char *value, bool hooks)
{
	struct native_gitplace_from at = *from;

	if (value[0] == '\0')
		return RESULT_OK;
	if (places->count == NATIVE_GITCONFIG_PLACES_MAX)
		return RESULT_TOO_LONG;
	if (hooks)
		at.below = "";
	places->places[places->count].hooks = hooks;
	return native_gitplace_find(
	    &at, value, &places->places[places->count++].place);
}

/* The end of a section's head: a "]" between quotes is a name's. */
static const char *
native_gitconfig_close(const char *line)
{
	bool quoted = false;

	for (; *line != '\0'; line++) {
		if (*line == '"')
			quoted = !quoted;
		else if (quoted && *line == '\\' && line[1] != '\0')
			line++;
		else if (!quoted && *line == ']')
			return line;
	}
	return NULL;
}

static enum result
native_gitconfig_line(struct native_gitconfig *places,
    const struct native_gitplace_from *from, const char *line,
    enum native_gitconfig_section *section)
{
	char value[NATIVE_GITCONFIG_LINE_MAX];
	const char *equals;
	size_t len;

	line += strspn(line, " \t");
	if (line[0] == '[') {
		*section = native_gitconfig_head(line);
		line = native_gitconfig_close(line);
		if (line == NULL)
			return RESULT_OK;
		line += 1 + strspn(line + 1, " \t");
	}
	equals = strchr(line, '=');
	len = strcspn(line, " \t=");
	if (equals == NULL)
		return RESULT_OK;
	native_gitconfig_value(equals + 1, value, sizeof(value));
	if (*section == NATIVE_GITCONFIG_CORE && len == 9 &&
	    strncasecmp(line, "hookspath", len) == 0)
		return native_gitconfig_add(places, from, value, true);
	if (*section == NATIVE_GITCONFIG_INCLUDE && len == 4 &&
	    strncasecmp(line, "path", len) == 0)
		return native_gitconfig_add(places, from, value, false);
	return RESULT_OK;
}

enum result
native_gitconfig_read(const char *text, size_t len,
    const struct native_gitplace_from *from, struct native_gitconfig *places_r)
{
	enum native_gitconfig_section section = NATIVE_GITCONFIG_OTHER;
	enum result result = RESULT_OK;
	size_t at = 0;

	places_r->count = 0;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at = 3; /* a mark that git passes over */
	while (at < len && result == RESULT_OK) {
		char line[NATIVE_GITCONFIG_LINE_MAX];
		const char *end = memchr(text + at, '\n', len - at);
		size_t size =
		    end != NULL ? (size_t)(end - text) - at : len - at;

		if (size < sizeof(line)) {
			memcpy(line, text + at, size);
			line[size] = '\0';
			result = native_gitconfig_line(
			    places_r, from, line, &section);
		}
		at += size + 1;
	}
	return result;
}
