/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical JSON that digests are made of. Called by lockfile, audit and
 * the ledger. It must spell JSON exactly as Python's
 * json.dumps(sort_keys, separators=(",", ":"), ensure_ascii=False) does,
 * since other readers of the lockfile compute the same hashes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/json_field.h"
#include "supervisor/policy/digest.h"

bool
digest_is_hex(const char *text)
{
	return strspn(text, "0123456789abcdef") == DIGEST_HEX &&
	       text[DIGEST_HEX] == '\0';
}

static enum result
digest_write_byte(struct buffer *out, unsigned char byte)
{
	static const char names[] = "\b\t\n\f\r\"\\";
	static const char letters[] = "btnfr\"\\";
	const char *named = byte != 0 ? strchr(names, byte) : NULL;

	if (named != NULL)
		return buffer_printf(out, "\\%c", letters[named - names]);
	if (byte < 0x20)
		return buffer_printf(out, "\\u%04x", byte);
	return buffer_append(out, &byte, 1);
}

static enum result
digest_write_text(struct buffer *out, const char *text)
{
	enum result result = buffer_append(out, "\"", 1);

	for (; result == RESULT_OK && *text != '\0'; text++)
		result = digest_write_byte(out, (unsigned char)*text);
	return result == RESULT_OK ? buffer_append(out, "\"", 1) : result;
}

static enum result digest_write(
    struct buffer *out, const json_t *value, unsigned depth);

/* The fewest digits that read back as the same number: text_r is one digit,
 * a point, the others, and an exponent. Returns how many others. */
static int
digest_shortest(double number, char *text_r, size_t size)
{
	int others;

	for (others = 0; others < 16; others++) {
		snprintf(text_r, size, "%.*e", others, number);
		if (strtod(text_r, NULL) == number)
			return others;
	}
	snprintf(text_r, size, "%.16e", number);
	return 16;
}

/* As Python's repr: plain between 1e-4 and 1e16, with at least one digit
 * behind the point. */
static enum result
digest_write_real(struct buffer *out, double number)
{
	char text[48], digits[32];
	int others = digest_shortest(number, text, sizeof(text)), exponent;
	const char *from = text[0] == '-' ? text + 1 : text;

	exponent = atoi(strchr(from, 'e') + 1);
	if (text[0] == '-')
		buffer_append(out, "-", 1);
	digits[0] = from[0];
	if (others > 0)
		memcpy(digits + 1, from + 2, (size_t)others);
	digits[others + 1] = '\0';
	if (exponent < -4 || exponent >= 16)
		return buffer_printf(out, "%c%s%se%s%02d", digits[0],
		    others > 0 ? "." : "", digits + 1, exponent < 0 ? "-" : "+",
		    abs(exponent));
	if (exponent < 0)
		return buffer_printf(
		    out, "0.%.*s%s", -exponent - 1, "000", digits);
	if (exponent >= others)
		return buffer_printf(out, "%s%.*s.0", digits, exponent - others,
		    "0000000000000000");
	return buffer_printf(
	    out, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

static int
digest_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum result
digest_write_object(struct buffer *out, const json_t *object, unsigned depth)
{
	size_t count = json_object_size(object), used = 0, i;
	enum result result = buffer_append(out, "{", 1);
	const char **keys = calloc(count + 1, sizeof(*keys));
	const char *key;
	json_t *value;

	if (keys == NULL)
		return RESULT_NO_MEMORY;
	json_object_foreach((json_t *)object, key, value) keys[used++] = key;
	qsort(keys, used, sizeof(*keys), digest_compare);
	for (i = 0; result == RESULT_OK && i < used; i++) {
		if (i > 0)
			result = buffer_append(out, ",", 1);
		if (result == RESULT_OK)
			result = digest_write_text(out, keys[i]);
		if (result == RESULT_OK)
			result = buffer_append(out, ":", 1);
		if (result == RESULT_OK)
			result = digest_write(
			    out, json_object_get(object, keys[i]), depth + 1);
	}
	free(keys);
	return result == RESULT_OK ? buffer_append(out, "}", 1) : result;
}

static enum result
digest_write_array(struct buffer *out, const json_t *array, unsigned depth)
{
	enum result result = buffer_append(out, "[", 1);
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
	{
		if (result == RESULT_OK && i > 0)
			result = buffer_append(out, ",", 1);
		if (result == RESULT_OK)
			result = digest_write(out, item, depth + 1);
	}
	return result == RESULT_OK ? buffer_append(out, "]", 1) : result;
}

static enum result
digest_write(struct buffer *out, const json_t *value, unsigned depth)
{
	if (depth > JSON_FIELD_DEPTH_MAX + 2)
		return RESULT_TOO_LONG;
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return digest_write_object(out, value, depth);
	case JSON_ARRAY:
		return digest_write_array(out, value, depth);
	case JSON_STRING:
		return digest_write_text(out, json_string_value(value));
	case JSON_INTEGER:
		return buffer_printf(
		    out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	case JSON_TRUE:
		return buffer_append_text(out, "true");
	case JSON_FALSE:
		return buffer_append_text(out, "false");
	case JSON_NULL:
		return buffer_append_text(out, "null");
	case JSON_REAL:
		return digest_write_real(out, json_real_value(value));
	}
	return RESULT_INTERNAL;
}

enum result
digest_canonical(const json_t *value, char **text_r, size_t *len_r)
{
	struct buffer out;
	enum result result;

	*text_r = NULL;
	*len_r = 0;
	buffer_init(&out, DIGEST_JSON_MAX);
	result = digest_write(&out, value, 0);
	if (result == RESULT_OK) {
		*text_r =
		    strndup((const char *)buffer_bytes_borrow(&out), out.len);
		*len_r = out.len;
		if (*text_r == NULL)
			result = RESULT_NO_MEMORY;
	}
	buffer_free(&out);
	return result;
}

enum result
digest_json(const json_t *value, char hex_r[DIGEST_HEX + 1])
{
	enum result result;
	size_t len;
	char *text;

	memset(hex_r, 0, DIGEST_HEX + 1);
	result = digest_canonical(value, &text, &len);
	if (result == RESULT_OK)
		result = digest_sha256(text, len, hex_r);
	free(text);
	return result;
}
