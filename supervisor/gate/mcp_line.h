/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of MCP's stdio transport: one message per line, ended by LF. A
 * CR right before the LF belongs to the line end of some writers and is
 * left for the JSON checker to judge (it is refused anywhere else). A line
 * over the cap is skipped to its LF in constant memory and reported once,
 * so that the stream stays in step. Pure; fuzzed.
 */
#ifndef SUPERVISOR_GATE_MCP_LINE_H
#define SUPERVISOR_GATE_MCP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"
#include "supervisor/gate/mcp_peek.h"

#define MCP_LINE_CHUNK 65536U /* most bytes one append may bring */

enum mcp_line_status {
	MCP_LINE_NEED_MORE,
	MCP_LINE_READY,   /* bytes without the LF, borrowed until next call */
	MCP_LINE_TOO_LONG /* skipped; peek tells its id, len its length */
};

struct mcp_line {
	struct buffer buffer;
	size_t max;       /* longest line, LF not counted */
	size_t scanned;   /* bytes known to hold no LF */
	size_t taken;     /* bytes of the line handed out last */
	bool skipping;    /* inside a line over the cap */
	uint64_t skipped; /* its bytes so far */
	struct mcp_peek peek;
};

void mcp_line_init(struct mcp_line *line, size_t max);
void mcp_line_free(struct mcp_line *line);

/* Add at most MCP_LINE_CHUNK bytes; only after mcp_line_next has said
 * NEED_MORE. RESULT_NO_MEMORY or RESULT_OK. */
enum result mcp_line_append(
    struct mcp_line *line, const char *bytes, size_t len);
/* At the end of the stream: what is left becomes a last line. */
enum result mcp_line_finish(struct mcp_line *line);

enum mcp_line_status mcp_line_next(
    struct mcp_line *line, const char **bytes_r, uint64_t *len_r);

#endif
