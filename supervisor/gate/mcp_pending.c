/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of requests in flight, one per direction. Called by
 * mcp_session; it must never grow, and never find two rows for one id.
 */
#include "supervisor/gate/mcp_pending.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum result
mcp_pending_init(struct mcp_pending *pending, const struct mcp_hash_key *key)
{
	memset(pending, 0, sizeof(*pending));
	pending->key = *key;
	pending->rows = calloc(MCP_PENDING_MAX, sizeof(*pending->rows));
	return pending->rows == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

void
mcp_pending_free(struct mcp_pending *pending)
{
	free(pending->rows);
	pending->rows = NULL;
	pending->used = pending->high = 0;
}

/* An id in the one form it is compared in: 's' or 'n' and the value. */
static size_t
mcp_pending_canonical(struct mcp_span id, char *text, size_t size)
{
	size_t len = 0;

	if (mcp_cursor_kind(id) == MCP_VALUE_STRING) {
		text[0] = 's';
		mcp_cursor_decode(id, text + 1, size - 1, &len);
		return len + 1;
	}
	text[0] = 'n';
	len = id.len < size - 1 ? id.len : size - 1;
	memcpy(text + 1, id.bytes, len);
	return len + 1;
}

bool
mcp_pending_same_id(struct mcp_span a, struct mcp_span b)
{
	char text_a[MCP_MESSAGE_ID_MAX + 2], text_b[MCP_MESSAGE_ID_MAX + 2];
	size_t len_a = mcp_pending_canonical(a, text_a, sizeof(text_a));
	size_t len_b = mcp_pending_canonical(b, text_b, sizeof(text_b));

	return len_a == len_b && memcmp(text_a, text_b, len_a) == 0;
}

struct mcp_pending_row *
mcp_pending_find(struct mcp_pending *pending, struct mcp_span id)
{
	char text[MCP_MESSAGE_ID_MAX + 2];
	size_t i, len = mcp_pending_canonical(id, text, sizeof(text));
	uint64_t hash = mcp_hash_of(&pending->key, text, len);

	for (i = 0; i < pending->high; i++) {
		struct mcp_pending_row *row = &pending->rows[i];

		if (row->used && row->id_hash == hash &&
		    mcp_pending_same_id(
			id, (struct mcp_span){row->id, row->id_len}))
			return row;
	}
	return NULL;
}

/* A free row, else the oldest cancelled one. */
static struct mcp_pending_row *
mcp_pending_place(struct mcp_pending *pending)
{
	struct mcp_pending_row *row, *oldest = NULL;
	size_t i;

	for (i = 0; i < MCP_PENDING_MAX; i++) {
		row = &pending->rows[i];
		if (!row->used)
			return row;
		if (row->cancelled &&
		    (oldest == NULL || row->since_ms < oldest->since_ms))
			oldest = row;
	}
	if (oldest != NULL)
		mcp_pending_remove(pending, oldest);
	return oldest;
}

enum result
mcp_pending_add(struct mcp_pending *pending, struct mcp_span id,
    struct mcp_pending_row **row_r)
{
	char text[MCP_MESSAGE_ID_MAX + 2];
	struct mcp_pending_row *row;

	*row_r = NULL;
	if (id.len > MCP_MESSAGE_ID_MAX)
		return RESULT_BAD;
	if (mcp_pending_find(pending, id) != NULL)
		return RESULT_EXISTS;
	row = mcp_pending_place(pending);
	if (row == NULL)
		return RESULT_TOO_LONG;
	memset(row, 0, sizeof(*row));
	row->used = true;
	if ((size_t)(row - pending->rows) >= pending->high)
		pending->high = (size_t)(row - pending->rows) + 1;
	memcpy(row->id, id.bytes, id.len);
	row->id_len = id.len;
	row->id_hash = mcp_hash_of(
	    &pending->key, text, mcp_pending_canonical(id, text, sizeof(text)));
	pending->used++;
	*row_r = row;
	return RESULT_OK;
}

void
mcp_pending_remove(struct mcp_pending *pending, struct mcp_pending_row *row)
{
	row->used = false;
	pending->used--;
	while (pending->high > 0 && !pending->rows[pending->high - 1].used)
		pending->high--;
}

bool
mcp_pending_has_room(const struct mcp_pending *pending, size_t count)
{
	size_t i, room = 0;

	for (i = 0; i < MCP_PENDING_MAX && room < count; i++) {
		if (!pending->rows[i].used || pending->rows[i].cancelled)
			room++;
	}
	return room >= count;
}

struct mcp_pending_row *
mcp_pending_next(struct mcp_pending *pending, size_t *index)
{
	while (*index < pending->high) {
		struct mcp_pending_row *row = &pending->rows[(*index)++];

		if (row->used)
			return row;
	}
	return NULL;
}

void
mcp_pending_id_text(const struct mcp_pending_row *row, char text_r[9])
{
	snprintf(text_r, 9, "%08" PRIx32, (uint32_t)row->id_hash);
}
