/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overwrites keys in a stream. Called by call_relay.c (bodies) and
 * response_filter.c (fields). What may still become a key is held; all else
 * goes on at once. Must never let go of a byte that a later one could show
 * to be a key's, within the bound that redact.h names.
 */
#include "llm-broker/redact.h"

#include <stdlib.h>
#include <string.h>

#include "llm-broker/redact_match.h"

#define REDACT_SLICE 65536U /* bytes looked at in one go */

struct redact {
	const struct redact_set *set;
	struct buffer held; /* from where a key may begin */
	uint64_t count;
};

enum result
redact_new(const struct redact_set *set, struct redact **redact_r)
{
	struct redact *redact = malloc(sizeof(*redact));

	*redact_r = redact;
	if (redact == NULL)
		return RESULT_NO_MEMORY;
	redact->set = set;
	redact->count = 0;
	buffer_init(&redact->held, REDACT_HELD_MAX + REDACT_SLICE);
	return RESULT_OK;
}

void
redact_free(struct redact **redact)
{
	if (*redact != NULL)
		buffer_free(&(*redact)->held);
	free(*redact);
	*redact = NULL;
}

/* Every backslash of a run means what the first one does, as long as the
 * run is not longer than a byte of a key may be. */
static size_t
redact_run_end(const struct redact_match *match, size_t at)
{
	size_t end = at;

	while (end < match->len && match->bytes[end] == '\\')
		end++;
	if (end - at <= 1)
		return at;
	return end - at < REDACT_MATCH_CHAR_MAX
		   ? end - 1
		   : end - REDACT_MATCH_CHAR_MAX / 2;
}

/* The next key or perhaps-key from *at_r on; NO: none to the end. */
static enum redact_match_verdict
redact_next(const struct redact_match *match, size_t *at_r, size_t *span_r)
{
	size_t at = *at_r;
	enum redact_match_verdict verdict;

	for (;; at++) {
		at = redact_match_skip(match, at);
		*at_r = at;
		if (at >= match->len)
			return REDACT_MATCH_NO;
		verdict = redact_match_at(match, at, span_r);
		if (verdict == REDACT_MATCH_YES)
			return verdict;
		if (verdict == REDACT_MATCH_MORE &&
		    match->len - at <= REDACT_HELD_MAX)
			return verdict;
		at = redact_run_end(match, at);
	}
}

static enum result
redact_stars(struct buffer *out, size_t count)
{
	uint8_t *space;
	size_t room;
	enum result result = buffer_reserve(out, count, &space, &room);

	if (result != RESULT_OK || room < count)
		return RESULT_TOO_LONG;
	memset(space, '*', count);
	buffer_commit(out, count);
	return RESULT_OK;
}

/* Bytes to out, up to where a key may begin. *done_r: how many. */
static enum result
redact_pass(struct redact *redact, const char *bytes, size_t len, bool last,
    struct buffer *out, size_t *done_r)
{
	const struct redact_match match = {redact->set, bytes, len, last};
	enum redact_match_verdict verdict = REDACT_MATCH_YES;
	enum result result = RESULT_OK;
	size_t at = 0, from = 0, span = 0;

	while (verdict == REDACT_MATCH_YES && result == RESULT_OK) {
		verdict = redact_next(&match, &at, &span);
		result = buffer_append(out, bytes + from, at - from);
		if (verdict == REDACT_MATCH_YES && result == RESULT_OK) {
			result = redact_stars(out, span);
			redact->count++;
			at += span;
		}
		from = at;
	}
	*done_r = at;
	return result;
}

static enum result
redact_slice(
    struct redact *redact, const char *bytes, size_t len, struct buffer *out)
{
	struct buffer *held = &redact->held;
	size_t done;
	enum result result;

	if (held->len == 0) {
		result = redact_pass(redact, bytes, len, false, out, &done);
		return result != RESULT_OK || done == len
			   ? result
			   : buffer_append(held, bytes + done, len - done);
	}
	result = buffer_append(held, bytes, len);
	if (result != RESULT_OK)
		return result;
	result = redact_pass(redact, (const char *)buffer_bytes_borrow(held),
	    held->len, false, out, &done);
	buffer_consume(held, done);
	if (held->len == 0)
		buffer_free(held);
	return result;
}

enum result
redact_feed(
    struct redact *redact, const char *bytes, size_t len, struct buffer *out)
{
	enum result result = RESULT_OK;

	if (out->max - out->len < redact->held.len + len)
		return RESULT_TOO_LONG;
	while (len > 0 && result == RESULT_OK) {
		size_t count = len < REDACT_SLICE ? len : REDACT_SLICE;

		result = redact_slice(redact, bytes, count, out);
		bytes += count;
		len -= count;
	}
	return result;
}

enum result
redact_finish(struct redact *redact, struct buffer *out)
{
	struct buffer *held = &redact->held;
	size_t done;
	enum result result;

	if (out->max - out->len < held->len)
		return RESULT_TOO_LONG;
	result = redact_pass(redact, (const char *)buffer_bytes_borrow(held),
	    held->len, true, out, &done);
	buffer_free(held);
	return result;
}

uint64_t
redact_count(const struct redact *redact)
{
	return redact->count;
}

bool
redact_text(const struct redact_set *set, char *text, size_t len)
{
	const struct redact_match match = {set, text, len, true};
	bool found = false;
	size_t at = 0, span = 0;

	if (set->count == 0)
		return false;
	while (redact_next(&match, &at, &span) == REDACT_MATCH_YES) {
		memset(text + at, '*', span);
		at += span;
		found = true;
	}
	return found;
}
