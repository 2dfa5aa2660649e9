/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking parts out of a line without rewriting the rest: the line is copied
 * to a buffer except for cuts made in ascending order. Only three messages
 * are ever edited: the client's initialize (capabilities), the server's
 * tools/list result, and a server's error that claims to be ours. Pure.
 */
#ifndef SUPERVISOR_GATE_MCP_EDIT_H
#define SUPERVISOR_GATE_MCP_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"
#include "common/result.h"
#include "supervisor/gate/mcp_cursor.h"

struct mcp_edit {
	struct buffer *out; /* borrowed */
	const char *from;   /* not copied yet from here on */
	const char *end;    /* of the line */
	enum result result; /* first failure stays */
	size_t cuts;
};

void mcp_edit_start(
    struct mcp_edit *edit, struct buffer *out, const char *bytes, size_t len);
/* Copy the rest; says whether all went well. */
enum result mcp_edit_finish(struct mcp_edit *edit);

/* Text of ours before the byte at; in the same order as cuts. */
void mcp_edit_insert(struct mcp_edit *edit, const char *at, const char *text);

/* Keep says which members or items of a container stay. For items of an
 * array the key is absent. Commas are taken along, kept bytes untouched. */
typedef bool mcp_edit_keep(
    struct mcp_span key, struct mcp_span value, void *context);
void mcp_edit_filter(struct mcp_edit *edit, struct mcp_span container,
    mcp_edit_keep *keep, void *context);

#endif
