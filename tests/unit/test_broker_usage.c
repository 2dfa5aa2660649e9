/* SPDX-License-Identifier: Apache-2.0 */
/* llm-broker/broker_usage: every call is counted, none is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/broker_usage.h"

struct test_broker_usage {
	uint64_t accept, rows, count, tokens;
	char last[256];
};

static int
test_broker_usage_send(const struct broker_usage_row *row, void *context)
{
	struct test_broker_usage *test = context;

	if (test->accept == 0)
		return -1;
	test->accept--;
	test->rows++;
	test->count += row->count;
	test->tokens += row->amounts.output_tokens;
	(void)snprintf(test->last, sizeof(test->last), "%s", row->model);
	return 0;
}

static struct call
test_broker_usage_call(const char *model, enum call_code code)
{
	struct call call = {.code = code};

	(void)snprintf(call.model, sizeof(call.model), "%s", model);
	call.charge.used.output_tokens = 3;
	call.charge.used.cost = -1;
	return call;
}

static void
test_broker_usage_sums(void **state)
{
	struct broker_usage *usage = calloc(1, sizeof(*usage));
	struct test_broker_usage test = {.accept = 1};

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct call a = test_broker_usage_call("a", CALL_OK);
		struct call b = test_broker_usage_call("a", CALL_TIMEOUT);
		struct call c = test_broker_usage_call("c", CALL_OK);

		broker_usage_add(usage, &a);
		broker_usage_add(usage, &b);
		broker_usage_add(usage, &c);
	}
	assert_int_equal(usage->used, 3);
	broker_usage_flush(usage, test_broker_usage_send, &test);
	assert_int_equal(test.rows, 1);
	assert_int_equal(usage->used, 2);
	test.accept = 10;
	broker_usage_flush(usage, test_broker_usage_send, &test);
	assert_int_equal(usage->used, 0);
	assert_int_equal(test.rows, 3);
	assert_int_equal(test.count, 30);
	assert_int_equal(test.tokens, 90);
	free(usage);
}

static void
test_broker_usage_flood(void **state)
{
	struct broker_usage *usage = calloc(1, sizeof(*usage));
	struct test_broker_usage test = {.accept = 1000};

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		char model[16];
		struct call call;

		(void)snprintf(model, sizeof(model), "m%u", i);
		call = test_broker_usage_call(model, CALL_OK);
		broker_usage_add(usage, &call);
	}
	assert_int_equal(usage->used, BROKER_USAGE_ROWS - CALL_CODE_COUNT + 1);
	broker_usage_flush(usage, test_broker_usage_send, &test);
	assert_int_equal(test.count, 500);
	assert_int_equal(test.tokens, 1500);
	assert_string_equal(test.last, "(others)");
	free(usage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_broker_usage_sums),
	    cmocka_unit_test(test_broker_usage_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
