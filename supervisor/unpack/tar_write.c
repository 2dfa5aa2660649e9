/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes tars; see tar_write.h. Must never end an archive of a tree that
 * was not judged to its end.
 */
#include "supervisor/unpack/tar_write.h"

#include <string.h>

#include "supervisor/unpack/tar_header.h"

static const uint8_t tar_write_zeros[2 * TAR_HEADER_SIZE];

static enum result
tar_write_pax(struct unpack_out *out, const struct tree_entry *entry)
{
	char text[TAR_HEADER_PAX_MAX];
	uint8_t block[TAR_HEADER_SIZE];
	size_t len =
	    tar_header_pax(entry->path, entry->target, entry->size, text);
	enum result result;

	if (len == 0)
		return RESULT_OK;
	tar_header_fill(block, TAR_HEADER_PAX, "pax", NULL, 0644, len);
	result = unpack_out_put(out, block, sizeof(block));
	if (result == RESULT_OK)
		result = unpack_out_put(out, text, len);
	if (result == RESULT_OK)
		result = unpack_out_put(
		    out, tar_write_zeros, tar_header_padding(len));
	return result;
}

static enum tar_header_type
tar_write_type(enum tree_stream_type type)
{
	switch (type) {
	case TREE_STREAM_DIR:
		return TAR_HEADER_DIR;
	case TREE_STREAM_LINK:
		return TAR_HEADER_LINK;
	case TREE_STREAM_FILE:
	case TREE_STREAM_END:
		break;
	}
	return TAR_HEADER_FILE;
}

static enum result
tar_write_entry(void *context, const struct tree_entry *entry)
{
	struct tar_write *writer = context;
	uint8_t block[TAR_HEADER_SIZE];
	enum result result = tar_write_pax(writer->out, entry);

	if (result != RESULT_OK)
		return result;
	writer->size = writer->left = entry->size;
	tar_header_fill(block, tar_write_type(entry->type), entry->path,
	    entry->target, entry->mode, entry->size);
	return unpack_out_put(writer->out, block, sizeof(block));
}

static enum result
tar_write_data(void *context, const uint8_t *bytes, size_t len)
{
	struct tar_write *writer = context;
	enum result result = unpack_out_put(writer->out, bytes, len);

	if (result != RESULT_OK)
		return result;
	writer->left -= len;
	if (writer->left > 0)
		return RESULT_OK;
	return unpack_out_put(
	    writer->out, tar_write_zeros, tar_header_padding(writer->size));
}

static enum result
tar_write_end(void *context)
{
	struct tar_write *writer = context;
	enum result result = unpack_out_put(
	    writer->out, tar_write_zeros, sizeof(tar_write_zeros));

	return result == RESULT_OK ? unpack_out_flush(writer->out) : result;
}

void
tar_write_sink(
    struct tree_sink *sink_r, struct tar_write *writer, struct unpack_out *out)
{
	writer->out = out;
	writer->left = writer->size = 0;
	sink_r->entry = tar_write_entry;
	sink_r->data = tar_write_data;
	sink_r->end = tar_write_end;
	sink_r->context = writer;
}
