/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with the key in it, written as the input says, fed in pieces and at
 * once. A slow matcher that knows the key says where it stands: there, and
 * nowhere else, must be '*'. '\1' in the input stands for the next byte of
 * the key as it is, '\2' to '\7' for it in an escape; all else is text.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/redact_key.h"

#define FUZZ_REDACT_KEY "sk-ab/Cd9_ef+0"
#define FUZZ_REDACT_TEXT 2048U
#define FUZZ_REDACT_DEPTH 4U
#define FUZZ_REDACT_WORK 4000U

/* Text of at most FUZZ_REDACT_TEXT bytes out of the input. */
static size_t
fuzz_redact_write(const uint8_t *data, size_t size, char *text)
{
	static const char *const forms[] = {"%c", "%%%02x", "\\u%04x",
	    "\\\\\\u%04X", "%%25%02X", "%%5Cu%04x", "\\%c"};
	size_t len = 0, at = 0;

	for (size_t i = 0; i < size && len + 16 < FUZZ_REDACT_TEXT; i++) {
		char byte = FUZZ_REDACT_KEY[at % strlen(FUZZ_REDACT_KEY)];

		if (data[i] < 1 || data[i] > 7) {
			text[len++] = (char)data[i];
			continue;
		}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		len += (size_t)sprintf(text + len, forms[data[i] - 1], byte);
#pragma GCC diagnostic pop
		at++;
	}
	return len;
}

/* --- the slow matcher: every end of one byte of text written there --- */

struct fuzz_redact_ends {
	size_t ends[64];
	size_t count;
};

static unsigned fuzz_redact_work;

static void
fuzz_redact_end(struct fuzz_redact_ends *ends, size_t at)
{
	for (size_t i = 0; i < ends->count; i++)
		if (ends->ends[i] == at)
			return;
	if (ends->count < 64)
		ends->ends[ends->count++] = at;
}

static void fuzz_redact_byte(const char *text, size_t len, size_t at, char byte,
    unsigned depth, struct fuzz_redact_ends *ends);

/* A run of bytes, each written in any way. fold: hex digits of any case. */
static void
fuzz_redact_run(const char *text, size_t len, size_t at, const char *run,
    bool fold, unsigned depth, struct fuzz_redact_ends *ends)
{
	struct fuzz_redact_ends next = {.count = 0};

	if (*run == '\0') {
		fuzz_redact_end(ends, at);
		return;
	}
	fuzz_redact_byte(text, len, at, *run, depth, &next);
	if (fold && *run >= 'a')
		fuzz_redact_byte(
		    text, len, at, (char)(*run - 32), depth, &next);
	for (size_t i = 0; i < next.count; i++)
		fuzz_redact_run(
		    text, len, next.ends[i], run + 1, fold, depth, ends);
}

/* Behind a backslash: more of them, then uHHHH or the byte. */
static void
fuzz_redact_behind(const char *text, size_t len, size_t at, char byte,
    unsigned depth, struct fuzz_redact_ends *ends)
{
	struct fuzz_redact_ends more = {.count = 0};
	char run[8];

	if (++fuzz_redact_work > FUZZ_REDACT_WORK)
		return;
	snprintf(run, sizeof(run), "u%04x", (unsigned char)byte);
	fuzz_redact_byte(text, len, at, byte, depth, ends);
	fuzz_redact_run(text, len, at, run, true, depth, ends);
	fuzz_redact_byte(text, len, at, '\\', depth, &more);
	for (size_t i = 0; i < more.count; i++)
		fuzz_redact_behind(text, len, more.ends[i], byte, depth, ends);
}

static void
fuzz_redact_byte(const char *text, size_t len, size_t at, char byte,
    unsigned depth, struct fuzz_redact_ends *ends)
{
	struct fuzz_redact_ends sign = {.count = 0};
	char digits[3];

	if (at >= len || ++fuzz_redact_work > FUZZ_REDACT_WORK)
		return;
	if (text[at] == byte)
		fuzz_redact_end(ends, at + 1);
	if (depth == 0 || (text[at] != '%' && text[at] != '\\'))
		return;
	snprintf(digits, sizeof(digits), "%02x", (unsigned char)byte);
	fuzz_redact_byte(text, len, at, '%', depth - 1, &sign);
	for (size_t i = 0; i < sign.count; i++)
		fuzz_redact_run(
		    text, len, sign.ends[i], digits, true, depth - 1, ends);
	sign.count = 0;
	fuzz_redact_byte(text, len, at, '\\', depth - 1, &sign);
	for (size_t i = 0; i < sign.count; i++)
		fuzz_redact_behind(
		    text, len, sign.ends[i], byte, depth - 1, ends);
}

/* --- the oracle --- */

/* Every key the slow matcher finds must be gone: what it says of the output
 * is nothing at all. */
static void
fuzz_redact_check(const char *out, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		struct fuzz_redact_ends ends = {.count = 0};

		fuzz_redact_work = 0;
		fuzz_redact_run(out, len, at, FUZZ_REDACT_KEY, false, 3, &ends);
		if (ends.count > 0)
			abort();
	}
}

/* Stars that were not there stand where the text has the key. */
static void
fuzz_redact_stars(const char *text, const char *out, size_t len)
{
	size_t at = 0;

	while (at < len) {
		struct fuzz_redact_ends ends = {.count = 0};
		size_t from = at;

		if (out[at] == text[at]) {
			at++;
			continue;
		}
		if (out[at] != '*')
			abort();
		fuzz_redact_work = 0;
		fuzz_redact_run(text, len, from, FUZZ_REDACT_KEY, false,
		    FUZZ_REDACT_DEPTH, &ends);
		if (ends.count == 0 && fuzz_redact_work <= FUZZ_REDACT_WORK)
			abort();
		at = ends.count > 0 ? ends.ends[0] : at + 1;
		while (at < len && out[at] == '*' && text[at] != '*')
			at++;
	}
}

static void
fuzz_redact_feed(const struct redact_set *set, const char *text, size_t len,
    size_t piece, struct buffer *out)
{
	struct redact *redact;

	if (redact_new(set, &redact) != RESULT_OK)
		abort();
	for (size_t at = 0; at < len; at += piece) {
		size_t count = len - at < piece ? len - at : piece;

		if (redact_feed(redact, text + at, count, out) != RESULT_OK ||
		    at + count - out->len > REDACT_HELD_MAX + 1)
			abort();
	}
	if (redact_finish(redact, out) != RESULT_OK || out->len != len)
		abort();
	redact_free(&redact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redact_set set, all;
	char text[FUZZ_REDACT_TEXT], whole[FUZZ_REDACT_TEXT];
	struct buffer out;
	size_t len;

	if (size < 1)
		return 0;
	if (set.count == 0) {
		/* Raw: the others have no escapes. */
		redact_key_set(FUZZ_REDACT_KEY, &all);
		if (redact_set_add(&set, &all.patterns[0]) != RESULT_OK)
			abort();
	}
	len = fuzz_redact_write(data + 1, size - 1, text);
	memcpy(whole, text, len);
	(void)redact_text(&set, whole, len);
	buffer_init(&out, FUZZ_REDACT_TEXT + REDACT_HELD_MAX);
	fuzz_redact_feed(&set, text, len, 1 + data[0] % 64, &out);
	if (len > 0 && memcmp(buffer_bytes_borrow(&out), whole, len) != 0)
		abort();
	fuzz_redact_check(whole, len);
	fuzz_redact_stars(text, whole, len);
	buffer_free(&out);
	return 0;
}
