/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One header of a tree stream as bytes. Used by agentnode-unpack on what
 * comes out of containers. Pure: no I/O, fuzzed.
 */
#ifndef SUPERVISOR_UNPACK_TREE_HEADER_H
#define SUPERVISOR_UNPACK_TREE_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/init/tree_stream.h"

#define TREE_HEADER_SIZE sizeof(struct tree_stream_header)

enum tree_header_verdict {
	TREE_HEADER_OK,
	TREE_HEADER_MAGIC,    /* not a tree stream, or out of step */
	TREE_HEADER_TYPE,     /* unknown type */
	TREE_HEADER_PATH,     /* path length 0, too long, or not 0 at the end */
	TREE_HEADER_SIZE_BAD, /* a size that this type cannot have */
};

/* bytes are TREE_HEADER_SIZE long. The mode is not judged here: it is
 * replaced by a clean one. */
enum tree_header_verdict tree_header_parse(
    const uint8_t *bytes, struct tree_stream_header *header_r);

const char *tree_header_text(enum tree_header_verdict verdict);

#endif
