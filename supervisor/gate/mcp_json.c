/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict JSON checker: a loop with a stack of open brackets, no
 * recursion, no tree. mcp_message calls it for every line before anything
 * else looks at the bytes; it must never accept what a lenient reader
 * could read as another message.
 */
#include "supervisor/gate/mcp_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One check under way. */
struct mcp_json_run {
	struct mcp_json *json;
	const char *p, *end;
	unsigned depth;
	bool is_object[MCP_JSON_DEPTH_MAX];
	uint64_t serial[MCP_JSON_DEPTH_MAX]; /* number of the object */
	uint64_t objects;
};

/* What comes next. */
enum mcp_json_want {
	MCP_JSON_VALUE,
	MCP_JSON_KEY,
	MCP_JSON_AFTER
};

void
mcp_json_init(struct mcp_json *json, const struct mcp_hash_key *key)
{
	memset(json, 0, sizeof(*json));
	json->key = *key;
}

void
mcp_json_free(struct mcp_json *json)
{
	free(json->slots);
	json->slots = NULL;
	json->size = json->used = 0;
}

const char *
mcp_json_fault_text(enum mcp_json_fault fault)
{
	static const char *const texts[MCP_JSON_FAULT_COUNT] = {
	    [MCP_JSON_OK] = "valid",
	    [MCP_JSON_EMPTY] = "an empty line",
	    [MCP_JSON_SYNTAX] = "not JSON",
	    [MCP_JSON_CONTROL] = "a raw control byte",
	    [MCP_JSON_UTF8] = "invalid UTF-8",
	    [MCP_JSON_ESCAPE] = "a bad escape",
	    [MCP_JSON_BAD_KEY] = "a key with NUL or half a surrogate pair",
	    [MCP_JSON_DUPLICATE] = "a duplicate key",
	    [MCP_JSON_DEEP] = "nested too deep",
	    [MCP_JSON_MANY_KEYS] = "too many keys",
	    [MCP_JSON_NO_MEMORY] = "no memory",
	};

	return fault < MCP_JSON_FAULT_COUNT ? texts[fault] : "unknown";
}

/* --- the set of keys ---------------------------------------------------- */

static bool
mcp_json_insert(uint64_t *slots, size_t size, uint64_t value)
{
	size_t i = (size_t)value & (size - 1);

	while (slots[i] != 0) {
		if (slots[i] == value)
			return false;
		i = (i + 1) & (size - 1);
	}
	slots[i] = value;
	return true;
}

static bool
mcp_json_grow(struct mcp_json *json)
{
	size_t i, size = json->size == 0 ? 64 : json->size * 2;
	uint64_t *slots = calloc(size, sizeof(*slots));

	if (slots == NULL)
		return false;
	for (i = 0; i < json->size; i++) {
		if (json->slots[i] != 0)
			mcp_json_insert(slots, size, json->slots[i]);
	}
	free(json->slots);
	json->slots = slots;
	json->size = size;
	return true;
}

static enum mcp_json_fault
mcp_json_remember(struct mcp_json *json, uint64_t value)
{
	if (json->used >= MCP_JSON_KEYS_MAX)
		return MCP_JSON_MANY_KEYS;
	if (json->used * 2 >= json->size && !mcp_json_grow(json))
		return MCP_JSON_NO_MEMORY;
	if (!mcp_json_insert(json->slots, json->size, value == 0 ? 1 : value))
		return MCP_JSON_DUPLICATE;
	json->used++;
	return MCP_JSON_OK;
}

/* Start a line with an empty set; a table that grew large is given back. */
static void
mcp_json_forget(struct mcp_json *json)
{
	if (json->size > 4096)
		mcp_json_free(json);
	else if (json->used > 0)
		memset(json->slots, 0, json->size * sizeof(*json->slots));
	json->used = 0;
}

/* --- strings ------------------------------------------------------------ */

size_t
mcp_json_utf8(const unsigned char *p, const unsigned char *end)
{
	size_t i, len;
	unsigned char low = 0x80, high = 0xbf;

	if (p >= end)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if ((size_t)(end - p) < len)
		return 0;
	/* Unicode 15, table 3-7: bounds of the second byte. */
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (i = 2; i < len; i++) {
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	}
	return len;
}

int
mcp_json_hex4(const char *p, const char *end)
{
	int i, value = 0;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			value = value * 16 + (c - 'A' + 10);
		else
			return -1;
	}
	return value;
}

/* Feed a code point as UTF-8, so that "\u0041" and "A" are one key. */
static void
mcp_json_hash_point(struct mcp_hash *hash, uint32_t point)
{
	if (point < 0x80) {
		mcp_hash_byte(hash, (uint8_t)point);
	} else if (point < 0x800) {
		mcp_hash_byte(hash, (uint8_t)(0xc0 | (point >> 6)));
		mcp_hash_byte(hash, (uint8_t)(0x80 | (point & 0x3f)));
	} else if (point < 0x10000) {
		mcp_hash_byte(hash, (uint8_t)(0xe0 | (point >> 12)));
		mcp_hash_byte(hash, (uint8_t)(0x80 | ((point >> 6) & 0x3f)));
		mcp_hash_byte(hash, (uint8_t)(0x80 | (point & 0x3f)));
	} else {
		mcp_hash_byte(hash, (uint8_t)(0xf0 | (point >> 18)));
		mcp_hash_byte(hash, (uint8_t)(0x80 | ((point >> 12) & 0x3f)));
		mcp_hash_byte(hash, (uint8_t)(0x80 | ((point >> 6) & 0x3f)));
		mcp_hash_byte(hash, (uint8_t)(0x80 | (point & 0x3f)));
	}
}

/* "uXXXX", p behind the 'u'. A value may hold a lone surrogate (that is
 * how programs write a cut emoji); a key may not. */
static enum mcp_json_fault
mcp_json_unicode(struct mcp_json_run *run, struct mcp_hash *hash)
{
	int low, unit = mcp_json_hex4(run->p, run->end);
	uint32_t point;

	if (unit < 0)
		return MCP_JSON_ESCAPE;
	run->p += 4;
	if (hash == NULL)
		return MCP_JSON_OK;
	point = (uint32_t)unit;
	if (point == 0 || (point >= 0xdc00 && point <= 0xdfff))
		return MCP_JSON_BAD_KEY;
	if (point >= 0xd800 && point <= 0xdbff) {
		if (run->end - run->p < 6 || run->p[0] != '\\' ||
		    run->p[1] != 'u')
			return MCP_JSON_BAD_KEY;
		low = mcp_json_hex4(run->p + 2, run->end);
		if (low < 0xdc00 || low > 0xdfff)
			return MCP_JSON_BAD_KEY;
		point = 0x10000 + ((point - 0xd800) << 10) +
			((uint32_t)low - 0xdc00);
		run->p += 6;
	}
	mcp_json_hash_point(hash, point);
	return MCP_JSON_OK;
}

static enum mcp_json_fault
mcp_json_escape(struct mcp_json_run *run, struct mcp_hash *hash)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (run->p == run->end)
		return MCP_JSON_ESCAPE;
	c = *run->p++;
	if (c == 'u')
		return mcp_json_unicode(run, hash);
	found = c == '\0' ? NULL : strchr(from, c);
	if (found == NULL)
		return MCP_JSON_ESCAPE;
	if (hash != NULL)
		mcp_hash_byte(hash, (uint8_t)to[found - from]);
	return MCP_JSON_OK;
}

/* One run of plain bytes or one multi-byte character. */
static enum mcp_json_fault
mcp_json_plain(struct mcp_json_run *run, struct mcp_hash *hash)
{
	const unsigned char *p = (const unsigned char *)run->p;
	size_t len;

	if (*p < 0x20)
		return MCP_JSON_CONTROL;
	len = mcp_json_utf8(p, (const unsigned char *)run->end);
	if (len == 0)
		return MCP_JSON_UTF8;
	if (hash != NULL)
		mcp_hash_bytes(hash, run->p, len);
	run->p += len;
	return MCP_JSON_OK;
}

/* p is behind the opening quote; hash is NULL for values. */
static enum mcp_json_fault
mcp_json_string(struct mcp_json_run *run, struct mcp_hash *hash)
{
	enum mcp_json_fault fault = MCP_JSON_OK;

	while (fault == MCP_JSON_OK) {
		if (run->p == run->end)
			return MCP_JSON_SYNTAX;
		if (*run->p == '"') {
			run->p++;
			return MCP_JSON_OK;
		}
		if (*run->p == '\\') {
			run->p++;
			fault = mcp_json_escape(run, hash);
		} else {
			fault = mcp_json_plain(run, hash);
		}
	}
	return fault;
}

/* --- the other scalars -------------------------------------------------- */

static enum mcp_json_fault
mcp_json_digits(struct mcp_json_run *run)
{
	const char *start = run->p;

	while (run->p < run->end && *run->p >= '0' && *run->p <= '9')
		run->p++;
	return run->p > start ? MCP_JSON_OK : MCP_JSON_SYNTAX;
}

static bool
mcp_json_take(struct mcp_json_run *run, char c)
{
	if (run->p == run->end || *run->p != c)
		return false;
	run->p++;
	return true;
}

static enum mcp_json_fault
mcp_json_number(struct mcp_json_run *run)
{
	mcp_json_take(run, '-');
	if (!mcp_json_take(run, '0') && mcp_json_digits(run) != MCP_JSON_OK)
		return MCP_JSON_SYNTAX;
	if (mcp_json_take(run, '.') && mcp_json_digits(run) != MCP_JSON_OK)
		return MCP_JSON_SYNTAX;
	if (mcp_json_take(run, 'e') || mcp_json_take(run, 'E')) {
		if (!mcp_json_take(run, '+'))
			mcp_json_take(run, '-');
		return mcp_json_digits(run);
	}
	return MCP_JSON_OK;
}

static enum mcp_json_fault
mcp_json_literal(struct mcp_json_run *run, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(run->end - run->p) < len || memcmp(run->p, text, len) != 0)
		return MCP_JSON_SYNTAX;
	run->p += len;
	return MCP_JSON_OK;
}

/* --- structure ---------------------------------------------------------- */

static void
mcp_json_blanks(struct mcp_json_run *run)
{
	while (run->p < run->end && (*run->p == ' ' || *run->p == '\t'))
		run->p++;
}

static enum mcp_json_fault
mcp_json_open(struct mcp_json_run *run, enum mcp_json_want *want)
{
	bool object = *run->p == '{';

	if (run->depth == MCP_JSON_DEPTH_MAX)
		return MCP_JSON_DEEP;
	run->is_object[run->depth] = object;
	run->serial[run->depth] = ++run->objects;
	run->depth++;
	run->p++;
	mcp_json_blanks(run);
	*want = object ? MCP_JSON_KEY : MCP_JSON_VALUE;
	if (mcp_json_take(run, object ? '}' : ']')) {
		run->depth--;
		*want = MCP_JSON_AFTER;
	}
	return MCP_JSON_OK;
}

static enum mcp_json_fault
mcp_json_value(struct mcp_json_run *run, enum mcp_json_want *want)
{
	*want = MCP_JSON_AFTER;
	switch (*run->p) {
	case '{':
	case '[':
		return mcp_json_open(run, want);
	case '"':
		run->p++;
		return mcp_json_string(run, NULL);
	case 't':
		return mcp_json_literal(run, "true");
	case 'f':
		return mcp_json_literal(run, "false");
	case 'n':
		return mcp_json_literal(run, "null");
	default:
		return mcp_json_number(run);
	}
}

static enum mcp_json_fault
mcp_json_member(struct mcp_json_run *run, enum mcp_json_want *want)
{
	struct mcp_hash hash;
	enum mcp_json_fault fault;
	uint64_t serial = run->serial[run->depth - 1];

	if (!mcp_json_take(run, '"'))
		return MCP_JSON_SYNTAX;
	mcp_hash_start(&hash, &run->json->key);
	mcp_hash_bytes(&hash, &serial, sizeof(serial));
	fault = mcp_json_string(run, &hash);
	if (fault == MCP_JSON_OK)
		fault = mcp_json_remember(run->json, mcp_hash_end(&hash));
	if (fault != MCP_JSON_OK)
		return fault;
	mcp_json_blanks(run);
	*want = MCP_JSON_VALUE;
	return mcp_json_take(run, ':') ? MCP_JSON_OK : MCP_JSON_SYNTAX;
}

static enum mcp_json_fault
mcp_json_after(struct mcp_json_run *run, enum mcp_json_want *want)
{
	bool object = run->is_object[run->depth - 1];

	if (mcp_json_take(run, ',')) {
		*want = object ? MCP_JSON_KEY : MCP_JSON_VALUE;
		return MCP_JSON_OK;
	}
	if (!mcp_json_take(run, object ? '}' : ']'))
		return MCP_JSON_SYNTAX;
	run->depth--;
	return MCP_JSON_OK;
}

/* A control byte outside of strings gets its own name. */
static enum mcp_json_fault
mcp_json_name_fault(const struct mcp_json_run *run, enum mcp_json_fault fault)
{
	if (fault == MCP_JSON_SYNTAX && run->p < run->end &&
	    (unsigned char)*run->p < 0x20)
		return MCP_JSON_CONTROL;
	return fault;
}

static enum mcp_json_fault
mcp_json_run_all(struct mcp_json_run *run)
{
	enum mcp_json_want want = MCP_JSON_VALUE;
	enum mcp_json_fault fault = MCP_JSON_OK;

	while (fault == MCP_JSON_OK) {
		mcp_json_blanks(run);
		if (want == MCP_JSON_AFTER && run->depth == 0)
			return run->p == run->end ? MCP_JSON_OK
						  : MCP_JSON_SYNTAX;
		if (run->p == run->end)
			return MCP_JSON_SYNTAX;
		switch (want) {
		case MCP_JSON_VALUE:
			fault = mcp_json_value(run, &want);
			break;
		case MCP_JSON_KEY:
			fault = mcp_json_member(run, &want);
			break;
		case MCP_JSON_AFTER:
			fault = mcp_json_after(run, &want);
			break;
		}
	}
	return fault;
}

enum mcp_json_fault
mcp_json_check(
    struct mcp_json *json, const char *bytes, size_t len, size_t *position_r)
{
	struct mcp_json_run run;
	enum mcp_json_fault fault;

	memset(&run, 0, sizeof(run));
	run.json = json;
	run.p = bytes;
	run.end = bytes + len;
	mcp_json_forget(json);
	mcp_json_blanks(&run);
	*position_r = 0;
	if (run.p == run.end)
		return MCP_JSON_EMPTY;
	fault = mcp_json_name_fault(&run, mcp_json_run_all(&run));
	*position_r = (size_t)(run.p - bytes);
	return fault;
}
