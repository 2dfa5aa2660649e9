/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes the Content-Encoding of a request's body, as it comes, under a cap
 * of decoded bytes. Pure; used by call_request.c. What it gives out is what
 * is parsed, judged and sent on; the coded bytes go nowhere.
 *
 * One gzip member or one zstd frame, and nothing behind it: a second member,
 * a skippable frame, a dictionary or a window over 8 MiB is refused, since
 * another reader might see another body. Bombs end at the cap, or earlier
 * when they unpack BODY_DECODE_RATIO times and more.
 */
#ifndef LLM_BROKER_BODY_DECODE_H
#define LLM_BROKER_BODY_DECODE_H

#include <stddef.h>

#include "common/buffer.h"
#include "common/http_head.h"

#define BODY_DECODE_RATIO 300U
#define BODY_DECODE_RATIO_FROM (1024U * 1024U) /* below it no ratio counts */
#define BODY_DECODE_WINDOW_LOG 23

enum body_decode_coding {
	BODY_DECODE_IDENTITY,
	BODY_DECODE_GZIP,
	BODY_DECODE_ZSTD,
	BODY_DECODE_UNKNOWN
};

enum body_decode_status {
	BODY_DECODE_OK,    /* all taken */
	BODY_DECODE_BAD,   /* not this coding, cut, or bytes behind its end */
	BODY_DECODE_LARGE, /* over the cap, which is out->max */
	BODY_DECODE_BOMB,  /* over the ratio */
	BODY_DECODE_MEMORY
};

struct body_decode; /* opaque */

/* From the value of Content-Encoding: one word in any case. */
enum body_decode_coding body_decode_coding(struct http_text value);

/* coding is not UNKNOWN. */
enum body_decode_status body_decode_new(
    enum body_decode_coding coding, struct body_decode **decode_r);
void body_decode_free(struct body_decode **decode);

/* Append the content of these bytes to out. Every status but OK is final. */
enum body_decode_status body_decode_feed(struct body_decode *decode,
    const char *bytes, size_t len, struct buffer *out);
/* No more comes: BAD when the coding has not ended. */
enum body_decode_status body_decode_finish(const struct body_decode *decode);

#endif
