/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_request against known bypasses, one test per row of
 * tests/support/call_vectors.c. Coded bodies are in test_call_coding.c,
 * malformed heads in test_call_malformed.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/support/call_vectors.h"

static struct call_case test_call_vectors_case;

static void
test_call_vectors_row(void **state)
{
	call_case_check(&test_call_vectors_case, *state);
}

int
main(void)
{
	struct CMUnitTest *tests = calloc(call_vectors_count, sizeof(*tests));
	size_t i;
	int failed;

	if (tests == NULL)
		return 1;
	call_case_open(&test_call_vectors_case,
	    AGENTNODE_SOURCE_DIR "/config/providers", CALL_CASE_GRANT);
	for (i = 0; i < call_vectors_count; i++) {
		tests[i].name = call_vectors_rows[i].name;
		tests[i].test_func = test_call_vectors_row;
		tests[i].initial_state =
		    (void *)(uintptr_t)&call_vectors_rows[i];
	}
	failed = _cmocka_run_group_tests(
	    "call_vectors", tests, call_vectors_count, NULL, NULL);
	call_case_close(&test_call_vectors_case);
	free(tests);
	return failed;
}
