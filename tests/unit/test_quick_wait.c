/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the loop of the broker and of llm-key looks instead of sleeping: on a
 * clock of the test's own, and once for real.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "common/event_loop.h"
#include "llm-broker/quick_wait.h"

#define QUICK 60000U /* nanoseconds that a near answer takes */
#define SLOW (QUICK_WAIT_NS + 1)

static void
test_quick_wait_start(struct quick_wait *wait)
{
	quick_wait_init(wait);
	for (unsigned i = 0; i < QUICK_WAIT_LONE; i++) {
		assert_false(quick_wait_is_lone(wait));
		quick_wait_begin(wait, 1);
	}
	assert_true(quick_wait_is_lone(wait));
}

/* One wait; says whether it looked. */
static bool
test_quick_wait_once(struct quick_wait *wait, uint64_t *now, uint64_t takes)
{
	bool looked;

	quick_wait_expect(wait, *now);
	looked = quick_wait_looks(wait, *now);
	*now += takes;
	if (looked && takes > QUICK_WAIT_NS)
		assert_false(quick_wait_looks(wait, *now));
	quick_wait_came(wait, *now);
	assert_false(quick_wait_looks(wait, *now));
	return looked;
}

static unsigned
test_quick_wait_until_it_looks(struct quick_wait *wait, uint64_t *now)
{
	unsigned count = 0;

	while (!test_quick_wait_once(wait, now, QUICK))
		assert_true(++count <= QUICK_WAIT_MOST);
	return count;
}

static void
test_quick_wait_begins(void **state)
{
	struct quick_wait wait;
	uint64_t now = 1000000;

	(void)state;
	test_quick_wait_start(&wait);
	assert_false(quick_wait_looks(&wait, now));
	assert_int_equal(
	    test_quick_wait_until_it_looks(&wait, &now), QUICK_WAIT_LEAST);
	assert_true(test_quick_wait_once(&wait, &now, QUICK));
	quick_wait_expect(&wait, now);
	assert_true(quick_wait_looks(&wait, now + QUICK_WAIT_NS));
	quick_wait_begin(&wait, 2); /* it is no longer alone */
	assert_false(quick_wait_looks(&wait, now + 1));
	/* Nor is one that was left over of a crowd. */
	quick_wait_begin(&wait, 1);
	assert_false(quick_wait_is_lone(&wait));
	quick_wait_expect(&wait, now);
	assert_false(quick_wait_looks(&wait, now));
	for (unsigned i = 1; i < QUICK_WAIT_LONE; i++)
		quick_wait_begin(&wait, 1);
	quick_wait_expect(&wait, now);
	assert_true(quick_wait_looks(&wait, now));
}

/* A provider as they are: it never looks. */
static void
test_quick_wait_slow(void **state)
{
	struct quick_wait wait;
	uint64_t now = 1000000;

	(void)state;
	test_quick_wait_start(&wait);
	for (unsigned i = 0; i < 1000; i++)
		assert_false(test_quick_wait_once(&wait, &now, SLOW));
	/* Nor when three of four are near. */
	for (unsigned i = 0; i < 1000; i++)
		assert_false(test_quick_wait_once(
		    &wait, &now, i % QUICK_WAIT_LEAST == 0 ? SLOW : QUICK));
}

/* It looks in vain less and less often, and recovers with what comes. */
static void
test_quick_wait_in_vain(void **state)
{
	struct quick_wait wait;
	uint64_t now = 1000000;
	unsigned looked = 0, most;

	(void)state;
	test_quick_wait_start(&wait);
	(void)test_quick_wait_until_it_looks(&wait, &now);
	assert_true(test_quick_wait_once(&wait, &now, SLOW));
	assert_int_equal(
	    test_quick_wait_until_it_looks(&wait, &now), 2 * QUICK_WAIT_LEAST);
	/* Who shares the core with us comes only when we sleep. */
	for (unsigned i = 0; i < 10000; i++) {
		quick_wait_expect(&wait, now);
		if (quick_wait_looks(&wait, now)) {
			looked++;
			now += SLOW;
			assert_false(quick_wait_looks(&wait, now));
		}
		now += QUICK;
		quick_wait_came(&wait, now);
	}
	assert_in_range(looked, 5, 20);
	most = test_quick_wait_until_it_looks(&wait, &now);
	assert_in_range(most, QUICK_WAIT_LEAST, QUICK_WAIT_MOST);
	for (unsigned i = 0; i < QUICK_WAIT_MOST; i++)
		assert_true(test_quick_wait_once(&wait, &now, QUICK));
	assert_true(test_quick_wait_once(&wait, &now, SLOW));
	assert_int_equal(
	    test_quick_wait_until_it_looks(&wait, &now), 2 * QUICK_WAIT_LEAST);
}

static void
test_quick_wait_stop(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	event_loop_stop(context);
}

static uint64_t
test_quick_wait_cpu_us(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
		   1000000U +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Nothing comes for 100 ms: it looks for a moment and sleeps. */
static void
test_quick_wait_loop(void **state)
{
	struct quick_wait wait;
	struct event_base *base;
	struct timeval later = event_loop_timeval(100);
	uint64_t began;

	(void)state;
	test_quick_wait_start(&wait);
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	assert_int_equal(event_base_once(base, -1, EV_TIMEOUT,
			     test_quick_wait_stop, base, &later),
	    0);
	wait.near = wait.need;
	quick_wait_expect(&wait, quick_wait_now_ns());
	began = test_quick_wait_cpu_us();
	assert_int_equal(quick_wait_run(base, &wait), RESULT_OK);
	assert_in_range(test_quick_wait_cpu_us() - began, 0, 50000);
	assert_int_equal(wait.since_ns, 0);
	assert_int_equal(wait.need, 2 * QUICK_WAIT_LEAST);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_quick_wait_begins),
	    cmocka_unit_test(test_quick_wait_slow),
	    cmocka_unit_test(test_quick_wait_in_vain),
	    cmocka_unit_test(test_quick_wait_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
