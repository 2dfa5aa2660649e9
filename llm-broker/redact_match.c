/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one byte of a key after the other from where it may begin, and
 * compares: first bytes as they are, the whole by its salted digest. Called
 * by redact.c for each byte that a key can begin with. Must never look
 * further than a key can reach.
 *
 * A byte of a key is itself, or %HH, or backslashes and uHHHH, or
 * backslashes and itself; and each sign of such an escape may be escaped
 * again, REDACT_MATCH_DEPTH times.
 */
#include "llm-broker/redact_match.h"

#include <string.h>

#include "llm-broker/key_digest.h"

struct redact_match_char {
	uint8_t byte;
	size_t next; /* where the one behind it begins */
};

static int
redact_match_hex(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

static enum redact_match_verdict redact_match_read(
    const struct redact_match *match, size_t at, unsigned depth,
    struct redact_match_char *char_r);

/* count hex digits. NO: they are none, or mean nothing in a key. */
static enum redact_match_verdict
redact_match_digits(const struct redact_match *match, size_t at, unsigned count,
    unsigned depth, struct redact_match_char *char_r)
{
	struct redact_match_char digit;
	unsigned value = 0;

	while (count-- > 0) {
		enum redact_match_verdict verdict =
		    redact_match_read(match, at, depth, &digit);
		int nibble;

		if (verdict != REDACT_MATCH_YES)
			return verdict;
		nibble = redact_match_hex(digit.byte);
		if (nibble < 0)
			return REDACT_MATCH_NO;
		value = value * 16 + (unsigned)nibble;
		at = digit.next;
	}
	char_r->byte = (uint8_t)value;
	char_r->next = at;
	return value <= 0xff ? REDACT_MATCH_YES : REDACT_MATCH_NO;
}

/* Behind a backslash: more of them, then uHHHH or any byte. start: where
 * the first one stood. */
static enum redact_match_verdict
redact_match_escape(const struct redact_match *match, size_t start,
    unsigned depth, struct redact_match_char *char_r)
{
	enum redact_match_verdict verdict;
	size_t at;

	do {
		at = char_r->next;
		if (at - start > REDACT_MATCH_CHAR_MAX)
			return REDACT_MATCH_NO;
		verdict = redact_match_read(match, at, depth, char_r);
	} while (verdict == REDACT_MATCH_YES && char_r->byte == '\\');
	if (verdict != REDACT_MATCH_YES || char_r->byte != 'u')
		return verdict;
	return redact_match_digits(match, char_r->next, 4, depth, char_r);
}

static enum redact_match_verdict
redact_match_percent(const struct redact_match *match, unsigned depth,
    struct redact_match_char *char_r)
{
	struct redact_match_char decoded;
	enum redact_match_verdict verdict =
	    redact_match_digits(match, char_r->next, 2, depth, &decoded);

	if (verdict == REDACT_MATCH_YES)
		*char_r = decoded;
	/* Else it is a percent sign. */
	return verdict == REDACT_MATCH_NO ? REDACT_MATCH_YES : verdict;
}

/* One byte of text, with depth layers of escapes taken off. */
static enum redact_match_verdict
redact_match_read(const struct redact_match *match, size_t at, unsigned depth,
    struct redact_match_char *char_r)
{
	enum redact_match_verdict verdict;

	if (at >= match->len)
		return match->last ? REDACT_MATCH_NO : REDACT_MATCH_MORE;
	char_r->byte = (uint8_t)match->bytes[at];
	char_r->next = at + 1;
	if (depth == 0 || (char_r->byte != '%' && char_r->byte != '\\'))
		return REDACT_MATCH_YES;
	if (depth > 1) {
		verdict = redact_match_read(match, at, depth - 1, char_r);
		if (verdict != REDACT_MATCH_YES)
			return verdict;
	}
	if (char_r->byte == '%')
		return redact_match_percent(match, depth - 1, char_r);
	if (char_r->byte == '\\')
		return redact_match_escape(match, at, depth - 1, char_r);
	return REDACT_MATCH_YES;
}

/* The form's one spelling; 0 for a byte that the form cannot have. */
static uint8_t
redact_match_norm(enum redact_form form, uint8_t byte)
{
	switch (form) {
	case REDACT_RAW:
		return byte > 0x20 && byte < 0x7f ? byte : 0;
	case REDACT_HEX:
		if (byte >= 'A' && byte <= 'F')
			return (uint8_t)(byte - 'A' + 'a');
		return redact_match_hex(byte) >= 0 ? byte : 0;
	case REDACT_BASE64:
		break;
	}
	if (byte == '-' || byte == '+')
		return '+';
	if (byte == '_' || byte == '/')
		return '/';
	return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
		       (byte >= 'a' && byte <= 'z')
		   ? byte
		   : 0;
}

static bool
redact_match_digest(const struct redact_pattern *pattern, const uint8_t *text)
{
	uint8_t digest[REDACT_DIGEST_LEN];

	return key_digest_make(pattern->salt, text, pattern->length, digest) ==
		   RESULT_OK &&
	       memcmp(digest, pattern->digest, sizeof(digest)) == 0;
}

/* The text as the pattern has it, count_r bytes of it; YES: all. */
static enum redact_match_verdict
redact_match_collect(const struct redact_match *match,
    const struct redact_pattern *pattern, size_t at, unsigned depth,
    size_t *span_r, uint8_t *text, size_t *count_r)
{
	struct redact_match_char read = {0, at};

	for (size_t i = 0; i < pattern->length; i++) {
		*count_r = i;
		enum redact_match_verdict verdict =
		    redact_match_read(match, read.next, depth, &read);

		if (verdict != REDACT_MATCH_YES)
			return verdict;
		text[i] = redact_match_norm(pattern->form, read.byte);
		if (text[i] == 0 ||
		    (i < pattern->prefix_len && text[i] != pattern->prefix[i]))
			return REDACT_MATCH_NO;
	}
	*count_r = pattern->length;
	*span_r = read.next - at;
	return REDACT_MATCH_YES;
}

/* One pattern from one start; depth 0: as it stands. */
static enum redact_match_verdict
redact_match_pattern(const struct redact_match *match,
    const struct redact_pattern *pattern, size_t at, unsigned depth,
    size_t *span_r)
{
	uint8_t text[REDACT_LENGTH_MAX];
	size_t count = 0;
	enum redact_match_verdict verdict = redact_match_collect(
	    match, pattern, at, depth, span_r, text, &count);

	if (verdict == REDACT_MATCH_YES && !redact_match_digest(pattern, text))
		verdict = REDACT_MATCH_NO;
	/* One more than was good was written. */
	explicit_bzero(text, count < sizeof(text) ? count + 1 : count);
	return verdict;
}

/* A key that has a percent sign or backslash of its own, as it stands. */
static bool
redact_match_is_bare(const struct redact_match *match,
    const struct redact_pattern *pattern, size_t at)
{
	const char *bytes = match->bytes + at;
	size_t left = match->len - at;
	size_t prefix = pattern->prefix_len < left ? pattern->prefix_len : left;

	if (pattern->form != REDACT_RAW ||
	    memcmp(bytes, pattern->prefix, prefix) != 0)
		return false;
	left = pattern->length < left ? pattern->length : left;
	return memchr(bytes, '%', left) != NULL ||
	       memchr(bytes, '\\', left) != NULL;
}

static bool
redact_match_is_sign(uint8_t byte)
{
	return byte == '%' || byte == '\\';
}

/* The same for an escape: a lone backslash before most bytes means that
 * byte, a percent sign before what is no digit means itself. */
static uint64_t
redact_match_ahead_sign(const struct redact_match *match, size_t at)
{
	const struct redact_set *table = match->set;
	uint8_t sign = (uint8_t)match->bytes[at], next;

	if (at + 1 >= match->len)
		return table->may[0][sign];
	next = (uint8_t)match->bytes[at + 1];
	if (redact_match_is_sign(next))
		return table->may[0][sign];
	if (sign == '%')
		return redact_match_hex(next) >= 0 ? table->may[0][sign]
						   : table->signs;
	return next == 'u' ? table->may[0][sign]
			   : table->may[0][next] | table->signs;
}

/* Which patterns can begin at this byte, by the few bytes that stand there
 * as they are. */
static uint64_t
redact_match_ahead(const struct redact_match *match, size_t at)
{
	const uint8_t *bytes = (const uint8_t *)match->bytes;
	uint64_t may = match->set->may[0][bytes[at]];

	if (redact_match_is_sign(bytes[at]))
		return redact_match_ahead_sign(match, at);
	for (unsigned i = 1; i < REDACT_AHEAD && may != 0; i++) {
		if (at + i >= match->len || redact_match_is_sign(bytes[at + i]))
			break;
		may &= match->set->may[i][bytes[at + i]];
	}
	return may;
}

/* One pattern, through escapes and, when it has such signs of its own, as
 * it stands. */
static enum redact_match_verdict
redact_match_one(const struct redact_match *match,
    const struct redact_pattern *pattern, size_t at, size_t *span_r)
{
	enum redact_match_verdict verdict = redact_match_pattern(
	    match, pattern, at, REDACT_MATCH_DEPTH, span_r);
	enum redact_match_verdict bare = REDACT_MATCH_NO;

	if (verdict != REDACT_MATCH_YES &&
	    redact_match_is_bare(match, pattern, at))
		bare = redact_match_pattern(match, pattern, at, 0, span_r);
	return bare != REDACT_MATCH_NO ? bare : verdict;
}

enum redact_match_verdict
redact_match_at(const struct redact_match *match, size_t at, size_t *span_r)
{
	enum redact_match_verdict found = REDACT_MATCH_NO, verdict;
	uint64_t may = redact_match_ahead(match, at);

	for (size_t i = 0; may != 0; i++, may >>= 1) {
		if ((may & 1) == 0)
			continue;
		verdict = redact_match_one(
		    match, &match->set->patterns[i], at, span_r);
		if (verdict == REDACT_MATCH_YES)
			return verdict;
		if (verdict == REDACT_MATCH_MORE)
			found = verdict;
	}
	return found;
}

/* By two bytes at a time: most that look like a first one are none. */
size_t
redact_match_skip(const struct redact_match *match, size_t at)
{
	const uint8_t *bytes = (const uint8_t *)match->bytes;
	const uint8_t *here = bytes + at, *last = bytes + match->len - 1;
	const uint64_t *first = match->set->may[0];
	const uint64_t *second = match->set->may[1];
	uint64_t may;

	if (at >= match->len)
		return at;
	for (; here < last; here++) {
		may = first[*here];
		if (may != 0 && ((may & second[here[1]]) != 0 ||
				    redact_match_is_sign(*here)))
			break;
	}
	return (size_t)(here - bytes) + (here == last && first[*here] == 0);
}

/* Every spelling of a byte in the form's one spelling. */
static void
redact_match_mark(
    uint64_t may[256], enum redact_form form, uint8_t byte, uint64_t bit)
{
	may[byte] |= bit;
	if (form == REDACT_HEX && byte >= 'a')
		may[byte - 'a' + 'A'] |= bit;
	if (form == REDACT_BASE64 && byte == '+')
		may['-'] |= bit;
	if (form == REDACT_BASE64 && byte == '/')
		may['_'] |= bit;
}

void
redact_match_prepare(struct redact_set *set, size_t i)
{
	const struct redact_pattern *pattern = &set->patterns[i];
	uint64_t bit = UINT64_C(1) << i;

	for (unsigned k = 0; k < REDACT_AHEAD; k++) {
		if (k < pattern->prefix_len)
			redact_match_mark(set->may[k], pattern->form,
			    pattern->prefix[k], bit);
		for (unsigned byte = 0; byte < 256 && k >= pattern->prefix_len;
		     byte++)
			set->may[k][byte] |= bit;
		set->may[k]['%'] |= bit;
		set->may[k]['\\'] |= bit;
	}
	if (redact_match_is_sign(pattern->prefix[0]))
		set->signs |= bit;
}
