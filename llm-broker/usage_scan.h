/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a response says it used, from a copy of its bytes: a whole JSON
 * body, or server-sent events one by one. Pure, streaming, bounded: an event
 * or body over the bound is skipped and the usage is then an estimate. Also
 * counts the characters the agent got, and says where an event that only
 * carries usage the agent did not ask for begins and ends, so that it can be
 * left out. Used by call.c.
 */
#ifndef LLM_BROKER_USAGE_SCAN_H
#define LLM_BROKER_USAGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"
#include "llm-broker/provider.h"

#define USAGE_SCAN_EVENT_MAX (256U * 1024U)
#define USAGE_SCAN_BODY_MAX (16U * 1024U * 1024U)

struct usage_scan; /* opaque */

struct usage_counts {
	uint64_t input_tokens, output_tokens, cached_tokens;
	uint64_t output_chars; /* of text, tool arguments and reasoning */
	bool known;            /* the provider said it, and it is complete */
	bool finished;         /* the stream's own end marker was seen */
	bool odd; /* a part was no JSON, or too deep: not all was counted */
};

/* is_stream: text/event-stream, else one JSON body. strip: leave out the
 * usage event we asked for ourselves. */
enum result usage_scan_new(enum provider_usage format, bool is_stream,
    bool strip, struct usage_scan **scan_r);
void usage_scan_free(struct usage_scan **scan);

/* Copies bytes to out, without an event that is to be left out (so with
 * strip, an unfinished event that may be one is held back, at most
 * USAGE_SCAN_EVENT_MAX). Without strip what goes out is what came in. */
enum result usage_scan_feed(
    struct usage_scan *scan, const char *bytes, size_t len, struct buffer *out);
enum result usage_scan_finish(struct usage_scan *scan, struct buffer *out);
const struct usage_counts *usage_scan_counts(const struct usage_scan *scan);

/* When the provider did not say: tokens from bytes, rounded up. */
uint64_t usage_scan_estimate(uint64_t characters);

#endif
