/* SPDX-License-Identifier: Apache-2.0 */
/* llm-broker/error_word: known words of three shapes, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/error_word.h"

static void
test_error_word_table(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\","
	     "\"code\":\"context_length_exceeded\"}}",
		"context_length_exceeded"},
	    {"{\"error\":{\"type\":\"invalid_request_error\",\"code\":null}}",
		"invalid_request_error"},
	    {"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
		"overloaded_error"},
	    {"{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}",
		"RESOURCE_EXHAUSTED"},
	    {"[{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\"}}]",
		"INVALID_ARGUMENT"},
	    {"{\"error\":{\"type\":\"sk-secret\",\"code\":\"sk-secret\"}}", ""},
	    {"{\"error\":{\"message\":\"rate_limit_error\"}}", ""},
	    {"{\"error\":\"rate_limit_error\"}", ""},
	    {"{\"code\":\"rate_limit_error\"}", ""},
	    {"rate_limit_error", ""},
	    {"", ""},
	    {"{\"error\":{\"type\":\"rate_limit_error\"},\"error\":{}}", ""},
	    {"[[[[[[[[[[[[[[[[[[[[", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(
		    error_word_find(rows[i][0], strlen(rows[i][0])),
		    rows[i][1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_error_word_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
