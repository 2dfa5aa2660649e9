/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the names of a foreign tree; see tree_name.h. Called by
 * tree_check.c for every entry. Must never repair a name: what is not
 * right is refused.
 */
#include "supervisor/unpack/tree_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "supervisor/init/tree_stream.h"

/* Length of the UTF-8 sequence at bytes, 0 when it is none. */
static size_t
tree_name_utf8(const uint8_t *bytes, size_t len)
{
	uint32_t point;
	size_t need;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
		need = 2;
	else if (bytes[0] >= 0xe0 && bytes[0] <= 0xef)
		need = 3;
	else if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4)
		need = 4;
	else
		return 0;
	if (len < need)
		return 0;
	point = bytes[0] & (0xffU >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (bytes[i] & 0x3fU);
	}
	if ((need == 3 && point < 0x800) || (need == 4 && point < 0x10000) ||
	    point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return need;
}

/* Printable: no C0, DEL or C1 control, valid UTF-8. */
static bool
tree_name_printable(const char *text, size_t len)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t step;

	for (size_t i = 0; i < len; i += step) {
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			return false;
		step = tree_name_utf8(bytes + i, len - i);
		if (step == 0)
			return false;
		if (step == 2 && bytes[i] == 0xc2 && bytes[i + 1] < 0xa0)
			return false;
	}
	return true;
}

static bool
tree_name_is_dots(const char *part, size_t len)
{
	return (len == 1 && part[0] == '.') ||
	       (len == 2 && part[0] == '.' && part[1] == '.');
}

static enum tree_name_verdict
tree_name_part(const char *part, size_t len)
{
	if (len == 0)
		return TREE_NAME_EMPTY;
	if (len > TREE_NAME_PART_MAX)
		return TREE_NAME_LONG;
	if (tree_name_is_dots(part, len))
		return TREE_NAME_DOTS;
	return TREE_NAME_OK;
}

enum tree_name_verdict
tree_name_check(const char *path, size_t len)
{
	enum tree_name_verdict verdict;
	size_t depth = 0, start = 0;

	if (len == 0)
		return TREE_NAME_EMPTY;
	if (path[0] == '/')
		return TREE_NAME_ABSOLUTE;
	if (len > TREE_STREAM_PATH_MAX)
		return TREE_NAME_LONG;
	if (!tree_name_printable(path, len))
		return TREE_NAME_BYTES;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		verdict = tree_name_part(path + start, i - start);
		if (verdict != TREE_NAME_OK)
			return verdict;
		if (++depth > TREE_STREAM_DEPTH_MAX)
			return TREE_NAME_LONG;
		start = i + 1;
	}
	return TREE_NAME_OK;
}

/* Folders above the entry at path. */
static size_t
tree_name_depth(const char *path)
{
	size_t depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

enum tree_name_verdict
tree_name_check_link(const char *path, const char *target, size_t target_len)
{
	size_t depth = tree_name_depth(path);

	if (target_len == 0)
		return TREE_NAME_EMPTY;
	if (target[0] == '/')
		return TREE_NAME_LEAVES;
	if (target_len > TREE_STREAM_PATH_MAX)
		return TREE_NAME_LONG;
	while (target_len >= 2 && target[0] == '.' && target[1] == '.' &&
	       (target_len == 2 || target[2] == '/')) {
		if (depth-- == 0)
			return TREE_NAME_LEAVES;
		if (target_len == 2)
			return TREE_NAME_OK;
		target += 3;
		target_len -= 3;
	}
	if (target_len >= 2 && target[0] == '.' && target[1] == '/') {
		target += 2;
		target_len -= 2;
	}
	return tree_name_check(target, target_len);
}

const char *
tree_name_trim(const char *path, size_t *len)
{
	while (*len >= 2 && path[0] == '.' && path[1] == '/') {
		path += 2;
		*len -= 2;
	}
	if (*len > 1 && path[*len - 1] == '/')
		--*len;
	if (*len == 1 && path[0] == '.')
		*len = 0;
	return path;
}

const char *
tree_name_text(enum tree_name_verdict verdict)
{
	switch (verdict) {
	case TREE_NAME_OK:
		return "is fine";
	case TREE_NAME_EMPTY:
		return "has an empty part";
	case TREE_NAME_ABSOLUTE:
		return "is absolute";
	case TREE_NAME_DOTS:
		return "has a part \".\" or \"..\"";
	case TREE_NAME_LONG:
		return "is longer or deeper than allowed";
	case TREE_NAME_BYTES:
		return "has a control byte or is not UTF-8";
	case TREE_NAME_LEAVES:
		return "leaves the tree";
	}
	return "is not known";
}
