/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the pair between a broker and the ledger: which of them pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/ledger/budget_limits.h"
#include "supervisor/ledger/budget_wire.h"

static struct budget_wire_ask
test_budget_wire_good(enum budget_wire_kind kind)
{
	struct budget_wire_ask ask = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = kind,
	    .call = 7,
	    .calls = 1,
	    .amounts = {1, 2, 3, 4, BUDGET_UNKNOWN_COST},
	    .provider = "openai",
	    .model = "m"};

	return ask;
}

static void
test_budget_wire_asks_pass(void **state)
{
	struct budget_wire_ask ask = test_budget_wire_good(BUDGET_WIRE_RESERVE);

	(void)state;
	assert_null(budget_wire_fault(&ask));
	memset(ask.model, 'm', BUDGET_WIRE_MODEL_MAX);
	ask.call = INT64_MAX;
	ask.amounts[BUDGET_COST] = BUDGET_AMOUNT_MAX;
	assert_null(budget_wire_fault(&ask));
	ask = test_budget_wire_good(BUDGET_WIRE_SETTLE);
	ask.amounts[BUDGET_REQUESTS] = 0;
	ask.served = ask.estimated = 1;
	assert_null(budget_wire_fault(&ask));
	ask.calls = ask.unused = BUDGET_WIRE_CALLS_MAX;
	ask.served = ask.estimated = BUDGET_WIRE_CALLS_MAX;
	ask.amounts[BUDGET_TOKENS] = BUDGET_AMOUNT_MAX * BUDGET_WIRE_CALLS_MAX;
	assert_null(budget_wire_fault(&ask));
	ask = test_budget_wire_good(BUDGET_WIRE_SETTLE);
	memset(ask.amounts, 0, sizeof(ask.amounts));
	ask.calls = 0; /* nothing was called, all comes back */
	ask.unused = BUDGET_WIRE_CALLS_MAX;
	memset(ask.model, 0xff, sizeof(ask.model)); /* nobody reads it */
	assert_null(budget_wire_fault(&ask));
}

static void
test_budget_wire_asks_fail(void **state)
{
	struct budget_wire_ask ask;

	(void)state;
#define TEST_BUDGET_WIRE_BAD(kind_, change)               \
	do {                                              \
		ask = test_budget_wire_good(kind_);       \
		change;                                   \
		assert_non_null(budget_wire_fault(&ask)); \
	} while (0)
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.magic++);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVED, (void)0);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_REFUSED, (void)0);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.kind = 0);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE, ask.call = 0);
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_SETTLE, ask.call = (uint64_t)INT64_MAX + 1);
	for (unsigned i = 0; i < BUDGET_WIRE_AMOUNTS; i++) {
		TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE, ask.amounts[i] = -2);
		TEST_BUDGET_WIRE_BAD(
		    BUDGET_WIRE_RESERVE, ask.amounts[i] = INT64_MIN);
		TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE,
		    ask.amounts[i] = BUDGET_AMOUNT_MAX + 1);
	}
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_SETTLE, ask.amounts[BUDGET_TOKENS] = -1);
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_RESERVE, ask.amounts[BUDGET_REQUESTS] = 0);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE, ask.served = 2);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE, ask.calls = 0);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE,
	    (ask.calls = 0, ask.unused = 1)); /* amounts of no call */
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_SETTLE, ask.calls = BUDGET_WIRE_CALLS_MAX + 1);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE, ask.calls = UINT32_MAX);
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_SETTLE, ask.unused = BUDGET_WIRE_CALLS_MAX + 1);
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_SETTLE, (ask.calls = 2, ask.amounts[BUDGET_TOKENS] =
						    2 * BUDGET_AMOUNT_MAX + 1));
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.calls = 0);
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_RESERVE, ask.calls = BUDGET_WIRE_CALLS_MAX + 1);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.unused = 1);
	TEST_BUDGET_WIRE_BAD(
	    BUDGET_WIRE_RESERVE, (ask.calls = 2, ask.amounts[BUDGET_TOKENS] =
						     BUDGET_AMOUNT_MAX + 1));
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_SETTLE, ask.estimated = 256);
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.provider[0] = '\0');
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.model[0] = '\0');
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE, ask.model[0] = '\xc3');
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE,
	    memset(ask.model, 'm', BUDGET_WIRE_MODEL_MAX + 1));
	TEST_BUDGET_WIRE_BAD(BUDGET_WIRE_RESERVE,
	    memset(ask.provider, 'p', sizeof(ask.provider)));
}

static void
test_budget_wire_answers(void **state)
{
	struct budget_wire_answer answer = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = BUDGET_WIRE_RESERVED,
	    .call = 1,
	    .calls = 1};

	(void)state;
	assert_null(budget_wire_answer_fault(&answer));
	answer.calls = 0;
	assert_non_null(budget_wire_answer_fault(&answer));
	answer.calls = BUDGET_WIRE_CALLS_MAX + 1;
	assert_non_null(budget_wire_answer_fault(&answer));
	answer.kind = BUDGET_WIRE_REFUSED;
	assert_null(budget_wire_answer_fault(&answer));
	memset(answer.scope, 's', sizeof(answer.scope));
	assert_non_null(budget_wire_answer_fault(&answer));
	answer.scope[0] = '\0';
	memset(answer.amount, 'a', sizeof(answer.amount));
	assert_non_null(budget_wire_answer_fault(&answer));
	answer.kind = BUDGET_WIRE_RESERVE;
	assert_non_null(budget_wire_answer_fault(&answer));
	answer.kind = BUDGET_WIRE_RESERVED;
	answer.magic = 0;
	assert_non_null(budget_wire_answer_fault(&answer));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_budget_wire_asks_pass),
	    cmocka_unit_test(test_budget_wire_asks_fail),
	    cmocka_unit_test(test_budget_wire_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
