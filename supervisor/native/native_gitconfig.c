/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a git config for places (see the header). Called by native_protect;
 * must never take a place outside of the workspace for one inside.
 */
#include "supervisor/native/native_gitconfig.h"

#include <stdbool.h>
#include <stdio.h>
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

/* below and value joined, "." and ".." undone; false: it leaves. */
static bool
native_gitconfig_inside(const char *below, const char *value,
    char place_r[NATIVE_VIEW_PATH_MAX / 2])
{
	char whole[NATIVE_GITCONFIG_LINE_MAX + 8];
	size_t out = 0;

	(void)snprintf(whole, sizeof(whole), "%s%s", below, value);
	for (const char *at = whole; *at != '\0';) {
		size_t part = strcspn(at, "/");

		if (part == 2 && strncmp(at, "..", 2) == 0) {
			if (out == 0)
				return false;
			while (out > 0 && place_r[--out] != '/')
				continue;
		} else if (part > 0 && !(part == 1 && at[0] == '.')) {
			if (out + part + 3 > NATIVE_VIEW_PATH_MAX / 2)
				return false;
			if (out > 0)
				place_r[out++] = '/';
			memcpy(place_r + out, at, part);
			out += part;
		}
		at += part;
		at += *at == '/';
	}
	place_r[out] = '\0';
	return out > 0;
}

static enum result
native_gitconfig_add(struct native_gitconfig *places, const char *workspace,
    const char *value, bool hooks)
{
	size_t len = strlen(workspace);
	char *place;

	if (value[0] == '~' || value[0] == '\0')
		return RESULT_OK;
	if (value[0] == '/' &&
	    (strncmp(value, workspace, len) != 0 || value[len] != '/'))
		return RESULT_OK;
	if (places->count == NATIVE_GITCONFIG_PLACES_MAX)
		return RESULT_TOO_LONG;
	place = places->places[places->count];
	if (value[0] == '/'
		? !native_gitconfig_inside("", value + len + 1, place)
		: !native_gitconfig_inside(hooks ? "" : ".git/", value, place))
		return RESULT_OK;
	if (hooks)
		memcpy(place + strlen(place), "/", 2); /* there is room */
	places->count++;
	return RESULT_OK;
}

static enum result
native_gitconfig_line(struct native_gitconfig *places, const char *workspace,
    const char *line, enum native_gitconfig_section *section)
{
	char value[NATIVE_GITCONFIG_LINE_MAX];
	const char *equals;
	size_t len;

	line += strspn(line, " \t");
	if (line[0] == '[') {
		*section = native_gitconfig_head(line);
		line = strchr(line, ']');
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
		return native_gitconfig_add(places, workspace, value, true);
	if (*section == NATIVE_GITCONFIG_INCLUDE && len == 4 &&
	    strncasecmp(line, "path", len) == 0)
		return native_gitconfig_add(places, workspace, value, false);
	return RESULT_OK;
}

enum result
native_gitconfig_read(const char *text, size_t len, const char *workspace,
    struct native_gitconfig *places_r)
{
	enum native_gitconfig_section section = NATIVE_GITCONFIG_OTHER;
	enum result result = RESULT_OK;

	places_r->count = 0;
	for (size_t at = 0; at < len && result == RESULT_OK;) {
		char line[NATIVE_GITCONFIG_LINE_MAX];
		const char *end = memchr(text + at, '\n', len - at);
		size_t size =
		    end != NULL ? (size_t)(end - text) - at : len - at;

		if (size < sizeof(line)) {
			memcpy(line, text + at, size);
			line[size] = '\0';
			result = native_gitconfig_line(
			    places_r, workspace, line, &section);
		}
		at += size + 1;
	}
	return result;
}
