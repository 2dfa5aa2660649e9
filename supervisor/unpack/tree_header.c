/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one tree stream header; called by tree_source.c. Must never accept
 * a field it does not know.
 */
#include "supervisor/unpack/tree_header.h"

#include <string.h>

static enum tree_header_verdict
tree_header_sizes(const struct tree_stream_header *header)
{
	if (header->type == TREE_STREAM_END)
		return header->path_len == 0 && header->size == 0
			   ? TREE_HEADER_OK
			   : TREE_HEADER_PATH;
	if (header->path_len == 0 || header->path_len > TREE_STREAM_PATH_MAX)
		return TREE_HEADER_PATH;
	if (header->type == TREE_STREAM_DIR && header->size != 0)
		return TREE_HEADER_SIZE_BAD;
	if (header->type == TREE_STREAM_LINK &&
	    (header->size == 0 || header->size > TREE_STREAM_PATH_MAX))
		return TREE_HEADER_SIZE_BAD;
	return TREE_HEADER_OK;
}

enum tree_header_verdict
tree_header_parse(const uint8_t *bytes, struct tree_stream_header *header_r)
{
	memcpy(header_r, bytes, sizeof(*header_r));
	if (header_r->magic != TREE_STREAM_MAGIC)
		return TREE_HEADER_MAGIC;
	if (header_r->type < TREE_STREAM_DIR ||
	    header_r->type > TREE_STREAM_END)
		return TREE_HEADER_TYPE;
	return tree_header_sizes(header_r);
}

const char *
tree_header_text(enum tree_header_verdict verdict)
{
	switch (verdict) {
	case TREE_HEADER_OK:
		return "is fine";
	case TREE_HEADER_MAGIC:
		return "does not begin as a tree stream record";
	case TREE_HEADER_TYPE:
		return "has an unknown type";
	case TREE_HEADER_PATH:
		return "has a path of a length that is not allowed";
	case TREE_HEADER_SIZE_BAD:
		return "has a size that its type cannot have";
	}
	return "is not known";
}
