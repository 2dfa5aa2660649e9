/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader: one value after the other, the open containers on a stack.
 * Called by call_json.c with the body of a request. Must never accept what
 * jansson would refuse, nor read behind the end.
 */
#include "llm-broker/json_tree.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TREE_NUMBER_MAX 40U /* signs of a number; longer ones are odd */
#define JSON_TREE_DIGITS_MAX 18U /* of an integer that cannot overflow */

struct json_tree {
	const char *at, *end;
	json_t *stack[JSON_TREE_DEPTH_MAX];
	size_t depth;
	const char *key; /* of the object on top; NULL: none is due */
	size_t key_len;
	bool is_ascii; /* the last text, before its escapes were taken off */
	char *space;   /* a key or text without its escapes */
	size_t space_size;
};

static void
json_tree_blanks(struct json_tree *tree)
{
	while (
	    tree->at < tree->end && (*tree->at == ' ' || *tree->at == '\n' ||
					*tree->at == '\r' || *tree->at == '\t'))
		tree->at++;
}

/* The next byte that is no blank, taken; 0: there is none. */
static char
json_tree_sign(struct json_tree *tree)
{
	json_tree_blanks(tree);
	return tree->at < tree->end ? *tree->at++ : '\0';
}

/* --- texts --- */

static bool
json_tree_hex(const char *digits, unsigned *unit_r)
{
	*unit_r = 0;
	for (int i = 0; i < 4; i++) {
		char digit = digits[i];

		*unit_r *= 16;
		if (digit >= '0' && digit <= '9')
			*unit_r += (unsigned)(digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			*unit_r += (unsigned)(digit - 'a' + 10);
		else if (digit >= 'A' && digit <= 'F')
			*unit_r += (unsigned)(digit - 'A' + 10);
		else
			return false;
	}
	return true;
}

static size_t
json_tree_utf8(unsigned code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* \uHHHH, or a pair of them; text stands behind the u. Returns signs used,
 * 0 for NUL and halves of a pair: jansson knows what to say. */
static size_t
json_tree_unit(const char *text, const char *end, char *out, size_t *out_len)
{
	unsigned unit, low;

	if (end - text < 4 || !json_tree_hex(text, &unit) || unit == 0 ||
	    (unit >= 0xdc00 && unit <= 0xdfff))
		return 0;
	if (unit < 0xd800 || unit > 0xdfff) {
		*out_len = json_tree_utf8(unit, out);
		return 4;
	}
	if (end - text < 10 || text[4] != '\\' || text[5] != 'u' ||
	    !json_tree_hex(text + 6, &low) || low < 0xdc00 || low > 0xdfff)
		return 0;
	*out_len = json_tree_utf8(
	    0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)), out);
	return 10;
}

/* Behind a backslash. Returns signs used; 0: it is odd. */
static size_t
json_tree_escape(const char *text, const char *end, char *out, size_t *out_len)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (text == end)
		return 0;
	if (*text == 'u') {
		size_t used = json_tree_unit(text + 1, end, out, out_len);

		return used > 0 ? used + 1 : 0;
	}
	name = *text != '\0' ? strchr(names, *text) : NULL;
	if (name == NULL)
		return 0;
	*out = bytes[name - names];
	*out_len = 1;
	return 1;
}

/* What was read may have held a key. */
static void
json_tree_wipe(struct json_tree *tree)
{
	if (tree->space != NULL)
		explicit_bzero(tree->space, tree->space_size);
	free(tree->space);
}

/* Room for what can only become shorter. */
static bool
json_tree_room(struct json_tree *tree, size_t size)
{
	char *space;

	if (size <= tree->space_size)
		return true;
	/* A text does not outlive its call: nothing in it is needed again. */
	space = malloc(size);
	if (space == NULL)
		return false;
	json_tree_wipe(tree);
	tree->space = space;
	tree->space_size = size;
	return true;
}

/* From the first backslash of a text that ends at quote on. */
static bool
json_tree_plain(struct json_tree *tree, const char *from, const char *first,
    const char *quote, size_t *len_r)
{
	size_t len = (size_t)(first - from), part;

	if (!json_tree_room(tree, (size_t)(quote - from)))
		return false;
	memcpy(tree->space, from, len);
	while (first < quote) {
		const char *next = memchr(first, '\\', (size_t)(quote - first));
		size_t count = (size_t)((next != NULL ? next : quote) - first);

		memcpy(tree->space + len, first, count);
		len += count;
		first += count;
		if (next == NULL)
			break;
		count = json_tree_escape(
		    first + 1, quote, tree->space + len, &part);
		if (count == 0)
			return false;
		len += part;
		first += count + 1;
	}
	*len_r = len;
	return true;
}

/* Eight bytes at a time: none is a quote, a backslash, a control sign or
 * outside of ASCII. (A borrow reaches only higher bytes than the one that
 * is such a sign itself.) */
static bool
json_tree_are_plain(const char *bytes)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const uint64_t tops = ones * 0x80;
	uint64_t word, quote, back;

	memcpy(&word, bytes, sizeof(word));
	quote = word ^ ones * '"';
	back = word ^ ones * '\\';
	return ((word | (word - ones * 0x20) | (quote - ones) | (back - ones)) &
		   tops) == 0;
}

/* Where the text that begins at from ends; NULL: it does not, or has a
 * control sign. *back_r: its first backslash, or NULL. */
static const char *
json_tree_quote(struct json_tree *tree, const char **back_r)
{
	const char *from = tree->at, *end = tree->end;

	*back_r = NULL;
	tree->is_ascii = true;
	for (; from < end; from++) {
		while (end - from >= 8 && json_tree_are_plain(from))
			from += 8;
		if (from == end || (unsigned char)*from < 0x20)
			return NULL;
		if (*from == '"')
			return from;
		if ((unsigned char)*from >= 0x80)
			tree->is_ascii = false;
		if (*from != '\\')
			continue;
		if (*back_r == NULL)
			*back_r = from;
		from++; /* what stands behind it is no end */
	}
	return NULL;
}

/* Behind its first quote. The text is in place or in tree->space, valid
 * until the next one; UTF-8 is looked at by who takes it, unless there was
 * nothing but ASCII: our own escapes are UTF-8. */
static bool
json_tree_text(struct json_tree *tree, const char **text_r, size_t *len_r)
{
	const char *back;
	const char *quote = json_tree_quote(tree, &back);

	if (quote == NULL)
		return false;
	*text_r = tree->at;
	*len_r = (size_t)(quote - tree->at);
	if (back != NULL) {
		if (!json_tree_plain(tree, tree->at, back, quote, len_r))
			return false;
		*text_r = tree->space;
	}
	tree->at = quote + 1;
	return true;
}

/* --- other values --- */

static bool
json_tree_is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static size_t
json_tree_digits(const char *text)
{
	size_t count = 0;

	while (json_tree_is_digit(text[count]))
		count++;
	return count;
}

/* text, NUL-terminated, is a number as JSON writes it. */
static bool
json_tree_is_number(const char *text, bool *whole_r)
{
	size_t count;

	text += *text == '-';
	count = json_tree_digits(text);
	if (count == 0 || (count > 1 && *text == '0'))
		return false;
	text += count;
	*whole_r = *text == '\0' && count <= JSON_TREE_DIGITS_MAX;
	if (*text == '\0')
		return *whole_r;
	if (*text == '.') {
		count = json_tree_digits(++text);
		text += count;
		if (count == 0)
			return false;
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		count = json_tree_digits(text);
		text += count;
		if (count == 0)
			return false;
	}
	return *text == '\0';
}

static json_t *
json_tree_number(struct json_tree *tree)
{
	char text[JSON_TREE_NUMBER_MAX + 1];
	size_t len = 0;
	double value;
	bool whole;

	while (tree->at < tree->end && len < JSON_TREE_NUMBER_MAX &&
	       (json_tree_is_digit(*tree->at) ||
		   (*tree->at != '\0' && strchr("+-.eE", *tree->at) != NULL)))
		text[len++] = *tree->at++;
	text[len] = '\0';
	if (!json_tree_is_number(text, &whole))
		return NULL;
	if (whole)
		return json_integer(strtoll(text, NULL, 10));
	errno = 0;
	value = strtod(text, NULL);
	return errno == 0 && isfinite(value) ? json_real(value) : NULL;
}

static json_t *
json_tree_word(struct json_tree *tree, const char *word, json_t *value)
{
	size_t len = strlen(word);

	if ((size_t)(tree->end - tree->at) < len ||
	    memcmp(tree->at, word, len) != 0)
		return NULL;
	tree->at += len;
	return value;
}

static json_t *
json_tree_value(struct json_tree *tree)
{
	const char *text;
	size_t len;

	switch (json_tree_sign(tree)) {
	case '"':
		if (!json_tree_text(tree, &text, &len))
			return NULL;
		return tree->is_ascii ? json_stringn_nocheck(text, len)
				      : json_stringn(text, len);
	case '{':
		return json_object();
	case '[':
		return json_array();
	case 't':
		return json_tree_word(tree, "rue", json_true());
	case 'f':
		return json_tree_word(tree, "alse", json_false());
	case 'n':
		return json_tree_word(tree, "ull", json_null());
	case '\0':
		return NULL;
	default:
		tree->at--;
		return json_tree_number(tree);
	}
}

/* --- the tree --- */

/* A name, and its colon; NULL as key: it stands twice or is odd. */
static bool
json_tree_key(struct json_tree *tree)
{
	const json_t *top = tree->stack[tree->depth - 1];

	if (json_tree_sign(tree) != '"' ||
	    !json_tree_text(tree, &tree->key, &tree->key_len) ||
	    memchr(tree->key, '\0', tree->key_len) != NULL ||
	    json_object_getn(top, tree->key, tree->key_len) != NULL)
		return false;
	return json_tree_sign(tree) == ':';
}

/* A value into the container on top; a container is the top then. */
static bool
json_tree_put(struct json_tree *tree)
{
	json_t *top = tree->stack[tree->depth - 1];
	char name[64];
	json_t *value;

	/* A text may take the space that the name is in. */
	if (json_is_object(top) && tree->key == tree->space) {
		if (tree->key_len > sizeof(name))
			return false;
		memcpy(name, tree->key, tree->key_len);
		tree->key = name;
	}
	value = json_tree_value(tree);
	if (value == NULL ||
	    (json_is_object(top)
		    ? json_object_setn_new(top, tree->key, tree->key_len, value)
		    : json_array_append_new(top, value)) != 0)
		return false;
	if (!json_is_object(value) && !json_is_array(value))
		return true;
	if (tree->depth == JSON_TREE_DEPTH_MAX)
		return false;
	tree->stack[tree->depth++] = value;
	return true;
}

/* Of the container on top: its next value, or its end. */
static bool
json_tree_step(struct json_tree *tree, bool first)
{
	bool object = json_is_object(tree->stack[tree->depth - 1]);
	char close = object ? '}' : ']', sign;

	json_tree_blanks(tree);
	if (tree->at == tree->end)
		return false;
	if (*tree->at == close) {
		tree->at++;
		tree->depth--;
		return true;
	}
	if (!first) {
		sign = json_tree_sign(tree);
		if (sign != ',')
			return false;
	}
	return (!object || json_tree_key(tree)) && json_tree_put(tree);
}

json_t *
json_tree_read(const char *bytes, size_t len)
{
	struct json_tree tree = {.at = bytes, .end = bytes + len};
	json_t *root = NULL;
	size_t depth = 0;

	if (json_tree_sign(&tree) == '{')
		root = json_object();
	if (root == NULL)
		return NULL;
	tree.stack[tree.depth++] = root;
	while (tree.depth > 0) {
		bool first = tree.depth > depth;

		depth = tree.depth;
		if (!json_tree_step(&tree, first))
			break;
	}
	json_tree_blanks(&tree);
	json_tree_wipe(&tree);
	if (tree.depth == 0 && tree.at == tree.end)
		return root;
	json_decref(root);
	return NULL;
}
