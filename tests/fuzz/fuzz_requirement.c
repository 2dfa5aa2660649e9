/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requirements.txt from arbitrary bytes: what is accepted is read again as
 * the same, and holds nothing that pip takes for an option, a place or a
 * second requirement.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/requirement.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void
fuzz_requirement_again(const json_t *list, bool may_lack)
{
	struct manifest_report report;
	char *text = requirement_text(list);
	json_t *again = json_array();

	if (text == NULL || strpbrk(text, ";@[]<>~*/#\t\r$'\"`") != NULL ||
	    text[0] == '-' || strstr(text, "\n-") != NULL)
		abort();
	manifest_report_init(&report);
	requirement_parse_file(text, strlen(text), may_lack, again, &report);
	if (report.count != 0 || !json_equal(list, again))
		abort();
	manifest_report_clear(&report);
	json_decref(again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct manifest_report report;
	bool may_lack = len > 0 && (bytes[0] & 1) != 0;
	json_t *list = json_array();

	manifest_report_init(&report);
	if (len > 0)
		requirement_parse_file(
		    (const char *)bytes + 1, len - 1, may_lack, list, &report);
	fuzz_requirement_again(list, may_lack);
	if (json_array_size(report.faults) > MANIFEST_REPORT_MAX)
		abort();
	manifest_report_clear(&report);
	json_decref(list);
	return 0;
}
