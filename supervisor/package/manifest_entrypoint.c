/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points; see manifest_entrypoint.h. It must never let a text pass
 * that leads out of the package.
 */
#include "supervisor/package/manifest_entrypoint.h"

#include <stdio.h>
#include <string.h>

static bool
manifest_entrypoint_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       byte == '_';
}

bool
manifest_entrypoint_is_identifier(const char *text, size_t len)
{
	size_t i;

	if (len == 0 || !manifest_entrypoint_letter(text[0]))
		return false;
	for (i = 1; i < len; i++)
		if (!manifest_entrypoint_letter(text[i]) &&
		    (text[i] < '0' || text[i] > '9'))
			return false;
	return true;
}

/* Identifiers between dots. */
static bool
manifest_entrypoint_is_module(const char *text, size_t len)
{
	size_t part;

	for (;;) {
		part = 0;
		while (part < len && text[part] != '.')
			part++;
		if (!manifest_entrypoint_is_identifier(text, part))
			return false;
		if (part == len)
			return true;
		text += part + 1;
		len -= part + 1;
	}
}

/* A part that is no hidden file, no "." and no "..". */
static bool
manifest_entrypoint_is_name(const char *text, size_t len)
{
	size_t i;

	if (len == 0 || text[0] == '.' || text[0] == '-')
		return false;
	for (i = 0; i < len; i++)
		if (!manifest_entrypoint_letter(text[i]) &&
		    (text[i] < '0' || text[i] > '9') &&
		    strchr(".-@+", text[i]) == NULL)
			return false;
	return true;
}

static bool
manifest_entrypoint_is_script(const char *text, size_t len)
{
	static const char *const ends[] = {".mjs", ".js", ".cjs"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t end = strlen(ends[i]);

		if (len > end && memcmp(text + len - end, ends[i], end) == 0)
			return true;
	}
	return false;
}

static bool
manifest_entrypoint_is_path(const char *text, size_t len)
{
	size_t part;

	if (!manifest_entrypoint_is_script(text, len))
		return false;
	for (;;) {
		part = 0;
		while (part < len && text[part] != '/')
			part++;
		if (!manifest_entrypoint_is_name(text, part))
			return false;
		if (part == len)
			return true;
		text += part + 1;
		len -= part + 1;
	}
}

/* Without the "./" that a path of Node may begin with. */
static const char *
manifest_entrypoint_place(const char *text, bool is_node)
{
	return is_node && strncmp(text, "./", 2) == 0 ? text + 2 : text;
}

bool
manifest_entrypoint_is_valid(const char *text, bool is_node)
{
	const char *colon, *place = manifest_entrypoint_place(text, is_node);
	size_t len;

	if (strlen(text) > MANIFEST_ENTRYPOINT_MAX)
		return false;
	colon = strchr(place, ':');
	len = colon != NULL ? (size_t)(colon - place) : strlen(place);
	if (colon != NULL &&
	    !manifest_entrypoint_is_identifier(colon + 1, strlen(colon + 1)))
		return false;
	return is_node ? manifest_entrypoint_is_path(place, len)
		       : manifest_entrypoint_is_module(place, len);
}

bool
manifest_entrypoint_file(
    const char *text, bool is_node, unsigned n, char *path_r, size_t size)
{
	static const char *const ends[] = {".py", "/__init__.py"};
	const char *place = manifest_entrypoint_place(text, is_node);
	size_t len = strcspn(place, ":");
	int written;

	if (n >= (is_node ? 1U : 2U))
		return false;
	written = snprintf(
	    path_r, size, "%.*s%s", (int)len, place, is_node ? "" : ends[n]);
	if (written < 0 || (size_t)written >= size)
		return false;
	for (size_t i = 0; !is_node && i < len; i++)
		if (path_r[i] == '.')
			path_r[i] = '/';
	return true;
}

const char *
manifest_entrypoint_function(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon != NULL ? colon + 1 : "run";
}
