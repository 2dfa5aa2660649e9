/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of the audit chain, and the block of audit.head. An accepted line
 * must be the one spelling of its record.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ledger/audit_head.h"
#include "supervisor/ledger/audit_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_audit_record_again(const json_t *record, const char *line, size_t size)
{
	struct audit_link link;
	char *again;
	size_t len;

	audit_record_first(&link);
	if (audit_record_make(&link,
		json_string_value(json_object_get(record, "ts")),
		json_string_value(json_object_get(record, "event")),
		json_object_get(record, "fields"), &again, &len) != RESULT_OK)
		return; /* an event name that the maker refuses */
	if (len != size + 1 || memcmp(again, line, size) != 0)
		abort();
	free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_fault fault = {""};
	struct audit_head head;
	struct audit_link link;
	json_t *record;

	audit_record_first(&link);
	if (audit_record_check(&link, (const char *)data, size, &record,
		&fault) == RESULT_OK) {
		fuzz_audit_record_again(record, (const char *)data, size);
		json_decref(record);
	}
	fault.text[0] = '\0';
	(void)audit_head_read((const char *)data, size, &head, &fault);
	return 0;
}
