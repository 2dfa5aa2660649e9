/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses coding and piece size, the rest is a coded body.
 * Whole and in pieces the same comes out, and never more than the cap.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/body_decode.h"

#define FUZZ_BODY_DECODE_CAP 65536U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum body_decode_status
fuzz_body_decode_run(enum body_decode_coding coding, const char *bytes,
    size_t len, size_t piece, struct buffer *out)
{
	enum body_decode_status status;
	struct body_decode *decode;
	size_t at = 0, count;

	if (body_decode_new(coding, &decode) != BODY_DECODE_OK)
		abort();
	buffer_init(out, FUZZ_BODY_DECODE_CAP);
	status = BODY_DECODE_OK;
	while (at < len && status == BODY_DECODE_OK) {
		count = len - at < piece ? len - at : piece;
		status = body_decode_feed(decode, bytes + at, count, out);
		at += count;
	}
	if (status == BODY_DECODE_OK)
		status = body_decode_finish(decode);
	if (out->len > FUZZ_BODY_DECODE_CAP)
		abort();
	body_decode_free(&decode);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum body_decode_status whole, pieces;
	enum body_decode_coding coding;
	struct buffer a, b;

	if (size == 0)
		return 0;
	coding = (data[0] & 1) != 0 ? BODY_DECODE_GZIP : BODY_DECODE_ZSTD;
	whole = fuzz_body_decode_run(
	    coding, (const char *)data + 1, size - 1, size, &a);
	pieces = fuzz_body_decode_run(
	    coding, (const char *)data + 1, size - 1, 1 + data[0] / 8, &b);
	if ((whole == BODY_DECODE_OK) != (pieces == BODY_DECODE_OK))
		abort();
	if (whole == BODY_DECODE_OK &&
	    (a.len != b.len || memcmp(buffer_bytes_borrow(&a),
				   buffer_bytes_borrow(&b), a.len) != 0))
		abort();
	buffer_free(&a);
	buffer_free(&b);
	return 0;
}
