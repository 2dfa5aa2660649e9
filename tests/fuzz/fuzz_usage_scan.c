/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses format, kind and piece size, the rest is the
 * response. In pieces and at once, the same is counted and the same goes
 * on; without strip it is what came in, with it what came in less whole
 * events.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/usage_scan.h"

static struct usage_counts
fuzz_usage_scan_run(enum provider_usage format, bool is_stream, bool strip,
    const char *text, size_t len, size_t piece, struct buffer *out)
{
	struct usage_scan *scan;
	struct usage_counts counts;

	if (usage_scan_new(format, is_stream, strip, &scan) != RESULT_OK)
		abort();
	for (size_t at = 0; at < len; at += piece) {
		size_t count = len - at < piece ? len - at : piece;

		if (usage_scan_feed(scan, text + at, count, out) != RESULT_OK ||
		    at + count - out->len > len)
			abort();
	}
	if (usage_scan_finish(scan, out) != RESULT_OK)
		abort();
	counts = *usage_scan_counts(scan);
	usage_scan_free(&scan);
	return counts;
}

static void
fuzz_usage_scan_same(const struct usage_counts *a, const struct usage_counts *b)
{
	if (a->input_tokens != b->input_tokens ||
	    a->output_tokens != b->output_tokens ||
	    a->cached_tokens != b->cached_tokens ||
	    a->output_chars != b->output_chars || a->known != b->known ||
	    a->finished != b->finished)
		abort();
}

/* What is left out was in the text, in order. */
static void
fuzz_usage_scan_part(const char *text, size_t len, const struct buffer *out)
{
	const char *bytes = (const char *)buffer_bytes_borrow(out);
	size_t at = 0;

	for (size_t i = 0; i < out->len; i++) {
		while (at < len && text[at] != bytes[i])
			at++;
		if (at++ >= len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct usage_counts plain, pieces, stripped, strip_pieces;
	struct buffer out, other;
	enum provider_usage format;
	bool is_stream;
	const char *text;
	size_t len, piece;

	if (size < 2)
		return 0;
	format = (enum provider_usage)(data[0] % 6);
	is_stream = (data[0] & 64) != 0;
	piece = 1 + data[1] % 32;
	text = (const char *)data + 2;
	len = size - 2;
	buffer_init(&out, len);
	buffer_init(&other, len);
	plain =
	    fuzz_usage_scan_run(format, is_stream, false, text, len, len, &out);
	pieces = fuzz_usage_scan_run(
	    format, is_stream, false, text, len, piece, &other);
	fuzz_usage_scan_same(&plain, &pieces);
	if (out.len != len || other.len != len ||
	    (len > 0 && memcmp(buffer_bytes_borrow(&out), text, len) != 0))
		abort();
	buffer_clear(&out);
	buffer_clear(&other);
	stripped =
	    fuzz_usage_scan_run(format, is_stream, true, text, len, len, &out);
	strip_pieces = fuzz_usage_scan_run(
	    format, is_stream, true, text, len, piece, &other);
	fuzz_usage_scan_same(&plain, &stripped);
	fuzz_usage_scan_same(&plain, &strip_pieces);
	if (out.len != other.len ||
	    (out.len > 0 && memcmp(buffer_bytes_borrow(&out),
				buffer_bytes_borrow(&other), out.len) != 0))
		abort();
	fuzz_usage_scan_part(text, len, &out);
	buffer_free(&out);
	buffer_free(&other);
	return 0;
}
