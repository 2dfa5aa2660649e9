/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ordinary JSON by one descent over the text. Called by call_json.c for
 * every body. Must never make of a document what jansson would not make of
 * it: on the first byte that is not as it is mostly, the whole is left to
 * jansson.
 */
#define JSON_QUICK_INTERNAL
#include "llm-broker/json_quick.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JSON_QUICK_DIGITS_MAX 18U /* of an integer that is surely one */

struct json_quick {
	const char *at, *end;
	unsigned depth;
	char *space; /* for texts with escapes */
	size_t space_size;
};

#define JSON_QUICK_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define JSON_QUICK_HIGHS JSON_QUICK_EACH(0x80)

static json_t *json_quick_value(struct json_quick *quick);

/* --- texts --- */

static uint64_t
json_quick_zero(uint64_t eight)
{
	return (eight - JSON_QUICK_EACH(1)) & ~eight & JSON_QUICK_HIGHS;
}

/* The lowest bit that is set is of the first quote, backslash or control
 * byte of eight. */
static uint64_t
json_quick_stops(uint64_t eight)
{
	return json_quick_zero(eight ^ JSON_QUICK_EACH('"')) |
	       json_quick_zero(eight ^ JSON_QUICK_EACH('\\')) |
	       ((eight - JSON_QUICK_EACH(0x20)) & ~eight & JSON_QUICK_HIGHS);
}

/* The next quote, backslash or control byte, or the end. */
static const char *
json_quick_stop(const char *at, const char *end)
{
	uint64_t eight;

	for (; (size_t)(end - at) >= sizeof(eight); at += sizeof(eight)) {
		memcpy(&eight, at, sizeof(eight));
		eight = json_quick_stops(le64toh(eight));
		if (eight != 0)
			return at + __builtin_ctzll(eight) / 8;
	}
	while (
	    at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
		at++;
	return at;
}

static bool
json_quick_is_ascii(const char *bytes, size_t len)
{
	uint64_t eight, all = 0;
	size_t at = 0;

	for (; at + sizeof(eight) <= len; at += sizeof(eight)) {
		memcpy(&eight, bytes + at, sizeof(eight));
		all |= eight;
	}
	for (; at < len; at++)
		all |= (unsigned char)bytes[at];
	return (all & JSON_QUICK_HIGHS) == 0;
}

/* jansson looks whether it is UTF-8, unless that is plain. */
static json_t *
json_quick_string(const char *bytes, size_t len)
{
	return json_quick_is_ascii(bytes, len)
		   ? json_stringn_nocheck(bytes, len)
		   : json_stringn(bytes, len);
}

/* What a backslash and this byte stand for; 0: not one of the short ones. */
static char
json_quick_escape(char byte)
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

/* From behind a text's first quote to its last one, NULL when it has none or
 * holds what it may not; *plain_r: all its escapes are short. */
static const char *
json_quick_close(const char *at, const char *end, bool *plain_r)
{
	*plain_r = true;
	for (; (at = json_quick_stop(at, end)) < end; at++) {
		if (*at == '"')
			return at;
		if (*at != '\\' || ++at == end)
			return NULL;
		if (json_quick_escape(*at) == '\0')
			*plain_r = false;
	}
	return NULL;
}

/* bytes to end: plain, and not cut behind a backslash. */
static json_t *
json_quick_decode(struct json_quick *quick, const char *bytes, const char *end)
{
	size_t len = (size_t)(end - bytes);
	const char *stop;
	char *to;

	if (len > quick->space_size) {
		if (quick->space != NULL)
			explicit_bzero(quick->space, quick->space_size);
		free(quick->space);
		quick->space = malloc(len);
		quick->space_size = quick->space != NULL ? len : 0;
	}
	if (quick->space == NULL)
		return NULL;
	for (to = quick->space; bytes < end; bytes = stop + 2) {
		stop = json_quick_stop(bytes, end);
		memcpy(to, bytes, (size_t)(stop - bytes));
		to += stop - bytes;
		if (stop == end)
			break;
		*to++ = json_quick_escape(stop[1]);
	}
	return json_quick_string(quick->space, (size_t)(to - quick->space));
}

/* A part of the document that jansson reads. */
static json_t *
json_quick_leave(const char *bytes, const char *end)
{
	return json_loadb(bytes, (size_t)(end - bytes), JSON_DECODE_ANY, NULL);
}

static json_t *
json_quick_text(struct json_quick *quick)
{
	const char *from = quick->at + 1, *close;
	bool plain;

	close = json_quick_stop(from, quick->end);
	if (close < quick->end && *close == '"') {
		quick->at = close + 1;
		return json_quick_string(from, (size_t)(close - from));
	}
	close = json_quick_close(from, quick->end, &plain);
	if (close == NULL)
		return NULL;
	quick->at = close + 1;
	return plain ? json_quick_decode(quick, from, close)
		     : json_quick_leave(from - 1, close + 1);
}

/* --- numbers and words --- */

static bool
json_quick_is_digit(const struct json_quick *quick)
{
	return quick->at < quick->end && *quick->at >= '0' && *quick->at <= '9';
}

static json_t *
json_quick_number(struct json_quick *quick)
{
	const char *from = quick->at, *digits;
	json_int_t value = 0;

	if (*quick->at == '-')
		quick->at++;
	digits = quick->at;
	for (; json_quick_is_digit(quick) &&
	       quick->at - digits < (ptrdiff_t)JSON_QUICK_DIGITS_MAX;
	     quick->at++)
		value = value * 10 + (*quick->at - '0');
	if (quick->at == digits || json_quick_is_digit(quick) ||
	    (*digits == '0' && quick->at - digits > 1))
		return NULL;
	if (quick->at == quick->end || strchr(".eE", *quick->at) == NULL ||
	    *quick->at == '\0')
		return json_integer(*from == '-' ? -value : value);
	while (json_quick_is_digit(quick) ||
	       (quick->at < quick->end && *quick->at != '\0' &&
		   strchr(".eE+-", *quick->at) != NULL))
		quick->at++;
	return json_quick_leave(from, quick->at);
}

static json_t *
json_quick_word(struct json_quick *quick, const char *word, json_t *value)
{
	size_t len = strlen(word);

	if ((size_t)(quick->end - quick->at) < len ||
	    memcmp(quick->at, word, len) != 0)
		return NULL;
	quick->at += len;
	return value;
}

/* --- objects and lists --- */

/* The next byte that is no space; NUL: the end, or nothing that belongs. */
static char
json_quick_next(struct json_quick *quick)
{
	for (; quick->at < quick->end; quick->at++)
		if (*quick->at != ' ' && *quick->at != '\n' &&
		    *quick->at != '\r' && *quick->at != '\t')
			return *quick->at;
	return '\0';
}

/* Takes value. False: the name is there already, or odd. */
static bool
json_quick_set(json_t *object, const char *name, size_t len, json_t *value)
{
	if (json_object_getn(object, name, len) != NULL) {
		json_decref(value);
		return false;
	}
	if (json_quick_is_ascii(name, len))
		return json_object_setn_new_nocheck(object, name, len, value) ==
		       0;
	return json_object_setn_new(object, name, len, value) == 0;
}

/* "name": value */
static bool
json_quick_member(struct json_quick *quick, json_t *object)
{
	const char *name, *close;
	json_t *value;

	if (json_quick_next(quick) != '"')
		return false;
	name = quick->at + 1;
	close = json_quick_stop(name, quick->end);
	if (close == quick->end || *close != '"')
		return false;
	quick->at = close + 1;
	if (json_quick_next(quick) != ':')
		return false;
	quick->at++;
	value = json_quick_value(quick);
	return value != NULL &&
	       json_quick_set(object, name, (size_t)(close - name), value);
}

static bool
json_quick_item(struct json_quick *quick, json_t *list)
{
	json_t *value = json_quick_value(quick);

	return value != NULL && json_array_append_new(list, value) == 0;
}

/* What stands between brackets; takes whole. */
static json_t *
json_quick_inside(struct json_quick *quick, json_t *whole, char close)
{
	bool is_list = close == ']', good = whole != NULL;

	quick->at++;
	good = good && ++quick->depth <= JSON_QUICK_DEPTH_MAX;
	if (good && json_quick_next(quick) == close) {
		quick->at++;
		quick->depth--;
		return whole;
	}
	while (good) {
		good = is_list ? json_quick_item(quick, whole)
			       : json_quick_member(quick, whole);
		if (good && json_quick_next(quick) == close)
			break;
		good = good && json_quick_next(quick) == ',';
		quick->at += good;
	}
	if (!good) {
		json_decref(whole);
		return NULL;
	}
	quick->at++;
	quick->depth--;
	return whole;
}

static json_t *
json_quick_value(struct json_quick *quick)
{
	switch (json_quick_next(quick)) {
	case '"':
		return json_quick_text(quick);
	case '{':
		return json_quick_inside(quick, json_object(), '}');
	case '[':
		return json_quick_inside(quick, json_array(), ']');
	case 't':
		return json_quick_word(quick, "true", json_true());
	case 'f':
		return json_quick_word(quick, "false", json_false());
	case 'n':
		return json_quick_word(quick, "null", json_null());
	case '\0':
		return NULL;
	default: /* of JSON, not ours */
		return json_quick_number(quick);
	}
}

json_t *
json_quick_try(const char *bytes, size_t len)
{
	struct json_quick quick = {.at = bytes, .end = bytes + len};
	char first = json_quick_next(&quick);
	json_t *tree =
	    first == '{' || first == '[' ? json_quick_value(&quick) : NULL;

	/* What an agent says may hold anything. */
	if (quick.space != NULL)
		explicit_bzero(quick.space, quick.space_size);
	free(quick.space);
	(void)json_quick_next(&quick);
	if (tree == NULL || quick.at == quick.end)
		return tree;
	json_decref(tree);
	return NULL;
}

json_t *
json_quick_load(const char *bytes, size_t len, json_error_t *error_r)
{
	json_t *tree = json_quick_try(bytes, len);

	return tree != NULL
		   ? tree
		   : json_loadb(bytes, len, JSON_REJECT_DUPLICATES, error_r);
}
