/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy entries: the canonical spelling is stable, includes itself, and a
 * manifest never gets a kind that only the host may grant.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress-proxy/policy_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_policy_entry_try(
    const uint8_t *data, size_t size, enum policy_entry_asker asker)
{
	struct policy_entry entry, again;
	enum policy_entry_fault fault;

	fault = policy_entry_parse((const char *)data, size, asker, &entry);
	if (policy_entry_fault_text(fault, entry.name_fault) == NULL)
		abort();
	if (fault != POLICY_ENTRY_OK)
		return;
	if (policy_entry_parse(entry.text, strlen(entry.text), asker, &again) !=
		POLICY_ENTRY_OK ||
	    strcmp(entry.text, again.text) != 0 ||
	    !policy_entry_includes(&entry, &again))
		abort();
	if (asker == POLICY_ENTRY_FROM_MANIFEST &&
	    entry.kind != POLICY_ENTRY_TLS)
		abort();
	if (asker != POLICY_ENTRY_FROM_DENY && entry.port == 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_policy_entry_try(data, size, POLICY_ENTRY_FROM_MANIFEST);
	fuzz_policy_entry_try(data, size, POLICY_ENTRY_FROM_CONSENTED);
	fuzz_policy_entry_try(data, size, POLICY_ENTRY_FROM_HOST);
	fuzz_policy_entry_try(data, size, POLICY_ENTRY_FROM_DENY);
	return 0;
}
