/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document that is read without jansson's look at the whole becomes the tree
 * that jansson makes of it.
 */
#define JSON_QUICK_INTERNAL
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "llm-broker/json_quick.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	json_t *ours = json_quick_try(bytes, size), *theirs;
	json_error_t error;

	if (ours == NULL)
		return 0;
	theirs = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	if (theirs == NULL || !json_equal(ours, theirs))
		abort();
	json_decref(ours);
	json_decref(theirs);
	return 0;
}
