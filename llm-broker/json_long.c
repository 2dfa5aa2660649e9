/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the long texts, has jansson read the rest, and puts them in. Called
 * by call_json.c for every body. Must never decode an escape that jansson
 * would refuse, nor put a text where another one stood: one that is not
 * plain is left where it is, and a tree that does not fit is thrown away.
 */
#define JSON_LONG_INTERNAL
#include "llm-broker/json_long.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A long text: what stands between its quotes. */
struct json_long_text {
	size_t from, len;
	size_t number; /* among the document's texts that are no names */
	bool escaped;
};

struct json_long {
	const char *bytes;
	size_t len;
	struct json_long_text *texts; /* in the document's order */
	size_t count, room;
	size_t fed, passed; /* bytes that were read; texts behind them */
	size_t seen, put;   /* texts in the tree; long ones of them */
	char *space;        /* for the longest escaped one */
	size_t space_size;
};

#define JSON_LONG_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define JSON_LONG_HIGHS JSON_LONG_EACH(0x80)

static uint64_t
json_long_zero(uint64_t eight)
{
	return (eight - JSON_LONG_EACH(1)) & ~eight & JSON_LONG_HIGHS;
}

/* The lowest bit that is set is of the first quote, backslash or control
 * byte of eight. */
static uint64_t
json_long_stops(uint64_t eight)
{
	return json_long_zero(eight ^ JSON_LONG_EACH('"')) |
	       json_long_zero(eight ^ JSON_LONG_EACH('\\')) |
	       ((eight - JSON_LONG_EACH(0x20)) & ~eight & JSON_LONG_HIGHS);
}

/* The next quote, backslash or control byte, or the end. */
static const char *
json_long_stop(const char *at, const char *end)
{
	uint64_t eight;

	for (; (size_t)(end - at) >= sizeof(eight); at += sizeof(eight)) {
		memcpy(&eight, at, sizeof(eight));
		eight = json_long_stops(le64toh(eight));
		if (eight != 0)
			return at + __builtin_ctzll(eight) / 8;
	}
	while (
	    at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
		at++;
	return at;
}

/* What a backslash and this byte stand for; 0: not one of the short ones. */
static char
json_long_escape(char byte)
{
	switch (byte) {
	case '"':
	case '\\':
	case '/':
		return byte;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default: /* of JSON, not ours */
		return '\0';
	}
}

/* --- finding them --- */

/* From behind a text's first quote to its last one, NULL when it has none;
 * *plain_r: nothing is in it that jansson has to look at. */
static const char *
json_long_close(const char *at, const char *end, bool *plain_r, bool *escaped_r)
{
	*plain_r = true;
	*escaped_r = false;
	for (; (at = json_long_stop(at, end)) < end; at++) {
		if (*at == '"')
			return at;
		if (*at != '\\') {
			*plain_r = false;
			continue;
		}
		*escaped_r = true;
		if (++at == end)
			break;
		if (json_long_escape(*at) == '\0')
			*plain_r = false;
	}
	return NULL;
}

static bool
json_long_is_name(const char *behind, const char *end)
{
	while (behind < end && (*behind == ' ' || *behind == '\t' ||
				   *behind == '\n' || *behind == '\r'))
		behind++;
	return behind < end && *behind == ':';
}

static bool
json_long_add(struct json_long *all, const struct json_long_text *text)
{
	size_t room = all->room == 0 ? 16 : all->room * 2;
	struct json_long_text *texts;

	if (all->count == all->room) {
		texts = realloc(all->texts, room * sizeof(*texts));
		if (texts == NULL)
			return false;
		all->texts = texts;
		all->room = room;
	}
	if (text->escaped && text->len > all->space_size)
		all->space_size = text->len;
	all->texts[all->count++] = *text;
	return true;
}

/* False: no memory. What is no JSON is for jansson to say. */
static bool
json_long_find(struct json_long *all)
{
	const char *at = all->bytes, *end = all->bytes + all->len, *close;
	struct json_long_text text = {0, 0, 0, false};
	bool plain;

	for (;; at = close + 1) {
		at = memchr(at, '"', (size_t)(end - at));
		if (at == NULL)
			return true;
		close = json_long_close(++at, end, &plain, &text.escaped);
		if (close == NULL)
			return true;
		if (json_long_is_name(close + 1, end))
			continue;
		text.from = (size_t)(at - all->bytes);
		text.len = (size_t)(close - at);
		if (plain && text.len >= JSON_LONG_MIN &&
		    !json_long_add(all, &text))
			return false;
		text.number++;
	}
}

/* --- the rest --- */

/* jansson reads: the document without the long texts. */
static size_t
json_long_feed(void *buffer, size_t size, void *context)
{
	struct json_long *all = context;
	size_t done = 0, until, part;

	while (done < size && all->fed < all->len) {
		until = all->passed < all->count ? all->texts[all->passed].from
						 : all->len;
		part = until - all->fed;
		if (part > size - done)
			part = size - done;
		memcpy((char *)buffer + done, all->bytes + all->fed, part);
		done += part;
		all->fed += part;
		if (all->fed == until && all->passed < all->count)
			all->fed += all->texts[all->passed++].len;
	}
	return done;
}

/* --- putting them in --- */

static size_t
json_long_decode(const char *bytes, size_t len, char *out)
{
	const char *end = bytes + len, *stop;
	char *to = out;

	while (bytes < end) {
		stop = json_long_stop(bytes, end);
		memcpy(to, bytes, (size_t)(stop - bytes));
		to += stop - bytes;
		bytes = stop;
		if (bytes + 1 < end)
			*to++ = json_long_escape(bytes[1]);
		bytes += 2;
	}
	return (size_t)(to - out);
}

static bool
json_long_is_ascii(const char *bytes, size_t len)
{
	uint64_t eight, all = 0;
	size_t at = 0;

	for (; at + sizeof(eight) <= len; at += sizeof(eight)) {
		memcpy(&eight, bytes + at, sizeof(eight));
		all |= eight;
	}
	for (; at < len; at++)
		all |= (unsigned char)bytes[at];
	return (all & JSON_LONG_HIGHS) == 0;
}

/* jansson looks whether it is UTF-8, unless that is plain. */
static bool
json_long_put(struct json_long *all, json_t *value)
{
	const struct json_long_text *text = &all->texts[all->put++];
	const char *bytes = all->bytes + text->from;
	size_t len = text->len;

	if (json_string_length(value) != 0)
		return false;
	if (text->escaped) {
		len = json_long_decode(bytes, len, all->space);
		bytes = all->space;
	}
	return json_long_is_ascii(bytes, len)
		   ? json_string_setn_nocheck(value, bytes, len) == 0
		   : json_string_setn(value, bytes, len) == 0;
}

/* The tree in the document's order, as far as there are long texts. */
static bool
json_long_walk(struct json_long *all, json_t *value)
{
	const char *name;
	json_t *part;
	size_t i;

	if (all->put == all->count)
		return true;
	if (json_is_string(value))
		return all->seen++ != all->texts[all->put].number ||
		       json_long_put(all, value);
	json_object_foreach(value, name, part)
	{
		if (!json_long_walk(all, part))
			return false;
	}
	json_array_foreach(value, i, part)
	{
		if (!json_long_walk(all, part))
			return false;
	}
	return true;
}

static json_t *
json_long_read(struct json_long *all)
{
	json_t *tree;
	bool good;

	if (all->count == 0)
		return NULL;
	if (all->space_size > 0 &&
	    (all->space = malloc(all->space_size)) == NULL)
		return NULL;
	tree = json_load_callback(
	    json_long_feed, all, JSON_REJECT_DUPLICATES, NULL);
	good =
	    tree != NULL && json_long_walk(all, tree) && all->put == all->count;
	/* What an agent says may hold anything. */
	if (all->space != NULL)
		explicit_bzero(all->space, all->space_size);
	free(all->space);
	if (good)
		return tree;
	json_decref(tree);
	return NULL;
}

json_t *
json_long_try(const char *bytes, size_t len)
{
	struct json_long all = {.bytes = bytes, .len = len};
	json_t *tree = NULL;

	if (json_long_find(&all))
		tree = json_long_read(&all);
	free(all.texts);
	return tree;
}

json_t *
json_long_load(const char *bytes, size_t len, json_error_t *error_r)
{
	json_t *tree = json_long_try(bytes, len);

	return tree != NULL
		   ? tree
		   : json_loadb(bytes, len, JSON_REJECT_DUPLICATES, error_r);
}
