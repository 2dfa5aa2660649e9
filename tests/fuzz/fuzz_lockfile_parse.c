/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a lockfile: parsed strictly, hashes computed; what is accepted
 * can be sealed and then verifies.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "supervisor/package/lockfile_hash.h"
#include "supervisor/package/lockfile_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_fault fault = {""};
	const char *slug;
	json_t *root, *entry;

	if (lockfile_parse("F", (const char *)data, size, &root, &fault) !=
	    RESULT_OK) {
		if (root != NULL || fault.text[0] == '\0')
			abort();
		return 0;
	}
	(void)lockfile_hash_structure(root);
	json_object_foreach(json_object_get(root, "packages"), slug, entry)
	{
		(void)lockfile_hash_entry(entry);
		if (lockfile_hash_seal_entry(entry) != RESULT_OK ||
		    lockfile_hash_entry(entry) != LOCKFILE_HASH_VERIFIED)
			abort();
	}
	if (lockfile_hash_seal_structure(root) != RESULT_OK ||
	    lockfile_hash_structure(root) != LOCKFILE_HASH_VERIFIED)
		abort();
	json_decref(root);
	return 0;
}
