/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes tree streams; see tree_write.h. Must never write an end record for
 * a tree that was not judged to its end.
 */
#include "supervisor/unpack/tree_write.h"

#include <string.h>

static enum result
tree_write_header(struct unpack_out *out, enum tree_stream_type type,
    uint32_t mode, size_t path_len, uint64_t size)
{
	struct tree_stream_header header = {
	    .magic = TREE_STREAM_MAGIC,
	    .type = type,
	    .mode = mode,
	    .path_len = (uint32_t)path_len,
	    .size = size,
	};

	return unpack_out_put(out, &header, sizeof(header));
}

static enum result
tree_write_entry(void *context, const struct tree_entry *entry)
{
	size_t path_len = strlen(entry->path), target_len = 0;
	enum result result;

	if (entry->type == TREE_STREAM_LINK)
		target_len = strlen(entry->target);
	result = tree_write_header(context, entry->type, entry->mode, path_len,
	    entry->type == TREE_STREAM_LINK ? target_len : entry->size);
	if (result == RESULT_OK)
		result = unpack_out_put(context, entry->path, path_len);
	if (result == RESULT_OK && target_len > 0)
		result = unpack_out_put(context, entry->target, target_len);
	return result;
}

static enum result
tree_write_data(void *context, const uint8_t *bytes, size_t len)
{
	return unpack_out_put(context, bytes, len);
}

static enum result
tree_write_end(void *context)
{
	enum result result =
	    tree_write_header(context, TREE_STREAM_END, 0, 0, 0);

	return result == RESULT_OK ? unpack_out_flush(context) : result;
}

void
tree_write_sink(struct tree_sink *sink_r, struct unpack_out *out)
{
	sink_r->entry = tree_write_entry;
	sink_r->data = tree_write_data;
	sink_r->end = tree_write_end;
	sink_r->context = out;
}
