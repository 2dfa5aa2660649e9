/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is mounted below a writable directory (see the header). Called
 * by native_view; must never pass over a mount it cannot judge.
 */
#include "supervisor/native/native_nested.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"

#define NATIVE_NESTED_FIELD 4 /* words before the mount point */

/* One byte, or "\ooo" as the kernel writes blanks and backslashes. */
static size_t
native_nested_byte(const char *text, size_t left, char *byte_r)
{
	unsigned value = 0;

	*byte_r = text[0];
	if (text[0] != '\\' || left < 4)
		return 1;
	for (int i = 1; i < 4; i++) {
		if (text[i] < '0' || text[i] > '7')
			return 1;
		value = value * 8 + (unsigned)(text[i] - '0');
	}
	if (value == 0 || value > 0xff)
		return 1;
	*byte_r = (char)value;
	return 4;
}

enum result
native_nested_word(
    const char *line, size_t len, int number, char word_r[NATIVE_VIEW_PATH_MAX])
{
	size_t at = 0, out = 0;

	for (int word = 0; word < number; word++) {
		while (at < len && line[at] != ' ')
			at++;
		if (at == len)
			return RESULT_BAD;
		at++;
	}
	while (at < len && line[at] != ' ') {
		if (line[at] == '\0')
			return RESULT_BAD;
		if (out == NATIVE_VIEW_PATH_MAX - 1)
			return RESULT_TOO_LONG;
		at += native_nested_byte(line + at, len - at, &word_r[out]);
		out++;
	}
	word_r[out] = '\0';
	return at == len || out == 0 ? RESULT_BAD : RESULT_OK;
}

enum result
native_nested_point(
    const char *line, size_t len, char path_r[NATIVE_VIEW_PATH_MAX])
{
	enum result result =
	    native_nested_word(line, len, NATIVE_NESTED_FIELD, path_r);

	return result == RESULT_OK && path_r[0] != '/' ? RESULT_BAD : result;
}

static enum result
native_nested_one(struct native_step_plan *plan, const char *path)
{
	struct stat info;
	enum result result = native_step_look(path, &info, NULL);

	if (result == RESULT_NOT_FOUND)
		return RESULT_OK; /* below another mount: not reachable */
	if (result != RESULT_OK)
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s: a mount in the workspace that cannot be looked at",
		    path);
	if (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))
		return native_step_bind(plan, false, path, path, &info);
	return native_step_add(plan, NATIVE_STEP_MASK, path, NULL);
}

/* Lines too long or odd are refused only when they may lie below. */
static enum result
native_nested_line(struct native_step_plan *plan,
    const struct native_given *root, const char *line, size_t len)
{
	char path[NATIVE_VIEW_PATH_MAX];
	enum result result = native_nested_point(line, len, path);

	if (result != RESULT_OK)
		return native_step_fault(plan, RESULT_REFUSED,
		    "%s: a line of /proc/self/mountinfo cannot be read, so "
		    "it is not known what is mounted below",
		    root->path);
	if (strcmp(path, root->path) == 0 ||
	    !native_step_below(path, root->path))
		return RESULT_OK;
	return native_nested_one(plan, path);
}

enum result
native_nested_add(
    struct native_step_plan *plan, const struct native_given *root)
{
	int fd FD_CLEANUP = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;
	enum result result =
	    fd < 0 ? RESULT_SYSTEM
		   : fd_read_all(fd, NATIVE_NESTED_BYTES_MAX, &text, &len);

	if (result != RESULT_OK)
		return native_step_fault(plan, result,
		    "/proc/self/mountinfo cannot be read, so it is not known "
		    "what is mounted in %s",
		    root->path);
	for (char *line = text; line < text + len && result == RESULT_OK;) {
		char *end = memchr(line, '\n', (size_t)(text + len - line));

		if (end == NULL)
			end = text + len;
		result =
		    native_nested_line(plan, root, line, (size_t)(end - line));
		line = end + 1;
	}
	free(text);
	return result;
}
