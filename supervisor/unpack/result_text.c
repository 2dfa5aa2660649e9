/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a command as text; see result_text.h. Called by collect.c; must
 * never produce two different texts that could be the same bytes, nor a
 * text that is no UTF-8.
 */
#include "supervisor/unpack/result_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RESULT_TEXT_FIRST 4096U

void
result_text_init(struct result_text *text, size_t max)
{
	memset(text, 0, sizeof(*text));
	text->max = max;
}

void
result_text_free(struct result_text *text)
{
	free(text->bytes);
	text->bytes = NULL;
	text->len = 0;
}

/* Doubled up to max; room is a power of two or max. */
static bool
result_text_grow(struct result_text *text, size_t want)
{
	size_t room = RESULT_TEXT_FIRST;
	uint8_t *bytes;

	while (room < want)
		room *= 2;
	bytes = realloc(text->bytes, room);
	if (bytes == NULL)
		return false;
	text->bytes = bytes;
	return true;
}

enum result
result_text_put(struct result_text *text, const uint8_t *bytes, size_t len)
{
	size_t room = text->max - text->len;
	size_t part = len < room ? len : room;

	text->total += len;
	if (part == 0)
		return RESULT_OK;
	if (!result_text_grow(text, text->len + part))
		return RESULT_NO_MEMORY;
	memcpy(text->bytes + text->len, bytes, part);
	text->len += part;
	return RESULT_OK;
}

/* How long the character is that begins here: by its first byte, 0 for a
 * byte that begins none. */
static size_t
result_text_width(uint8_t first)
{
	if (first < 0x80)
		return first != 0 ? 1 : 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if ((first & 0xf0) == 0xe0)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* The second byte keeps out what is too long, a surrogate, or beyond. */
static bool
result_text_second(uint8_t first, uint8_t second)
{
	uint8_t least = 0x80, most = 0xbf;

	if (first == 0xe0)
		least = 0xa0;
	else if (first == 0xed)
		most = 0x9f;
	else if (first == 0xf0)
		least = 0x90;
	else if (first == 0xf4)
		most = 0x8f;
	return second >= least && second <= most;
}

/* Bytes of the whole character at the front, or 0. */
static size_t
result_text_character(const uint8_t *bytes, size_t len)
{
	size_t width = result_text_width(bytes[0]);

	if (width == 0 || width > len)
		return 0;
	for (size_t i = 1; i < width; i++) {
		if ((bytes[i] & 0xc0) != 0x80 ||
		    (i == 1 && !result_text_second(bytes[0], bytes[1])))
			return 0;
	}
	return width;
}

static bool
result_text_is_text(const uint8_t *bytes, size_t len)
{
	size_t at = 0, width = 1;

	for (; at < len && width > 0; at += width)
		width = result_text_character(bytes + at, len - at);
	return at == len && width > 0;
}

/* A character that was cut at the end is left out. */
static size_t
result_text_whole(const uint8_t *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		size_t width = result_text_width(bytes[len - back]);

		if (width > back)
			return len - back;
		if (width > 0)
			break;
	}
	return len;
}

static json_t *
result_text_escape(const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *out = malloc(4 * len + 1);
	size_t used = 0, width;
	json_t *text;

	if (out == NULL)
		return NULL;
	for (size_t at = 0; at < len; at += width == 0 ? 1 : width) {
		width = result_text_character(bytes + at, len - at);
		if (width == 0) {
			out[used] = '\\';
			out[used + 1] = 'x';
			out[used + 2] = digits[bytes[at] >> 4];
			out[used + 3] = digits[bytes[at] & 15];
			used += 4;
			continue;
		}
		if (bytes[at] == '\\')
			out[used++] = '\\';
		memcpy(out + used, bytes + at, width);
		used += width;
	}
	text = json_stringn(out, used);
	free(out);
	return text;
}

json_t *
result_text_json(const struct result_text *text, uint64_t size)
{
	bool truncated = size > text->len;
	size_t len =
	    truncated ? result_text_whole(text->bytes, text->len) : text->len;
	bool plain = result_text_is_text(text->bytes, len);
	json_t *shown;

	/* Bytes that are no text have no characters to keep whole. */
	if (!plain)
		len = text->len;
	shown =
	    plain ? json_stringn(len > 0 ? (const char *)text->bytes : "", len)
		  : result_text_escape(text->bytes, len);
	return json_pack("{s:o, s:I, s:b, s:b}", "text", shown, "bytes",
	    (json_int_t)size, "truncated", truncated, "escaped", !plain);
}

json_t *
result_text_name(const char *name)
{
	const uint8_t *bytes = (const uint8_t *)name;
	size_t len = strlen(name);

	/* A backslash is doubled always: a name has no flag of its own. */
	return result_text_is_text(bytes, len) && strchr(name, '\\') == NULL
		   ? json_stringn(name, len)
		   : result_text_escape(bytes, len);
}
