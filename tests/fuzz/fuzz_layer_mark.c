/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of an image's layer: of a name that may be, what is removed is a
 * name that may be, or the top for a folder that is emptied.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/layer_mark.h"
#include "supervisor/unpack/tree_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char path[TREE_STREAM_PATH_MAX + 1];
	enum layer_mark mark;
	size_t left = len;

	if (len > TREE_STREAM_PATH_MAX)
		return 0;
	memcpy(path, bytes, len);
	path[len] = '\0';
	if (tree_name_check(path, len) != TREE_NAME_OK)
		return 0;
	mark = layer_mark_read(path, &left);
	if (left > len || strlen(path) != left)
		abort();
	if (mark == LAYER_MARK_NONE && memcmp(path, bytes, len) != 0)
		abort();
	if (mark == LAYER_MARK_EMPTY && left == 0)
		return 0;
	if ((mark == LAYER_MARK_REMOVE || mark == LAYER_MARK_EMPTY) &&
	    tree_name_check(path, left) != TREE_NAME_OK)
		abort();
	return 0;
}
