/* SPDX-License-Identifier: Apache-2.0 */
/* egress-proxy/deadline_wheel: what fires when, against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/deadline_wheel.h"

#define TEST_DEADLINE_WHEEL_COUNT 500U

struct test_deadline_wheel_item {
	struct deadline deadline; /* first */
	uint64_t due_ms, fired_ms;
	unsigned fired;
};

struct test_deadline_wheel {
	struct deadline_wheel wheel;
	struct test_deadline_wheel_item items[TEST_DEADLINE_WHEEL_COUNT];
	uint64_t now_ms;
};

static void
test_deadline_wheel_fire(struct deadline *deadline, void *context)
{
	struct test_deadline_wheel *test = context;
	struct test_deadline_wheel_item *item =
	    (struct test_deadline_wheel_item *)(void *)deadline;

	item->fired++;
	item->fired_ms = test->now_ms;
}

static void
test_deadline_wheel_tick(struct test_deadline_wheel *test, uint64_t now_ms)
{
	test->now_ms = now_ms;
	deadline_wheel_tick(
	    &test->wheel, now_ms, test_deadline_wheel_fire, test);
}

/* Never early, late by a tick at most, each once, from 1 ms to hours. */
static void
test_deadline_wheel_precise(void **state)
{
	struct test_deadline_wheel *test = calloc(1, sizeof(*test));
	uint64_t start = 123456789;

	(void)state;
	deadline_wheel_init(&test->wheel, start);
	for (unsigned i = 0; i < TEST_DEADLINE_WHEEL_COUNT; i++) {
		uint64_t ms = i < 400 ? i * 37 : (uint64_t)(i - 399) * 90000;

		test->items[i].due_ms = start + ms;
		deadline_wheel_arm(
		    &test->wheel, &test->items[i].deadline, start + ms);
	}
	for (uint64_t now = start; now < start + 9100000; now += 50)
		test_deadline_wheel_tick(test, now);
	for (unsigned i = 0; i < TEST_DEADLINE_WHEEL_COUNT; i++) {
		assert_int_equal(test->items[i].fired, 1);
		assert_true(test->items[i].fired_ms >= test->items[i].due_ms);
		assert_true(test->items[i].fired_ms <=
			    test->items[i].due_ms + 2 * DEADLINE_WHEEL_TICK_MS);
	}
	assert_int_equal(test->wheel.armed, 0);
	free(test);
}

static void
test_deadline_wheel_clear_and_move(void **state)
{
	struct test_deadline_wheel *test = calloc(1, sizeof(*test));
	struct deadline *first = &test->items[0].deadline;
	struct deadline *second = &test->items[1].deadline;

	(void)state;
	deadline_wheel_init(&test->wheel, 1000);
	deadline_wheel_clear(&test->wheel, first); /* not armed: nothing */
	deadline_wheel_arm(&test->wheel, first, 2000);
	deadline_wheel_arm(&test->wheel, second, 2000);
	deadline_wheel_clear(&test->wheel, first);
	deadline_wheel_arm(&test->wheel, second, 5000);
	assert_int_equal(test->wheel.armed, 1);
	test_deadline_wheel_tick(test, 4900);
	assert_int_equal(test->items[0].fired + test->items[1].fired, 0);
	test_deadline_wheel_tick(test, 5200);
	assert_int_equal(test->items[1].fired, 1);
	free(test);
}

/* A loop that stood still for an hour loses nothing. */
static void
test_deadline_wheel_jump(void **state)
{
	struct test_deadline_wheel *test = calloc(1, sizeof(*test));

	(void)state;
	deadline_wheel_init(&test->wheel, 1000);
	for (unsigned i = 0; i < 300; i++)
		deadline_wheel_arm(
		    &test->wheel, &test->items[i].deadline, 1000 + i * 1000);
	test_deadline_wheel_tick(test, 3600000);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(test->items[i].fired, 1);
	deadline_wheel_arm(&test->wheel, &test->items[0].deadline, 0);
	test_deadline_wheel_tick(test, 3600200);
	assert_int_equal(test->items[0].fired, 2); /* past: at the next */
	free(test);
}

static void
test_deadline_wheel_other(struct deadline *deadline, void *context)
{
	struct test_deadline_wheel *test = context;
	struct test_deadline_wheel_item *item =
	    (struct test_deadline_wheel_item *)(void *)deadline;

	item->fired++;
	deadline_wheel_clear(&test->wheel, &test->items[0].deadline);
	deadline_wheel_clear(&test->wheel, &test->items[1].deadline);
	deadline_wheel_arm(&test->wheel, deadline, test->now_ms + 1000);
}

/* Firing may clear the others that are due, and arm itself. */
static void
test_deadline_wheel_reenter(void **state)
{
	struct test_deadline_wheel *test = calloc(1, sizeof(*test));

	(void)state;
	deadline_wheel_init(&test->wheel, 1000);
	deadline_wheel_arm(&test->wheel, &test->items[0].deadline, 1500);
	deadline_wheel_arm(&test->wheel, &test->items[1].deadline, 1500);
	test->now_ms = 1700;
	deadline_wheel_tick(
	    &test->wheel, 1700, test_deadline_wheel_other, test);
	assert_int_equal(test->items[0].fired + test->items[1].fired, 1);
	assert_int_equal(test->wheel.armed, 1);
	free(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_deadline_wheel_precise),
	    cmocka_unit_test(test_deadline_wheel_clear_and_move),
	    cmocka_unit_test(test_deadline_wheel_jump),
	    cmocka_unit_test(test_deadline_wheel_reenter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
