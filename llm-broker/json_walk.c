/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk, one state per place in the grammar. Called by usage_scan.c with
 * a copy of what goes to an agent. Must never allocate, nor say BAD later
 * than the bytes show it.
 */
#include "llm-broker/json_walk.h"

#include <stdbool.h>
#include <string.h>

void
json_walk_init(struct json_walk *walk,
    const struct json_walk_handlers *handlers, void *context)
{
	memset(walk, 0, sizeof(*walk));
	walk->handlers = handlers;
	walk->context = context;
}

static void
json_walk_enter(struct json_walk *walk, enum json_walk_state state)
{
	walk->state = state;
}

static bool
json_walk_is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void
json_walk_keep(struct json_walk *walk, char byte)
{
	if (walk->text_len < JSON_WALK_TEXT)
		walk->text[walk->text_len] = byte;
	walk->text_len++;
}

/* A value ended. */
static void
json_walk_close(struct json_walk *walk)
{
	json_walk_enter(
	    walk, walk->depth == 0 ? JSON_WALK_DONE : JSON_WALK_NEXT);
}

static bool
json_walk_in_list(const struct json_walk *walk)
{
	size_t level = walk->depth - 1;

	return (walk->lists[level / 8] >> level % 8 & 1) != 0;
}

size_t
json_walk_steps(const struct json_walk *walk)
{
	return walk->depth < JSON_WALK_STEPS ? walk->depth : JSON_WALK_STEPS;
}

static void
json_walk_push(struct json_walk *walk, bool list)
{
	size_t level = walk->depth++;
	uint8_t bit = (uint8_t)(1U << level % 8);

	if (list)
		walk->lists[level / 8] |= bit;
	else
		walk->lists[level / 8] &= (uint8_t)~bit;
	if (level < JSON_WALK_STEPS)
		walk->path[level] = list ? JSON_WALK_ITEM : JSON_WALK_OTHER;
}

static void
json_walk_open(struct json_walk *walk, enum json_walk_kind kind)
{
	(void)walk->handlers->begin(walk, kind);
	if (walk->depth == JSON_WALK_DEPTH) {
		json_walk_enter(walk, JSON_WALK_BAD);
		return;
	}
	json_walk_push(walk, kind == JSON_WALK_LIST);
	json_walk_enter(
	    walk, kind == JSON_WALK_LIST ? JSON_WALK_FIRST : JSON_WALK_KEYS);
}

static void
json_walk_start_text(struct json_walk *walk, enum json_walk_state state)
{
	walk->text_len = 0;
	walk->escape = 0;
	json_walk_enter(walk, state);
}

/* The first byte of a value. */
static void
json_walk_value(struct json_walk *walk, char byte)
{
	if (byte == '{') {
		json_walk_open(walk, JSON_WALK_OBJECT);
	} else if (byte == '[') {
		json_walk_open(walk, JSON_WALK_LIST);
	} else if (byte == '"') {
		walk->chars = walk->handlers->begin(walk, JSON_WALK_TEXT_KIND);
		json_walk_start_text(walk, JSON_WALK_STRING);
	} else if ((byte >= '0' && byte <= '9') || byte == '-' || byte == 't' ||
		   byte == 'f' || byte == 'n') {
		(void)walk->handlers->begin(walk, JSON_WALK_SCALAR_KIND);
		json_walk_start_text(walk, JSON_WALK_SCALAR);
		json_walk_keep(walk, byte);
	} else {
		json_walk_enter(walk, JSON_WALK_BAD);
	}
}

/* ',' or the end of the container. */
static void
json_walk_next(struct json_walk *walk, char byte)
{
	bool list = json_walk_in_list(walk);

	if (byte == ',') {
		json_walk_enter(walk, list ? JSON_WALK_VALUE : JSON_WALK_KEYS);
	} else if (byte == (list ? ']' : '}')) {
		walk->depth--;
		json_walk_close(walk);
	} else {
		json_walk_enter(walk, JSON_WALK_BAD);
	}
}

static void
json_walk_scalar(struct json_walk *walk, char byte)
{
	if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	    byte == '.' || byte == '-' || byte == '+' || byte == 'E') {
		json_walk_keep(walk, byte);
		return;
	}
	walk->handlers->end(walk, JSON_WALK_SCALAR_KIND, walk->text,
	    walk->text_len < JSON_WALK_TEXT ? walk->text_len : JSON_WALK_TEXT);
	json_walk_close(walk);
	if (json_walk_is_blank(byte))
		return;
	if (walk->state == JSON_WALK_NEXT)
		json_walk_next(walk, byte);
	else
		json_walk_enter(walk, JSON_WALK_BAD);
}

static void
json_walk_structure(struct json_walk *walk, char byte)
{
	if (json_walk_is_blank(byte))
		return;
	switch (walk->state) {
	case JSON_WALK_FIRST:
		if (byte == ']')
			json_walk_next(walk, byte);
		else
			json_walk_value(walk, byte);
		return;
	case JSON_WALK_VALUE:
		json_walk_value(walk, byte);
		return;
	case JSON_WALK_KEYS:
		if (byte == '"') {
			walk->chars = walk->handlers->name(walk);
			json_walk_start_text(walk, JSON_WALK_KEY);
		} else if (byte == '}') {
			json_walk_next(walk, byte);
		} else {
			json_walk_enter(walk, JSON_WALK_BAD);
		}
		return;
	case JSON_WALK_COLON:
		json_walk_enter(
		    walk, byte == ':' ? JSON_WALK_VALUE : JSON_WALK_BAD);
		return;
	case JSON_WALK_NEXT:
		json_walk_next(walk, byte);
		return;
	case JSON_WALK_DONE:
	case JSON_WALK_KEY:
	case JSON_WALK_STRING:
	case JSON_WALK_SCALAR:
	case JSON_WALK_BAD:
		json_walk_enter(walk, JSON_WALK_BAD);
		return;
	}
}

static void
json_walk_count(struct json_walk *walk, uint64_t chars)
{
	if (walk->chars != NULL)
		*walk->chars += chars;
}

static int
json_walk_hex(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* A byte of an escape: it stands for one character, the second half of a
 * pair for none. */
static void
json_walk_escaped(struct json_walk *walk, char byte)
{
	int digit = json_walk_hex(byte);

	if (walk->escape == 1 && byte == 'u') {
		walk->escape = 2;
		walk->unit = 0;
		return;
	}
	if (walk->escape == 1) {
		walk->escape = 0;
		json_walk_count(walk, 1);
		json_walk_keep(walk, '?');
		return;
	}
	if (digit < 0) {
		json_walk_enter(walk, JSON_WALK_BAD);
		return;
	}
	walk->unit = walk->unit * 16 + (unsigned)digit;
	if (++walk->escape < 6)
		return;
	walk->escape = 0;
	if (walk->unit < 0xdc00 || walk->unit > 0xdfff)
		json_walk_count(walk, 1);
	json_walk_keep(walk, '?');
}

static void
json_walk_end_text(struct json_walk *walk)
{
	size_t len =
	    walk->text_len < JSON_WALK_TEXT ? walk->text_len : JSON_WALK_TEXT;

	if (walk->state == JSON_WALK_KEY) {
		if (walk->depth <= JSON_WALK_STEPS)
			walk->path[walk->depth - 1] =
			    walk->text_len <= JSON_WALK_TEXT
				? walk->handlers->key(walk->text, len)
				: JSON_WALK_OTHER;
		walk->chars = NULL;
		json_walk_enter(walk, JSON_WALK_COLON);
		return;
	}
	walk->handlers->end(walk, JSON_WALK_TEXT_KIND, walk->text, len);
	walk->chars = NULL;
	json_walk_close(walk);
}

#define JSON_WALK_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define JSON_WALK_HIGHS JSON_WALK_EACH(0x80)

/* The high bit of each byte of eight that is below bound (at most 0x80). */
static uint64_t
json_walk_below(uint64_t eight, uint64_t bound)
{
	return (eight - JSON_WALK_EACH(bound)) & ~eight & JSON_WALK_HIGHS;
}

/* Is one of eight bytes the end of plain text? */
static bool
json_walk_is_end(uint64_t eight)
{
	return (json_walk_below(eight ^ JSON_WALK_EACH('"'), 1) |
		   json_walk_below(eight ^ JSON_WALK_EACH('\\'), 1) |
		   json_walk_below(eight, 0x20)) != 0;
}

/* Plain text: neither quote, backslash nor control. Returns its bytes;
 * *chars_r its characters: those that are no continuation of UTF-8. */
static size_t
json_walk_plain(const char *bytes, size_t len, uint64_t *chars_r)
{
	size_t at = 0, inside = 0;
	uint64_t eight;

	for (; at + sizeof(eight) <= len; at += sizeof(eight)) {
		memcpy(&eight, bytes + at, sizeof(eight));
		if (json_walk_is_end(eight))
			break;
		eight &= ~(eight << 1) & JSON_WALK_HIGHS;
		inside += (eight >> 7) * JSON_WALK_EACH(1) >> 56;
	}
	for (; at < len; at++) {
		unsigned char byte = (unsigned char)bytes[at];

		if (byte == '"' || byte == '\\' || byte < 0x20)
			break;
		inside += (byte & 0xc0) == 0x80;
	}
	*chars_r = at - inside;
	return at;
}

static void
json_walk_keep_some(struct json_walk *walk, const char *bytes, size_t len)
{
	size_t room = walk->text_len < JSON_WALK_TEXT
			  ? JSON_WALK_TEXT - walk->text_len
			  : 0;

	if (room > 0)
		memcpy(walk->text + walk->text_len, bytes,
		    len < room ? len : room);
	walk->text_len += len;
}

/* Inside a string or key; returns how many bytes were read. */
static size_t
json_walk_text(struct json_walk *walk, const char *bytes, size_t len)
{
	uint64_t chars;
	size_t at;

	if (walk->escape > 0) {
		json_walk_escaped(walk, bytes[0]);
		return 1;
	}
	at = json_walk_plain(bytes, len, &chars);
	json_walk_count(walk, chars);
	json_walk_keep_some(walk, bytes, at);
	if (at == len)
		return at;
	if (bytes[at] == '\\')
		walk->escape = 1;
	else if (bytes[at] == '"')
		json_walk_end_text(walk);
	else
		json_walk_enter(walk, JSON_WALK_BAD);
	return at + 1;
}

enum json_walk_state
json_walk_feed(struct json_walk *walk, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len && walk->state != JSON_WALK_BAD) {
		if (walk->state == JSON_WALK_STRING ||
		    walk->state == JSON_WALK_KEY)
			at += json_walk_text(walk, bytes + at, len - at);
		else if (walk->state == JSON_WALK_SCALAR)
			json_walk_scalar(walk, bytes[at++]);
		else
			json_walk_structure(walk, bytes[at++]);
	}
	return walk->state;
}
