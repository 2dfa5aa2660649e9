/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a path that git reads leads (see the header). Called by
 * native_gitconfig and native_repository; must never take a place inside of
 * the workspace for one outside, but for links.
 */
#include "supervisor/native/native_gitplace.h"

#include <stdio.h>
#include <string.h>

/* An absolute path without "", "." and "..". */
static void
native_gitplace_clean(const char *from, char *clean_r)
{
	size_t out = 0;

	while (*from != '\0') {
		size_t part = strcspn(from, "/");

		if (part == 2 && strncmp(from, "..", 2) == 0) {
			while (out > 0 && clean_r[--out] != '/')
				continue;
		} else if (part > 0 && !(part == 1 && from[0] == '.')) {
			clean_r[out++] = '/';
			memcpy(clean_r + out, from, part);
			out += part;
		}
		from += part;
		from += *from == '/';
	}
	clean_r[out] = '\0';
}

enum result
native_gitplace_find(const struct native_gitplace_from *from, const char *value,
    struct native_gitplace *place_r)
{
	char clean[sizeof(place_r->named)];
	size_t len = strlen(from->workspace);
	int size;

	place_r->inside = false;
	place_r->path[0] = '\0';
	if (value[0] == '~' && value[1] != '/' && value[1] != '\0')
		return RESULT_BAD;
	if (value[0] == '~')
		size = snprintf(place_r->named, sizeof(place_r->named), "%s%s",
		    from->home, value + 1);
	else if (value[0] == '/')
		size = snprintf(
		    place_r->named, sizeof(place_r->named), "%s", value);
	else
		size = snprintf(place_r->named, sizeof(place_r->named),
		    "%s/%s/%s", from->workspace, from->below, value);
	if (size < 0 || (size_t)size >= sizeof(place_r->named))
		return RESULT_TOO_LONG;
	native_gitplace_clean(place_r->named, clean);
	if (strncmp(clean, from->workspace, len) != 0 ||
	    (clean[len] != '/' && clean[len] != '\0'))
		return RESULT_OK;
	/* Room for a slash at the end. */
	if (strlen(clean + len) + 1 >= sizeof(place_r->path))
		return RESULT_TOO_LONG;
	place_r->inside = true;
	if (clean[len] == '/')
		memcpy(place_r->path, clean + len + 1, strlen(clean + len));
	return RESULT_OK;
}

enum result
native_gitplace_line(const struct native_gitplace_from *from,
    const char *prefix, const char *text, size_t len,
    struct native_gitplace *place_r)
{
	char line[NATIVE_GITPLACE_BYTES_MAX + 1];
	size_t skip = strlen(prefix);

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len <= skip || memcmp(text, prefix, skip) != 0)
		return RESULT_BAD;
	text += skip;
	len -= skip;
	if (skip > 0 && text[0] == ' ') {
		text++;
		len--;
	}
	if (len >= sizeof(line))
		return RESULT_TOO_LONG;
	if (len == 0 || memchr(text, '\0', len) != NULL ||
	    memchr(text, '\n', len) != NULL || text[0] == '~')
		return RESULT_BAD;
	memcpy(line, text, len);
	line[len] = '\0';
	return native_gitplace_find(from, line, place_r);
}
