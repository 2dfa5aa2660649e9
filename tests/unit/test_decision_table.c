/* SPDX-License-Identifier: Apache-2.0 */
/* egress-proxy/decision_table: every decision is counted, none is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/decision_table.h"
#include "egress-proxy/deny.h"

struct test_decision_table {
	uint64_t count, others;
	unsigned rows, accept;
};

static int
test_decision_table_send(const struct decision *row, void *context)
{
	struct test_decision_table *test = context;

	if (test->accept == 0)
		return -1;
	test->accept--;
	test->rows++;
	test->count += row->count;
	if (strcmp(row->target, "(others)") == 0)
		test->others += row->count;
	return 0;
}

static void
test_decision_table_same(void **state)
{
	struct decision_table table = {0};
	struct test_decision_table test = {.accept = 100};

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		decision_table_add(&table, "a", DENY_NONE, "x:443", "x:443", 7);
		decision_table_add(
		    &table, "a", DENY_HOST_NOT_ALLOWED, "y:443", NULL, 7);
		decision_table_add(
		    &table, "b", DENY_HOST_NOT_ALLOWED, "y:443", NULL, 7);
	}
	decision_table_flush(&table, test_decision_table_send, &test);
	assert_int_equal(test.rows, 3);
	assert_int_equal(test.count, 3000);
	test.rows = 0;
	decision_table_flush(&table, test_decision_table_send, &test);
	assert_int_equal(test.rows, 0);
}

static void
test_decision_table_flood(void **state)
{
	struct decision_table table = {0};
	struct test_decision_table test = {.accept = 1000};
	char target[32];

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(target, sizeof(target), "h%u.test:443", i);
		decision_table_add(&table, "a",
		    (enum deny_code)(i % DENY_CODE_COUNT), target, NULL, 7);
	}
	assert_true(table.used <= DECISION_TABLE_ROWS);
	decision_table_flush(&table, test_decision_table_send, &test);
	assert_int_equal(test.count, 10000);
	assert_true(test.others > 9000);
}

/* A supervisor that does not read delays, but loses nothing. */
static void
test_decision_table_refused(void **state)
{
	struct decision_table table = {0};
	struct test_decision_table test = {.accept = 1};

	(void)state;
	decision_table_add(&table, "a", DENY_NONE, "x:443", NULL, 7);
	decision_table_add(&table, "a", DENY_NONE, "y:443", NULL, 7);
	decision_table_flush(&table, test_decision_table_send, &test);
	assert_int_equal(test.count, 1);
	decision_table_add(&table, "a", DENY_NONE, "y:443", NULL, 7);
	test.accept = 10;
	decision_table_flush(&table, test_decision_table_send, &test);
	assert_int_equal(test.count, 3);
	assert_int_equal(table.used, 0);
}

/* Sandboxes beyond the last row share it. */
static void
test_decision_table_many_sandboxes(void **state)
{
	struct decision_table table = {0};
	struct test_decision_table test = {.accept = 1000};
	char id[32];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(id, sizeof(id), "s%u", i);
		decision_table_add(&table, id, DENY_TIMEOUT, "x:443", NULL, 7);
	}
	decision_table_flush(&table, test_decision_table_send, &test);
	assert_int_equal(test.count, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_decision_table_same),
	    cmocka_unit_test(test_decision_table_flood),
	    cmocka_unit_test(test_decision_table_refused),
	    cmocka_unit_test(test_decision_table_many_sandboxes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
