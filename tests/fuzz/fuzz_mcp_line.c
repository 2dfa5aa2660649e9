/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line framing and the message parser. The first byte chooses how the rest
 * is cut into reads. Whatever the cut, the same lines must come out, none
 * over the cap, and a line that parses must have spans inside itself.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/gate_text.h"
#include "supervisor/gate/mcp_line.h"
#include "supervisor/gate/mcp_message.h"

#define FUZZ_MCP_LINE_CAP 300U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_mcp_line_sum {
	uint64_t lines, long_lines, hash;
};

static const struct mcp_hash_key fuzz_mcp_line_key = {7, 8};

static void
fuzz_mcp_line_inside(struct mcp_span span, const char *bytes, uint64_t len)
{
	if (span.bytes != NULL &&
	    (span.bytes < bytes || span.bytes + span.len > bytes + len))
		abort();
}

static void
fuzz_mcp_line_message(const char *bytes, uint64_t len)
{
	static struct mcp_message message;
	struct mcp_json json;
	enum mcp_json_fault fault;
	size_t i, position;

	mcp_json_init(&json, &fuzz_mcp_line_key);
	if (mcp_message_parse(&json, bytes, (size_t)len, &message, &fault,
		&position) == MCP_FAULT_NONE) {
		if (message.count == 0)
			abort();
		for (i = 0; i < message.count; i++) {
			const struct mcp_entry *entry = &message.entries[i];

			fuzz_mcp_line_inside(entry->whole, bytes, len);
			fuzz_mcp_line_inside(entry->id, bytes, len);
			fuzz_mcp_line_inside(entry->params, bytes, len);
			fuzz_mcp_line_inside(entry->outcome, bytes, len);
		}
	}
	if (position > len)
		abort();
	mcp_json_free(&json);
}

static void
fuzz_mcp_line_drain(
    struct mcp_line *line, struct fuzz_mcp_line_sum *sum, bool parse)
{
	enum mcp_line_status status;
	const char *bytes;
	uint64_t len;

	while ((status = mcp_line_next(line, &bytes, &len)) !=
	       MCP_LINE_NEED_MORE) {
		sum->hash = sum->hash * 31 + len;
		if (status == MCP_LINE_TOO_LONG) {
			if (len <= FUZZ_MCP_LINE_CAP)
				abort();
			sum->hash = sum->hash * 31 + line->peek.id_len;
			sum->long_lines++;
			continue;
		}
		if (len > FUZZ_MCP_LINE_CAP)
			abort();
		sum->hash ^= mcp_hash_of(&fuzz_mcp_line_key, bytes, len);
		sum->lines++;
		if (parse)
			fuzz_mcp_line_message(bytes, len);
	}
	if (line->buffer.len > FUZZ_MCP_LINE_CAP)
		abort();
}

static struct fuzz_mcp_line_sum
fuzz_mcp_line_run(const uint8_t *data, size_t size, size_t step, bool parse)
{
	struct fuzz_mcp_line_sum sum = {0, 0, 0};
	struct mcp_line line;
	size_t at, part;

	mcp_line_init(&line, FUZZ_MCP_LINE_CAP);
	for (at = 0; at < size; at += part) {
		part = size - at < step ? size - at : step;
		if (mcp_line_append(&line, (const char *)data + at, part) !=
		    RESULT_OK)
			abort();
		fuzz_mcp_line_drain(&line, &sum, parse);
	}
	if (mcp_line_finish(&line) != RESULT_OK)
		abort();
	fuzz_mcp_line_drain(&line, &sum, parse);
	mcp_line_free(&line);
	return sum;
}

/* The terminal filter: nothing dangerous comes out, in any cut. */
static void
fuzz_mcp_line_text(const uint8_t *data, size_t size, size_t step)
{
	struct gate_text text;
	struct buffer out;
	const uint8_t *p;
	size_t at, part, i;

	buffer_init(&out, size * GATE_TEXT_GROWTH + 64);
	gate_text_start(&text);
	for (at = 0; at < size; at += part) {
		part = size - at < step ? size - at : step;
		if (gate_text_feed(&text, (const char *)data + at, part,
			&out) != RESULT_OK)
			abort();
	}
	if (gate_text_finish(&text, &out) != RESULT_OK)
		abort();
	p = buffer_bytes_borrow(&out);
	for (i = 0; i < out.len; i++) {
		if ((p[i] < 0x20 && p[i] != '\n' && p[i] != '\t') ||
		    p[i] == 0x7f)
			abort();
	}
	buffer_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_mcp_line_sum whole, cut;
	size_t step;

	if (size < 1 || size > MCP_LINE_CHUNK)
		return 0;
	step = (size_t)data[0] + 1;
	whole = fuzz_mcp_line_run(data + 1, size - 1, MCP_LINE_CHUNK, true);
	cut = fuzz_mcp_line_run(data + 1, size - 1, step, false);
	if (whole.lines != cut.lines || whole.long_lines != cut.long_lines ||
	    whole.hash != cut.hash)
		abort();
	fuzz_mcp_line_text(data + 1, size - 1, step);
	return 0;
}
