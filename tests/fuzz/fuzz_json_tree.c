/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body of a request: what our reader takes, jansson takes as the same tree.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "llm-broker/json_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *ours = json_tree_read((const char *)data, size), *theirs;
	json_error_t error;

	if (ours == NULL)
		return 0;
	theirs = json_loadb(
	    (const char *)data, size, JSON_REJECT_DUPLICATES, &error);
	if (theirs == NULL || !json_equal(ours, theirs))
		abort();
	json_decref(ours);
	json_decref(theirs);
	return 0;
}
