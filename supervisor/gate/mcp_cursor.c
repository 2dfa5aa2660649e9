/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of checked JSON. Called by mcp_message, mcp_edit and the tool list;
 * it must never be called on bytes that mcp_json_check did not accept, and
 * never read outside the span even then.
 */
#include "supervisor/gate/mcp_cursor.h"

#include <stdint.h>
#include <string.h>

#include "supervisor/gate/mcp_json.h"

static bool
mcp_cursor_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void
mcp_cursor_blanks(struct mcp_cursor *cursor)
{
	while (cursor->p < cursor->end && mcp_cursor_is_blank(*cursor->p))
		cursor->p++;
}

enum mcp_value
mcp_cursor_kind(struct mcp_span value)
{
	if (value.bytes == NULL || value.len == 0)
		return MCP_VALUE_NONE;
	switch (value.bytes[0]) {
	case '{':
		return MCP_VALUE_OBJECT;
	case '[':
		return MCP_VALUE_ARRAY;
	case '"':
		return MCP_VALUE_STRING;
	case 't':
	case 'f':
	case 'n':
		return MCP_VALUE_LITERAL;
	default:
		return MCP_VALUE_NUMBER;
	}
}

/* Step over a string; p is at its opening quote. */
static void
mcp_cursor_skip_string(struct mcp_cursor *cursor)
{
	cursor->p++;
	while (cursor->p < cursor->end && *cursor->p != '"') {
		if (*cursor->p == '\\' && cursor->p + 1 < cursor->end)
			cursor->p++;
		cursor->p++;
	}
	if (cursor->p < cursor->end)
		cursor->p++;
}

static void
mcp_cursor_skip_nested(struct mcp_cursor *cursor)
{
	size_t depth = 0;

	while (cursor->p < cursor->end) {
		switch (*cursor->p) {
		case '"':
			mcp_cursor_skip_string(cursor);
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			depth--;
			break;
		default:
			break;
		}
		cursor->p++;
		if (depth == 0)
			return;
	}
}

static void
mcp_cursor_skip_scalar(struct mcp_cursor *cursor)
{
	while (cursor->p < cursor->end && !mcp_cursor_is_blank(*cursor->p) &&
	       *cursor->p != ',' && *cursor->p != '}' && *cursor->p != ']')
		cursor->p++;
}

static struct mcp_span
mcp_cursor_take(struct mcp_cursor *cursor)
{
	struct mcp_span span = {NULL, 0};

	mcp_cursor_blanks(cursor);
	if (cursor->p == cursor->end)
		return span;
	span.bytes = cursor->p;
	if (*cursor->p == '"')
		mcp_cursor_skip_string(cursor);
	else if (*cursor->p == '{' || *cursor->p == '[')
		mcp_cursor_skip_nested(cursor);
	else
		mcp_cursor_skip_scalar(cursor);
	span.len = (size_t)(cursor->p - span.bytes);
	return span;
}

struct mcp_span
mcp_cursor_value(const char *bytes, size_t len)
{
	struct mcp_cursor cursor = {bytes, bytes + len};

	return mcp_cursor_take(&cursor);
}

bool
mcp_cursor_enter(struct mcp_span value, struct mcp_cursor *cursor_r)
{
	cursor_r->p = cursor_r->end = NULL;
	if ((mcp_cursor_kind(value) != MCP_VALUE_OBJECT &&
		mcp_cursor_kind(value) != MCP_VALUE_ARRAY) ||
	    value.len < 2)
		return false;
	cursor_r->p = value.bytes + 1;
	cursor_r->end = value.bytes + value.len - 1;
	mcp_cursor_blanks(cursor_r);
	return cursor_r->p < cursor_r->end;
}

/* Step over one byte of structure with blanks around it. */
static void
mcp_cursor_mark(struct mcp_cursor *cursor, char mark)
{
	mcp_cursor_blanks(cursor);
	if (cursor->p < cursor->end && *cursor->p == mark)
		cursor->p++;
	mcp_cursor_blanks(cursor);
}

bool
mcp_cursor_member(
    struct mcp_cursor *cursor, struct mcp_span *key_r, struct mcp_span *value_r)
{
	*key_r = *value_r = (struct mcp_span){NULL, 0};
	if (cursor->p >= cursor->end || *cursor->p != '"')
		return false;
	*key_r = mcp_cursor_take(cursor);
	mcp_cursor_mark(cursor, ':');
	*value_r = mcp_cursor_take(cursor);
	mcp_cursor_mark(cursor, ',');
	return value_r->len > 0;
}

bool
mcp_cursor_item(struct mcp_cursor *cursor, struct mcp_span *value_r)
{
	*value_r = (struct mcp_span){NULL, 0};
	if (cursor->p >= cursor->end)
		return false;
	*value_r = mcp_cursor_take(cursor);
	mcp_cursor_mark(cursor, ',');
	return value_r->len > 0;
}

struct mcp_span
mcp_cursor_find(struct mcp_span object, const char *name)
{
	struct mcp_cursor cursor;
	struct mcp_span key, value;

	if (mcp_cursor_kind(object) == MCP_VALUE_OBJECT &&
	    mcp_cursor_enter(object, &cursor)) {
		while (mcp_cursor_member(&cursor, &key, &value)) {
			if (mcp_cursor_is(key, name))
				return value;
		}
	}
	return (struct mcp_span){NULL, 0};
}

/* --- strings ------------------------------------------------------------ */

#define MCP_CURSOR_BAD 0xffffffffU /* lone surrogate, or cut */

/* p is behind "\u"; reads the second half of a pair too. */
static uint32_t
mcp_cursor_unicode(struct mcp_cursor *cursor)
{
	int low, unit = mcp_json_hex4(cursor->p, cursor->end);

	if (unit < 0) {
		cursor->p = cursor->end;
		return MCP_CURSOR_BAD;
	}
	cursor->p += 4;
	if (unit < 0xd800 || unit > 0xdfff)
		return (uint32_t)unit;
	if (unit > 0xdbff || cursor->end - cursor->p < 6 ||
	    cursor->p[0] != '\\' || cursor->p[1] != 'u')
		return MCP_CURSOR_BAD;
	low = mcp_json_hex4(cursor->p + 2, cursor->end);
	if (low < 0xdc00 || low > 0xdfff)
		return MCP_CURSOR_BAD;
	cursor->p += 6;
	return 0x10000U + (((uint32_t)unit - 0xd800U) << 10) +
	       ((uint32_t)low - 0xdc00U);
}

static uint32_t
mcp_cursor_utf8_point(struct mcp_cursor *cursor)
{
	const unsigned char *p = (const unsigned char *)cursor->p;
	size_t i, len = mcp_json_utf8(p, (const unsigned char *)cursor->end);
	uint32_t point;

	if (len == 0) {
		cursor->p++;
		return MCP_CURSOR_BAD;
	}
	cursor->p += len;
	if (len == 1)
		return p[0];
	point = p[0] & (0x7fU >> len);
	for (i = 1; i < len; i++)
		point = (point << 6) | (p[i] & 0x3fU);
	return point;
}

/* Next character of a string's inside; the caller checks for the end. */
static uint32_t
mcp_cursor_point(struct mcp_cursor *cursor)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (*cursor->p != '\\')
		return mcp_cursor_utf8_point(cursor);
	if (++cursor->p == cursor->end)
		return MCP_CURSOR_BAD;
	c = *cursor->p++;
	if (c == 'u')
		return mcp_cursor_unicode(cursor);
	found = c == '\0' ? NULL : strchr(from, c);
	return found == NULL ? MCP_CURSOR_BAD : (unsigned char)to[found - from];
}

/* Stand inside a string's quotes; false when it is no string. */
static bool
mcp_cursor_inside(struct mcp_span string, struct mcp_cursor *cursor_r)
{
	if (mcp_cursor_kind(string) != MCP_VALUE_STRING || string.len < 2)
		return false;
	cursor_r->p = string.bytes + 1;
	cursor_r->end = string.bytes + string.len - 1;
	return true;
}

bool
mcp_cursor_is(struct mcp_span string, const char *text)
{
	struct mcp_cursor cursor;

	if (!mcp_cursor_inside(string, &cursor))
		return false;
	while (cursor.p < cursor.end && *text != '\0') {
		if (mcp_cursor_point(&cursor) != (unsigned char)*text)
			return false;
		text++;
	}
	return cursor.p >= cursor.end && *text == '\0';
}

static uint32_t
mcp_cursor_fold(uint32_t point)
{
	if (point >= 'A' && point <= 'Z')
		return point + ('a' - 'A');
	if (point == 0x17f) /* long s */
		return 's';
	if (point == 0x212a) /* Kelvin sign */
		return 'k';
	return point;
}

/* Takes text out of the cursor's front; false when something else is
 * there. */
static bool
mcp_cursor_match(struct mcp_cursor *cursor, const char *text)
{
	while (cursor->p < cursor->end && *text != '\0') {
		if (mcp_cursor_fold(mcp_cursor_point(cursor)) !=
		    mcp_cursor_fold((unsigned char)*text))
			return false;
		text++;
	}
	return *text == '\0';
}

bool
mcp_cursor_folds_to(struct mcp_span string, const char *text)
{
	struct mcp_cursor cursor;

	return mcp_cursor_inside(string, &cursor) &&
	       mcp_cursor_match(&cursor, text) && cursor.p >= cursor.end;
}

bool
mcp_cursor_begins(struct mcp_span string, const char *text)
{
	struct mcp_cursor cursor, before;

	if (!mcp_cursor_inside(string, &cursor))
		return false;
	do {
		before = cursor;
	} while (cursor.p < cursor.end && mcp_cursor_point(&cursor) <= 0x20);
	return mcp_cursor_match(&before, text);
}

bool
mcp_cursor_has_lookalike(struct mcp_span object, const char *name)
{
	struct mcp_cursor cursor;
	struct mcp_span key, value;

	if (mcp_cursor_kind(object) != MCP_VALUE_OBJECT ||
	    !mcp_cursor_enter(object, &cursor))
		return false;
	while (mcp_cursor_member(&cursor, &key, &value)) {
		if (mcp_cursor_folds_to(key, name) && !mcp_cursor_is(key, name))
			return true;
	}
	return false;
}

/* Write a code point as UTF-8; 0 when it does not fit. */
static size_t
mcp_cursor_put(uint32_t point, char *text, size_t room)
{
	unsigned char bytes[4];
	size_t len;

	if (point < 0x80) {
		bytes[0] = (unsigned char)point;
		len = 1;
	} else if (point < 0x800) {
		bytes[0] = (unsigned char)(0xc0 | (point >> 6));
		bytes[1] = (unsigned char)(0x80 | (point & 0x3f));
		len = 2;
	} else if (point < 0x10000) {
		bytes[0] = (unsigned char)(0xe0 | (point >> 12));
		bytes[1] = (unsigned char)(0x80 | ((point >> 6) & 0x3f));
		bytes[2] = (unsigned char)(0x80 | (point & 0x3f));
		len = 3;
	} else {
		bytes[0] = (unsigned char)(0xf0 | ((point >> 18) & 0x07));
		bytes[1] = (unsigned char)(0x80 | ((point >> 12) & 0x3f));
		bytes[2] = (unsigned char)(0x80 | ((point >> 6) & 0x3f));
		bytes[3] = (unsigned char)(0x80 | (point & 0x3f));
		len = 4;
	}
	if (len > room)
		return 0;
	memcpy(text, bytes, len);
	return len;
}

bool
mcp_cursor_decode(
    struct mcp_span string, char *text_r, size_t size, size_t *len_r)
{
	struct mcp_cursor cursor;
	uint32_t point;
	size_t put, len = 0;

	text_r[0] = '\0';
	*len_r = 0;
	if (!mcp_cursor_inside(string, &cursor))
		return false;
	while (cursor.p < cursor.end) {
		point = mcp_cursor_point(&cursor);
		if (point == 0 || point == MCP_CURSOR_BAD)
			return false;
		put = mcp_cursor_put(point, text_r + len, size - 1 - len);
		if (put == 0)
			return false;
		len += put;
	}
	text_r[len] = '\0';
	*len_r = len;
	return true;
}

/* Controls, line separators and what turns the writing direction. */
static bool
mcp_cursor_showable(uint32_t point)
{
	return point >= 0x20 && point != 0x7f &&
	       !(point >= 0x80 && point < 0xa0) &&
	       !(point >= 0x200b && point <= 0x200f) &&
	       !(point >= 0x2028 && point <= 0x202e) &&
	       !(point >= 0x2066 && point <= 0x2069) && point != 0xfeff &&
	       !(point >= 0xe0000 && point <= 0xe007f) &&
	       point != MCP_CURSOR_BAD;
}

void
mcp_cursor_excerpt(struct mcp_span string, char *text_r, size_t size)
{
	struct mcp_cursor cursor;
	uint32_t point;
	size_t put, len = 0;

	text_r[0] = '\0';
	if (!mcp_cursor_inside(string, &cursor))
		return;
	while (cursor.p < cursor.end) {
		point = mcp_cursor_point(&cursor);
		if (point == '\n' || point == '\r' || point == '\t')
			point = ' ';
		if (!mcp_cursor_showable(point))
			point = '?';
		put = mcp_cursor_put(point, text_r + len, size - 1 - len);
		if (put == 0)
			break;
		len += put;
	}
	text_r[len] = '\0';
}
