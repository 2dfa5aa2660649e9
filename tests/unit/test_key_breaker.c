/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breaker of a refused key, on a clock of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "llm-broker/key/key_breaker.h"

#define PAUSE 60000U

static void
test_key_breaker_opens(void **state)
{
	struct key_breaker breaker;

	(void)state;
	key_breaker_init(&breaker, PAUSE);
	assert_false(key_breaker_refused(&breaker, 1000));
	assert_false(key_breaker_refused(&breaker, 1000));
	assert_false(key_breaker_is_open(&breaker, 1000));
	assert_true(key_breaker_refused(&breaker, 1000));
	assert_true(key_breaker_is_open(&breaker, 1000));
	/* Calls that were under way change nothing. */
	assert_false(key_breaker_refused(&breaker, 2000));
	assert_true(key_breaker_is_open(&breaker, 1000 + PAUSE - 1));
	assert_false(key_breaker_is_open(&breaker, 1000 + PAUSE));
}

static void
test_key_breaker_in_a_row(void **state)
{
	struct key_breaker breaker;

	(void)state;
	key_breaker_init(&breaker, PAUSE);
	for (unsigned i = 0; i < 10; i++) {
		assert_false(key_breaker_refused(&breaker, 1));
		assert_false(key_breaker_refused(&breaker, 1));
		key_breaker_reset(&breaker);
	}
	assert_false(key_breaker_is_open(&breaker, 1));
}

static void
test_key_breaker_grows(void **state)
{
	struct key_breaker breaker;
	uint64_t now = 1, pause = PAUSE;

	(void)state;
	key_breaker_init(&breaker, PAUSE);
	(void)key_breaker_refused(&breaker, now);
	(void)key_breaker_refused(&breaker, now);
	for (unsigned i = 0; i < 12; i++) {
		assert_true(key_breaker_refused(&breaker, now));
		assert_true(key_breaker_is_open(&breaker, now + pause - 1));
		assert_false(key_breaker_is_open(&breaker, now + pause));
		now += pause;
		if (i < KEY_BREAKER_DOUBLINGS)
			pause *= 2;
	}
	assert_int_equal(pause, PAUSE << KEY_BREAKER_DOUBLINGS);
	/* A new key begins anew. */
	key_breaker_reset(&breaker);
	assert_false(key_breaker_refused(&breaker, now));
	assert_false(key_breaker_refused(&breaker, now));
	assert_true(key_breaker_refused(&breaker, now));
	assert_false(key_breaker_is_open(&breaker, now + PAUSE));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_breaker_opens),
	    cmocka_unit_test(test_key_breaker_in_a_row),
	    cmocka_unit_test(test_key_breaker_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
