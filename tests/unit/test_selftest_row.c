/* SPDX-License-Identifier: Apache-2.0 */
/* A selftest result that cannot be written is a failure, not one less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/engine/selftest.h"

static void
test_selftest_row_unwritable(void **state)
{
	json_t *probes = json_array();

	(void)state;
	selftest_row(probes, "removed", true, "nothing is left");
	selftest_row(probes, "start", false, "engine_failed: \xff");
	assert_int_equal(json_array_size(probes), 2);
	assert_true(
	    json_is_true(json_object_get(json_array_get(probes, 0), "ok")));
	assert_true(
	    json_is_false(json_object_get(json_array_get(probes, 1), "ok")));
	json_decref(probes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_selftest_row_unwritable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
