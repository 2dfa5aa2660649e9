/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and links of trees: the first byte splits the input into path and
 * target. What is accepted must keep the promises.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/tree_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void
fuzz_tree_name_promise(const char *path, size_t len)
{
	char copy[TREE_STREAM_PATH_MAX + 1];

	if (len == 0 || len > TREE_STREAM_PATH_MAX || path[0] == '/' ||
	    memchr(path, '\0', len) != NULL)
		abort();
	memcpy(copy, path, len);
	copy[len] = '\0';
	if (strcmp(copy, "..") == 0 || strncmp(copy, "../", 3) == 0 ||
	    strstr(copy, "/../") != NULL || strstr(copy, "//") != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes + 1;
	char path[TREE_STREAM_PATH_MAX + 1];
	size_t split;

	if (len < 2)
		return 0;
	split = bytes[0] % (len - 1);
	if (tree_name_check(text, split) != TREE_NAME_OK)
		return 0;
	fuzz_tree_name_promise(text, split);
	memcpy(path, text, split);
	path[split] = '\0';
	(void)tree_name_check_link(path, text + split, len - 1 - split);
	split = len - 1;
	(void)tree_name_trim(text, &split);
	return 0;
}
