/* SPDX-License-Identifier: Apache-2.0 */
/* egress-proxy/egress_quota: rate, total, and clocks that stand or jump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/egress_quota.h"

static void
test_egress_quota_none(void **state)
{
	struct egress_quota quota;

	(void)state;
	egress_quota_init(&quota, 0, 0, 1000);
	egress_quota_spend(&quota, 1U << 30);
	assert_int_equal(egress_quota_ask(&quota, 65536), 65536);
	assert_false(egress_quota_exhausted(&quota));
}

static void
test_egress_quota_rate(void **state)
{
	struct egress_quota quota;

	(void)state;
	egress_quota_init(&quota, 10000, 0, 1000);
	assert_int_equal(egress_quota_ask(&quota, 65536), 10000);
	egress_quota_spend(&quota, 10000);
	assert_int_equal(egress_quota_ask(&quota, 1), 0);
	egress_quota_refill(&quota, 1100);
	assert_int_equal(egress_quota_ask(&quota, 65536), 1000);
	egress_quota_refill(&quota, 1050); /* backwards: nothing */
	assert_int_equal(egress_quota_ask(&quota, 65536), 1000);
	egress_quota_refill(&quota, 900000); /* a second's worth at most */
	assert_int_equal(egress_quota_ask(&quota, 65536), 10000);
	assert_false(egress_quota_exhausted(&quota));
}

/* One byte per second still moves. */
static void
test_egress_quota_slow(void **state)
{
	struct egress_quota quota;
	unsigned moved = 0;

	(void)state;
	egress_quota_init(&quota, 1, 0, 0);
	for (uint64_t now = 0; now <= 10000; now += 100) {
		egress_quota_refill(&quota, now);
		if (egress_quota_ask(&quota, 100) > 0) {
			egress_quota_spend(&quota, 1);
			moved++;
		}
	}
	assert_in_range(moved, 10, 11);
}

static void
test_egress_quota_total(void **state)
{
	struct egress_quota quota;

	(void)state;
	egress_quota_init(&quota, 0, 1000, 0);
	egress_quota_spend(&quota, 999);
	assert_int_equal(egress_quota_ask(&quota, 500), 1);
	assert_false(egress_quota_exhausted(&quota));
	egress_quota_spend(&quota, 1);
	assert_int_equal(egress_quota_ask(&quota, 500), 0);
	assert_true(egress_quota_exhausted(&quota));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_egress_quota_none),
	    cmocka_unit_test(test_egress_quota_rate),
	    cmocka_unit_test(test_egress_quota_slow),
	    cmocka_unit_test(test_egress_quota_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
