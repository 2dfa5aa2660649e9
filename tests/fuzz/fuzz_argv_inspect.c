/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inspect file of any content: containers that are judged, or one
 * sentence; every finding has a code and a place with a path, or none.
 */
#include <stdint.h>
#include <stdlib.h>

#include "supervisor/argv/argv_inspect.h"
#include "supervisor/argv/argv_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_argv_inspect_one(const struct argv_items *items)
{
	struct argv_findings findings;
	struct argv_fault fault;
	enum result result = argv_judge(items, &findings, &fault);

	if (result != RESULT_OK && result != RESULT_BAD)
		abort();
	if (result == RESULT_BAD && fault.text[0] == '\0')
		abort();
	for (size_t i = 0; i < findings.count; i++) {
		if (findings.list[i].code >= ARGV_CODE_COUNT)
			abort();
		if (findings.list[i].place_count > 0 &&
		    findings.list[i].places[0]->path == NULL)
			abort();
	}
	argv_finding_clear(&findings);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct argv_inspect *inspect = NULL;
	struct argv_fault fault;
	enum result result =
	    argv_inspect_parse((const char *)data, size, &inspect, &fault);

	if (result != RESULT_OK) {
		if (inspect != NULL || fault.text[0] == '\0')
			abort();
		return 0;
	}
	for (size_t i = 0; i < argv_inspect_count(inspect); i++)
		fuzz_argv_inspect_one(argv_inspect_items_borrow(inspect, i));
	argv_inspect_free(&inspect);
	return 0;
}
