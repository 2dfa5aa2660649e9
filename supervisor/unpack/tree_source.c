/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of tree streams; see tree_source.h. Must never take a stream
 * without an end record for a whole one.
 */
#include "supervisor/unpack/tree_source.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/tree_header.h"

#define TREE_SOURCE_CHUNK 131072U

struct tree_source {
	struct unpack_io *io;
	int fd;
	size_t start, len; /* readable part of bytes */
	uint8_t bytes[TREE_SOURCE_CHUNK];
};

/* At least one readable byte, or the stream was cut. */
static enum result
tree_source_fill(struct tree_source *source)
{
	enum result result;

	if (source->len > 0)
		return RESULT_OK;
	source->start = 0;
	result = unpack_io_read(source->io, source->fd, source->bytes,
	    sizeof(source->bytes), &source->len);
	if (result == RESULT_OK && source->len == 0)
		return unpack_io_fault(source->io, UNPACK_CUT,
		    "the tree stream ended before its end record");
	return result;
}

static enum result
tree_source_take(struct tree_source *source, void *bytes, size_t len)
{
	uint8_t *to = bytes;
	enum result result;
	size_t part;

	while (len > 0) {
		result = tree_source_fill(source);
		if (result != RESULT_OK)
			return result;
		part = len < source->len ? len : source->len;
		memcpy(to, source->bytes + source->start, part);
		source->start += part;
		source->len -= part;
		to += part;
		len -= part;
	}
	return RESULT_OK;
}

static enum result
tree_source_content(
    struct tree_source *source, struct tree_check *check, uint64_t size)
{
	enum result result = RESULT_OK;
	size_t part;

	while (result == RESULT_OK && size > 0) {
		result = tree_source_fill(source);
		if (result != RESULT_OK)
			return result;
		part = size < source->len ? (size_t)size : source->len;
		result =
		    tree_check_data(check, source->bytes + source->start, part);
		source->start += part;
		source->len -= part;
		size -= part;
	}
	return result;
}

static enum result
tree_source_entry(struct tree_source *source, struct tree_check *check,
    const struct tree_stream_header *header)
{
	char path[TREE_STREAM_PATH_MAX], target[TREE_STREAM_PATH_MAX];
	size_t target_len = 0;
	enum result result = tree_source_take(source, path, header->path_len);

	if (result == RESULT_OK && header->type == TREE_STREAM_LINK) {
		target_len = (size_t)header->size;
		result = tree_source_take(source, target, target_len);
	}
	if (result == RESULT_OK)
		result = tree_check_entry(check, header->type, header->mode,
		    path, header->path_len, target, target_len,
		    target_len > 0 ? 0 : header->size);
	if (result == RESULT_OK && header->type == TREE_STREAM_FILE)
		result = tree_source_content(source, check, header->size);
	return result;
}

/* Nothing may follow the end record. */
static enum result
tree_source_finish(struct tree_source *source)
{
	enum result result = RESULT_OK;

	if (source->len == 0)
		result = unpack_io_read(source->io, source->fd, source->bytes,
		    sizeof(source->bytes), &source->len);
	if (result == RESULT_OK && source->len > 0)
		return unpack_io_fault(source->io, UNPACK_MALFORMED,
		    "bytes follow the end record of the tree stream");
	return result;
}

static enum result
tree_source_loop(struct tree_source *source, struct tree_check *check)
{
	uint8_t bytes[TREE_HEADER_SIZE];
	struct tree_stream_header header;
	enum tree_header_verdict verdict;
	enum result result;

	for (;;) {
		result = tree_source_take(source, bytes, sizeof(bytes));
		if (result != RESULT_OK)
			return result;
		verdict = tree_header_parse(bytes, &header);
		if (verdict != TREE_HEADER_OK)
			return unpack_io_fault(source->io, UNPACK_MALFORMED,
			    "a record of the tree stream %s",
			    tree_header_text(verdict));
		if (header.type == TREE_STREAM_END)
			return tree_source_finish(source);
		result = tree_source_entry(source, check, &header);
		if (result != RESULT_OK)
			return result;
	}
}

enum result
tree_source_read(struct unpack_io *io, int fd, struct tree_check *check)
{
	struct tree_source *source = calloc(1, sizeof(*source));
	enum result result;

	if (source == NULL)
		return RESULT_NO_MEMORY;
	source->io = io;
	source->fd = fd;
	result = tree_source_loop(source, check);
	free(source);
	return result;
}
