/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of keys.enc: what is accepted keeps the bounds and is written again
 * as it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/keyring/vault_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct buffer again;
	struct vault vault;

	if (vault_format_read(KEYRING_KEY, bytes, len, &vault) != VAULT_OK)
		return 0;
	for (size_t i = 0; i < vault.count; i++) {
		const struct vault_entry *entry = &vault.entries[i];

		if (!keyring_words_is_provider(entry->name) ||
		    vault_format_find(&vault, entry->name) != entry ||
		    entry->sealed < bytes ||
		    entry->sealed + entry->key_len + VAULT_TAG > bytes + len)
			abort();
	}
	buffer_init(&again, VAULT_FILE_MAX);
	if (vault_format_write(&vault, &again) != RESULT_OK ||
	    again.len != len ||
	    memcmp(buffer_bytes_borrow(&again), bytes, len) != 0)
		abort();
	buffer_free(&again);
	return 0;
}
