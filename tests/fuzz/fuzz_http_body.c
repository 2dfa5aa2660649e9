/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first two bytes choose framing and piece size, the rest is the body.
 * In pieces and whole, the same bytes must be taken; unwrapped, what comes
 * out is never more than what went in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/http_body.h"

#define FUZZ_HTTP_BODY_OUT (1U << 16)

static enum http_body_status
fuzz_http_body_run(const struct http_head *head, const char *bytes, size_t len,
    size_t piece, uint64_t *sum_r, size_t *taken_r)
{
	struct http_body body;
	struct buffer out;
	enum http_body_status status = HTTP_BODY_MORE;
	size_t at = 0;

	if (head->chunked && head->minor_version == 0)
		http_body_init_unwrap(&body);
	else
		http_body_init(&body, head);
	buffer_init(&out, FUZZ_HTTP_BODY_OUT);
	*sum_r = body.state == HTTP_BODY_STATE_DONE;
	while (at < len && body.state != HTTP_BODY_STATE_DONE &&
	       status != HTTP_BODY_BAD) {
		size_t count = len - at < piece ? len - at : piece, used = 0;

		status = http_body_feed(&body, bytes + at, count, &used, &out);
		if (used > count || (used == 0 && status == HTTP_BODY_MORE))
			abort();
		at += used;
		if (out.len > FUZZ_HTTP_BODY_OUT ||
		    (body.unwrap && out.len > used))
			abort();
		buffer_clear(&out);
	}
	*taken_r = at;
	buffer_free(&out);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_head head;
	enum http_body_status whole, pieces;
	uint64_t sum_whole, sum_pieces;
	size_t taken_whole, taken_pieces;

	if (size < 2)
		return 0;
	memset(&head, 0, sizeof(head));
	head.chunked = (data[0] & 1) != 0;
	head.has_length = !head.chunked;
	head.content_length = data[1];
	head.minor_version = ~data[1] & 1; /* 0: chunks are unwrapped */
	whole = fuzz_http_body_run(&head, (const char *)data + 2, size - 2,
	    size, &sum_whole, &taken_whole);
	pieces = fuzz_http_body_run(&head, (const char *)data + 2, size - 2,
	    1 + data[0] / 2, &sum_pieces, &taken_pieces);
	if (whole != pieces ||
	    (whole != HTTP_BODY_BAD && taken_whole != taken_pieces))
		abort();
	return 0;
}
