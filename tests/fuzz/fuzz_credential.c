/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of credentials.json: an object with checked entries, or a fault.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "supervisor/policy/credential.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct json_fault fault = {""};
	enum keyring_backend backend;
	const char *name;
	json_t *root, *entry;

	if (credential_parse(KEYRING_KEY, (const char *)bytes, len, "F", &root,
		&fault) != RESULT_OK) {
		if (root != NULL || fault.text[0] == '\0')
			abort();
		return 0;
	}
	json_object_foreach(json_object_get(root, "providers"), name, entry)
	{
		if (!keyring_words_is_provider(name) ||
		    json_object_get(entry, "stored_at") == NULL ||
		    !keyring_words_find_backend(
			json_string_value(json_object_get(entry, "backend")),
			&backend))
			abort();
	}
	json_decref(root);
	return 0;
}
