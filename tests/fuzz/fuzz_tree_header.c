/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree stream headers: what is accepted keeps the bounds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "supervisor/unpack/tree_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct tree_stream_header header;

	for (; len >= TREE_HEADER_SIZE; bytes++, len--) {
		if (tree_header_parse(bytes, &header) != TREE_HEADER_OK)
			continue;
		if (header.path_len > TREE_STREAM_PATH_MAX ||
		    (header.type == TREE_STREAM_LINK &&
			header.size > TREE_STREAM_PATH_MAX) ||
		    (header.path_len == 0) != (header.type == TREE_STREAM_END))
			abort();
	}
	return 0;
}
