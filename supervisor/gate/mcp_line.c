/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line framing with a cap. Called by gate.c for both directions; it must
 * never hold more than one line over the cap's size and one chunk.
 */
#include "supervisor/gate/mcp_line.h"

#include <string.h>

/* Memory above this is given back once the buffer is empty. */
#define MCP_LINE_KEEP (1U << 20)

void
mcp_line_init(struct mcp_line *line, size_t max)
{
	memset(line, 0, sizeof(*line));
	line->max = max;
	buffer_init(&line->buffer, max + MCP_LINE_CHUNK + 1);
}

void
mcp_line_free(struct mcp_line *line)
{
	buffer_free(&line->buffer);
}

enum result
mcp_line_append(struct mcp_line *line, const char *bytes, size_t len)
{
	return buffer_append(&line->buffer, bytes, len);
}

enum result
mcp_line_finish(struct mcp_line *line)
{
	if (line->buffer.len == line->taken && !line->skipping)
		return RESULT_OK;
	return buffer_append(&line->buffer, "\n", 1);
}

/* Feed bytes of a line that is not kept. */
static void
mcp_line_skip(struct mcp_line *line, const char *bytes, size_t len)
{
	if (!line->skipping) {
		line->skipping = true;
		line->skipped = 0;
		mcp_peek_start(&line->peek);
	}
	line->skipped += len;
	mcp_peek_feed(&line->peek, bytes, len);
}

static void
mcp_line_drop_taken(struct mcp_line *line)
{
	if (line->taken == 0)
		return;
	buffer_consume(&line->buffer, line->taken);
	line->taken = 0;
	line->scanned = 0;
	if (line->buffer.len == 0 && line->buffer.capacity > MCP_LINE_KEEP)
		buffer_free(&line->buffer);
}

/* No LF in sight. */
static enum mcp_line_status
mcp_line_wait(struct mcp_line *line)
{
	const char *bytes = (const char *)buffer_bytes_borrow(&line->buffer);

	if (line->skipping || line->buffer.len > line->max) {
		mcp_line_skip(line, bytes, line->buffer.len);
		buffer_free(&line->buffer);
	}
	line->scanned = line->buffer.len;
	return MCP_LINE_NEED_MORE;
}

enum mcp_line_status
mcp_line_next(struct mcp_line *line, const char **bytes_r, uint64_t *len_r)
{
	const char *bytes, *lf;
	size_t len;

	*bytes_r = NULL;
	*len_r = 0;
	mcp_line_drop_taken(line);
	if (line->buffer.len == 0)
		return MCP_LINE_NEED_MORE;
	bytes = (const char *)buffer_bytes_borrow(&line->buffer);
	lf = memchr(
	    bytes + line->scanned, '\n', line->buffer.len - line->scanned);
	if (lf == NULL)
		return mcp_line_wait(line);
	len = (size_t)(lf - bytes);
	line->taken = len + 1;
	if (line->skipping || len > line->max) {
		mcp_line_skip(line, bytes, len);
		line->skipping = false;
		*len_r = line->skipped;
		return MCP_LINE_TOO_LONG;
	}
	*bytes_r = bytes;
	*len_r = len;
	return MCP_LINE_READY;
}
