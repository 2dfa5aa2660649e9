/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small TOML reader (v1.0 without dates and multi-line strings). Called
 * by mcp_import for configuration files that people wrote; it must never
 * guess: what it does not know is a fault with its line.
 */
#include "supervisor/command/mcp_toml.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MCP_TOML_TEXT_MAX 8192U
#define MCP_TOML_ITEMS_MAX 4096U

struct mcp_toml {
	const char *p, *end;
	unsigned line, depth;
	size_t items;
	struct json_fault *fault;
	char text[MCP_TOML_TEXT_MAX]; /* the string read last */
};

static json_t *mcp_toml_value(struct mcp_toml *toml);

static bool
mcp_toml_fail(struct mcp_toml *toml, const char *what)
{
	json_field_fault(toml->fault, "line %u: %s", toml->line, what);
	return false;
}

static void
mcp_toml_blanks(struct mcp_toml *toml)
{
	while (toml->p < toml->end && (*toml->p == ' ' || *toml->p == '\t'))
		toml->p++;
}

static void
mcp_toml_comment(struct mcp_toml *toml)
{
	if (toml->p == toml->end || *toml->p != '#')
		return;
	while (toml->p < toml->end && *toml->p != '\n')
		toml->p++;
}

/* Blanks, comments and line ends. */
static void
mcp_toml_lines(struct mcp_toml *toml)
{
	for (;;) {
		mcp_toml_blanks(toml);
		mcp_toml_comment(toml);
		if (toml->p == toml->end ||
		    (*toml->p != '\n' && *toml->p != '\r'))
			return;
		toml->line += *toml->p == '\n';
		toml->p++;
	}
}

static bool
mcp_toml_take(struct mcp_toml *toml, char c)
{
	if (toml->p == toml->end || *toml->p != c)
		return false;
	toml->p++;
	return true;
}

/* Nothing but a comment up to the end of the line. */
static bool
mcp_toml_line_end(struct mcp_toml *toml)
{
	mcp_toml_blanks(toml);
	mcp_toml_comment(toml);
	if (toml->p < toml->end && *toml->p == '\r')
		toml->p++;
	if (toml->p == toml->end)
		return true;
	if (*toml->p != '\n')
		return mcp_toml_fail(toml, "something behind the value");
	toml->line++;
	toml->p++;
	return true;
}

/* --- strings and keys --------------------------------------------------- */

static bool
mcp_toml_put(struct mcp_toml *toml, size_t *len, char c)
{
	if (*len + 1 >= sizeof(toml->text))
		return mcp_toml_fail(toml, "a text of more than 8191 bytes");
	toml->text[(*len)++] = c;
	return true;
}

static bool
mcp_toml_put_point(struct mcp_toml *toml, size_t *len, uint32_t point)
{
	if (point == 0 || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return mcp_toml_fail(toml, "an escape that is no character");
	if (point < 0x80)
		return mcp_toml_put(toml, len, (char)point);
	if (point >= 0x10000)
		return mcp_toml_put(toml, len, (char)(0xf0 | (point >> 18))) &&
		       mcp_toml_put(
			   toml, len, (char)(0x80 | ((point >> 12) & 0x3f))) &&
		       mcp_toml_put(
			   toml, len, (char)(0x80 | ((point >> 6) & 0x3f))) &&
		       mcp_toml_put(toml, len, (char)(0x80 | (point & 0x3f)));
	if (point >= 0x800)
		return mcp_toml_put(toml, len, (char)(0xe0 | (point >> 12))) &&
		       mcp_toml_put(
			   toml, len, (char)(0x80 | ((point >> 6) & 0x3f))) &&
		       mcp_toml_put(toml, len, (char)(0x80 | (point & 0x3f)));
	return mcp_toml_put(toml, len, (char)(0xc0 | (point >> 6))) &&
	       mcp_toml_put(toml, len, (char)(0x80 | (point & 0x3f)));
}

static bool
mcp_toml_unicode(struct mcp_toml *toml, size_t *len, unsigned digits)
{
	uint32_t point = 0;

	for (; digits > 0; digits--, toml->p++) {
		static const char hex[] = "0123456789abcdef";
		const char *found;
		char c = toml->p < toml->end ? *toml->p : '\0';

		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		found = c == '\0' ? NULL : strchr(hex, c);
		if (found == NULL)
			return mcp_toml_fail(toml, "a bad escape");
		point = point * 16 + (uint32_t)(found - hex);
	}
	return mcp_toml_put_point(toml, len, point);
}

static bool
mcp_toml_escape(struct mcp_toml *toml, size_t *len)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *found;
	char c = toml->p < toml->end ? *toml->p++ : '\0';

	if (c == 'u' || c == 'U')
		return mcp_toml_unicode(toml, len, c == 'u' ? 4 : 8);
	found = c == '\0' ? NULL : strchr(from, c);
	if (found == NULL)
		return mcp_toml_fail(toml, "a bad escape");
	return mcp_toml_put(toml, len, to[found - from]);
}

/* "basic" or 'literal' into text; p is at the quote. */
static bool
mcp_toml_string(struct mcp_toml *toml)
{
	char quote = *toml->p++;
	size_t len = 0;
	bool good = true;

	if (toml->end - toml->p >= 2 && toml->p[0] == quote &&
	    toml->p[1] == quote)
		return mcp_toml_fail(toml, "multi-line texts are not read");
	while (good && toml->p < toml->end && *toml->p != quote) {
		if (*toml->p == '\n')
			break;
		if (quote == '"' && *toml->p == '\\') {
			toml->p++;
			good = mcp_toml_escape(toml, &len);
		} else if ((unsigned char)*toml->p < 0x20 && *toml->p != '\t') {
			good = mcp_toml_fail(toml, "a control byte in a text");
		} else {
			good = mcp_toml_put(toml, &len, *toml->p++);
		}
	}
	toml->text[len] = '\0';
	if (good && !mcp_toml_take(toml, quote))
		return mcp_toml_fail(toml, "a text without its end");
	return good;
}

static bool
mcp_toml_is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool
mcp_toml_key(struct mcp_toml *toml)
{
	size_t len = 0;

	mcp_toml_blanks(toml);
	if (toml->p < toml->end && (*toml->p == '"' || *toml->p == '\''))
		return mcp_toml_string(toml);
	while (toml->p < toml->end && mcp_toml_is_bare(*toml->p)) {
		if (!mcp_toml_put(toml, &len, *toml->p++))
			return false;
	}
	toml->text[len] = '\0';
	return len > 0 || mcp_toml_fail(toml, "a key is missing");
}

/* --- values ------------------------------------------------------------- */

static json_t *
mcp_toml_array(struct mcp_toml *toml)
{
	json_t *array = json_array(), *item;

	toml->p++;
	for (;;) {
		mcp_toml_lines(toml);
		if (mcp_toml_take(toml, ']'))
			return array;
		item = mcp_toml_value(toml);
		if (item == NULL || json_array_append_new(array, item) != 0)
			break;
		mcp_toml_lines(toml);
		if (!mcp_toml_take(toml, ',') &&
		    (toml->p == toml->end || *toml->p != ']')) {
			mcp_toml_fail(toml, "a list without ',' or ']'");
			break;
		}
	}
	json_decref(array);
	return NULL;
}

/* The table that the dots before the last key lead to. */
static json_t *
mcp_toml_step(struct mcp_toml *toml, json_t *table)
{
	json_t *next = json_object_get(table, toml->text);

	if (next == NULL) {
		next = json_object();
		if (json_object_set_new(table, toml->text, next) != 0) {
			mcp_toml_fail(toml, "a key that is not UTF-8");
			return NULL;
		}
	}
	if (json_is_array(next)) /* [[table]]: the last one */
		next = json_array_get(next, json_array_size(next) - 1);
	if (!json_is_object(next)) {
		mcp_toml_fail(toml, "a key that is a value already");
		return NULL;
	}
	return next;
}

/* key = value into table. */
static bool
mcp_toml_pair(struct mcp_toml *toml, json_t *table)
{
	char key[256];
	json_t *value;

	if (++toml->items > MCP_TOML_ITEMS_MAX)
		return mcp_toml_fail(toml, "more than 4096 keys");
	if (!mcp_toml_key(toml))
		return false;
	mcp_toml_blanks(toml);
	while (mcp_toml_take(toml, '.')) {
		table = mcp_toml_step(toml, table);
		if (table == NULL || !mcp_toml_key(toml))
			return false;
		mcp_toml_blanks(toml);
	}
	if (strlen(toml->text) >= sizeof(key))
		return mcp_toml_fail(toml, "a key of more than 255 bytes");
	memcpy(key, toml->text, strlen(toml->text) + 1);
	if (!mcp_toml_take(toml, '='))
		return mcp_toml_fail(toml, "'=' is missing");
	if (json_object_get(table, key) != NULL)
		return mcp_toml_fail(toml, "a key that is there already");
	mcp_toml_blanks(toml);
	value = mcp_toml_value(toml);
	if (value == NULL)
		return false;
	if (json_object_set_new(table, key, value) != 0)
		return mcp_toml_fail(toml, "a key that is not UTF-8");
	return true;
}

static json_t *
mcp_toml_inline(struct mcp_toml *toml)
{
	json_t *table = json_object();

	toml->p++;
	mcp_toml_blanks(toml);
	if (mcp_toml_take(toml, '}'))
		return table;
	while (mcp_toml_pair(toml, table)) {
		mcp_toml_blanks(toml);
		if (mcp_toml_take(toml, '}'))
			return table;
		if (!mcp_toml_take(toml, ',')) {
			mcp_toml_fail(toml, "a table without ',' or '}'");
			break;
		}
	}
	json_decref(table);
	return NULL;
}

/* Numbers, booleans and dates: kept as their text, nobody needs more. */
static json_t *
mcp_toml_word(struct mcp_toml *toml)
{
	const char *start = toml->p;
	size_t len;

	while (
	    toml->p < toml->end &&
	    (mcp_toml_is_bare(*toml->p) || strchr("+.:", *toml->p) != NULL) &&
	    *toml->p != '\0')
		toml->p++;
	len = (size_t)(toml->p - start);
	if (len == 0 || len > 64) {
		mcp_toml_fail(toml, "a value is missing");
		return NULL;
	}
	if (len == 4 && memcmp(start, "true", 4) == 0)
		return json_true();
	if (len == 5 && memcmp(start, "false", 5) == 0)
		return json_false();
	if (strchr("+-0123456789", *start) == NULL) {
		mcp_toml_fail(toml, "a value that is no text, number or list");
		return NULL;
	}
	return json_stringn(start, len);
}

static json_t *
mcp_toml_value(struct mcp_toml *toml)
{
	json_t *value = NULL;

	if (++toml->depth > MCP_TOML_DEPTH_MAX) {
		mcp_toml_fail(toml, "nested too deep");
	} else if (toml->p == toml->end) {
		mcp_toml_fail(toml, "a value is missing");
	} else if (*toml->p == '"' || *toml->p == '\'') {
		if (mcp_toml_string(toml)) {
			value = json_string(toml->text);
			if (value == NULL)
				mcp_toml_fail(toml, "a text that is not UTF-8");
		}
	} else if (*toml->p == '[') {
		value = mcp_toml_array(toml);
	} else if (*toml->p == '{') {
		value = mcp_toml_inline(toml);
	} else {
		value = mcp_toml_word(toml);
	}
	toml->depth--;
	return value;
}

/* --- the file ----------------------------------------------------------- */

/* [[name]]: one more table in the list of that name. */
static json_t *
mcp_toml_append(struct mcp_toml *toml, json_t *table)
{
	json_t *list = json_object_get(table, toml->text), *one;

	if (list == NULL) {
		list = json_array();
		if (json_object_set_new(table, toml->text, list) != 0)
			list = NULL;
	}
	one = json_is_array(list) ? json_object() : NULL;
	if (one == NULL || json_array_append_new(list, one) != 0) {
		mcp_toml_fail(toml, "a table that is a value already");
		return NULL;
	}
	return one;
}

/* "[a.b]" or "[[a.b]]"; p is behind the first bracket. */
static json_t *
mcp_toml_header(struct mcp_toml *toml, json_t *root)
{
	bool list = mcp_toml_take(toml, '[');
	json_t *table = root;

	if (++toml->items > MCP_TOML_ITEMS_MAX) {
		mcp_toml_fail(toml, "more than 4096 keys");
		return NULL;
	}
	while (table != NULL && mcp_toml_key(toml)) {
		mcp_toml_blanks(toml);
		if (mcp_toml_take(toml, '.')) {
			table = mcp_toml_step(toml, table);
			continue;
		}
		table = list ? mcp_toml_append(toml, table)
			     : mcp_toml_step(toml, table);
		if (table != NULL && mcp_toml_take(toml, ']') &&
		    (!list || mcp_toml_take(toml, ']')))
			return table;
		mcp_toml_fail(toml, "a table name without its ']'");
		return NULL;
	}
	return NULL;
}

enum result
mcp_toml_parse(
    const char *bytes, size_t len, json_t **value_r, struct json_fault *fault)
{
	struct mcp_toml toml = {bytes, bytes + len, 1, 0, 0, fault, ""};
	json_t *root = json_object(), *table = root;
	bool good = root != NULL && len <= MCP_TOML_BYTES_MAX;

	*value_r = NULL;
	if (!good)
		json_field_fault(fault, "the file is larger than 1 MiB");
	for (mcp_toml_lines(&toml); good && toml.p < toml.end;
	     mcp_toml_lines(&toml)) {
		if (mcp_toml_take(&toml, '[')) {
			table = mcp_toml_header(&toml, root);
			good = table != NULL;
		} else {
			good = mcp_toml_pair(&toml, table);
		}
		good = good && mcp_toml_line_end(&toml);
	}
	if (!good) {
		json_decref(root);
		return RESULT_BAD;
	}
	*value_r = root;
	return RESULT_OK;
}

/* --- JSON with comments ------------------------------------------------- */

/* Blank a comment at bytes[at]; where it ends. */
static size_t
mcp_toml_blank_comment(char *bytes, size_t len, size_t at)
{
	bool block = bytes[at + 1] == '*';
	size_t start = at;

	for (at += 2; at < len; at++) {
		if (block && bytes[at - 1] == '*' && bytes[at] == '/' &&
		    at > start + 2) {
			at++;
			break;
		}
		if (!block && bytes[at] == '\n')
			break;
	}
	for (; start < at; start++) {
		if (bytes[start] != '\n')
			bytes[start] = ' ';
	}
	return at;
}

static size_t
mcp_toml_skip_string(const char *bytes, size_t len, size_t at)
{
	for (at++; at < len && bytes[at] != '"'; at++) {
		if (bytes[at] == '\\')
			at++;
	}
	return at + 1;
}

void
mcp_toml_plain_json(char *bytes, size_t len)
{
	size_t at = 0, comma = len; /* a comma that may be trailing */

	while (at < len) {
		char c = bytes[at];

		if (c == '/' && at + 1 < len &&
		    (bytes[at + 1] == '/' || bytes[at + 1] == '*')) {
			at = mcp_toml_blank_comment(bytes, len, at);
			continue;
		}
		if ((c == '}' || c == ']') && comma < len)
			bytes[comma] = ' ';
		if (c == ',')
			comma = at;
		else if (strchr(" \t\r\n", c) == NULL || c == '\0')
			comma = len;
		at = c == '"' ? mcp_toml_skip_string(bytes, len, at) : at + 1;
	}
}
