/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations that calls share: who may take one, what is told of them, and
 * that each is told once, whatever ends first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/ledger_share.h"
#include "supervisor/ledger/budget_limits.h"

static const struct provider *const test_ledger_share_provider =
    (const struct provider *)&test_ledger_share_provider;

static struct {
	struct budget_wire_ask last;
	uint32_t calls, unused, served, estimated;
	int64_t tokens, cost;
	unsigned records;
} test_ledger_share_told;

static bool
test_ledger_share_put(const struct budget_wire_ask *ask, void *context)
{
	assert_null(context);
	assert_null(budget_wire_fault(ask));
	assert_int_equal(ask->kind, BUDGET_WIRE_SETTLE);
	test_ledger_share_told.last = *ask;
	test_ledger_share_told.calls += ask->calls;
	test_ledger_share_told.unused += ask->unused;
	test_ledger_share_told.served += ask->served;
	test_ledger_share_told.estimated += ask->estimated;
	test_ledger_share_told.tokens += ask->amounts[BUDGET_TOKENS];
	test_ledger_share_told.cost += ask->amounts[BUDGET_COST];
	test_ledger_share_told.records++;
	return true;
}

static struct call
test_ledger_share_call(const char *model)
{
	struct call call;

	memset(&call, 0, sizeof(call));
	call.provider = test_ledger_share_provider;
	memcpy(call.model, model, strlen(model) + 1);
	return call;
}

static struct budget_wire_ask
test_ledger_share_ask(uint64_t number, uint32_t calls, int64_t tokens)
{
	struct budget_wire_ask ask = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = BUDGET_WIRE_RESERVE,
	    .call = number,
	    .calls = calls,
	    .amounts = {1, 10, 1, tokens, 5}};

	return ask;
}

static void
test_ledger_share_over(
    struct ledger_shares *shares, struct call *call, int64_t cost)
{
	struct budget_wire_ask ask = {.calls = 1,
	    .served = 1,
	    .estimated = 1,
	    .amounts = {1, 10, 20, 30, cost}};

	ledger_share_settle(shares, call, &ask);
	assert_null(call->share);
}

/* Few calls ask for themselves alone; many for as many as came lately. */
static void
test_ledger_share_paces(void **state)
{
	struct ledger_shares shares;
	unsigned i;

	(void)state;
	ledger_share_init(&shares);
	for (i = 0; i < LEDGER_SHARE_LEAST; i++)
		assert_int_equal(ledger_share_pace(&shares, 1000), 0);
	assert_int_equal(ledger_share_pace(&shares, 1000), LEDGER_SHARE_LEAST);
	for (i = 0; i < 200; i++)
		(void)ledger_share_pace(&shares, 1010);
	assert_int_equal(
	    ledger_share_pace(&shares, 1019), BUDGET_WIRE_CALLS_MAX - 1);
	assert_int_equal(
	    ledger_share_pace(&shares, 1039), BUDGET_WIRE_CALLS_MAX - 1);
	/* One in that window, and nothing for longer than one. */
	assert_int_equal(ledger_share_pace(&shares, 1059), 0);
	assert_int_equal(ledger_share_pace(&shares, 5000), 0);
	/* Slowly is not many, however long. */
	for (i = 0; i < 50; i++)
		assert_int_equal(ledger_share_pace(&shares, 6000 + i * 10), 0);
}

/* Only a call of the same model that needs no more. */
static void
test_ledger_share_finds(void **state)
{
	struct call a = test_ledger_share_call("m");
	struct call b = test_ledger_share_call("n");
	struct budget_wire_ask ask = test_ledger_share_ask(7, 3, 50);
	struct budget_wire_ask more = test_ledger_share_ask(8, 1, 51);
	struct budget_wire_ask dear = test_ledger_share_ask(9, 1, 50);
	struct ledger_shares shares;
	struct ledger_share *share;

	(void)state;
	ledger_share_init(&shares);
	share = ledger_share_new(&shares, &a, &ask);
	assert_non_null(share);
	dear.amounts[BUDGET_COST] = BUDGET_UNKNOWN_COST;
	assert_null(ledger_share_find(&shares, &a, &ask, false));
	assert_ptr_equal(ledger_share_find(&shares, &a, &ask, true), share);
	assert_null(ledger_share_find(&shares, &b, &ask, true));
	assert_null(ledger_share_find(&shares, &a, &more, true));
	assert_null(ledger_share_find(&shares, &a, &dear, true));
	/* Two may hope; the third asks for itself. */
	ledger_share_join(share);
	ledger_share_join(share);
	assert_null(ledger_share_find(&shares, &a, &ask, true));
	assert_ptr_equal(ledger_share_numbered(&shares, 7), share);
	assert_null(ledger_share_numbered(&shares, 8));
	ledger_share_answered(&shares, share, 0); /* refused: gone */
	assert_null(ledger_share_numbered(&shares, 7));
	assert_int_equal(shares.fresh_count, 0);
	ledger_share_lose(&shares);
}

/* Taken, settled and told in parts; the rest is given back once. */
static void
test_ledger_share_tells(void **state)
{
	struct call calls[4];
	struct budget_wire_ask ask = test_ledger_share_ask(7, 5, 50);
	struct ledger_shares shares;
	struct ledger_share *share;
	unsigned i;

	(void)state;
	memset(&test_ledger_share_told, 0, sizeof(test_ledger_share_told));
	ledger_share_init(&shares);
	for (i = 0; i < 4; i++)
		calls[i] = test_ledger_share_call("m");
	share = ledger_share_new(&shares, &calls[0], &ask);
	ledger_share_answered(&shares, share, 5);
	for (i = 0; i < 4; i++) {
		assert_ptr_equal(
		    ledger_share_find(&shares, &calls[i], &ask, false), share);
		ledger_share_take(&shares, share, &calls[i]);
	}
	test_ledger_share_over(&shares, &calls[0], 3);
	test_ledger_share_over(&shares, &calls[1], BUDGET_UNKNOWN_COST);
	ledger_share_tell(&shares, test_ledger_share_put, NULL);
	assert_int_equal(test_ledger_share_told.records, 1);
	assert_int_equal(test_ledger_share_told.last.call, 7);
	assert_int_equal(test_ledger_share_told.calls, 2);
	assert_int_equal(test_ledger_share_told.cost, 3 + 5);
	/* It was used: it stays for a moment, then it goes back. */
	assert_true(
	    ledger_share_tidy(&shares, false, test_ledger_share_put, NULL));
	assert_int_equal(test_ledger_share_told.records, 1);
	assert_false(
	    ledger_share_tidy(&shares, false, test_ledger_share_put, NULL));
	assert_int_equal(test_ledger_share_told.unused, 1);
	assert_null(ledger_share_find(&shares, &calls[0], &ask, false));
	/* Two are open still. */
	test_ledger_share_over(&shares, &calls[2], 1);
	test_ledger_share_over(&shares, &calls[3], 1);
	(void)ledger_share_tidy(&shares, false, test_ledger_share_put, NULL);
	assert_int_equal(test_ledger_share_told.calls, 4);
	assert_int_equal(test_ledger_share_told.served, 4);
	assert_int_equal(test_ledger_share_told.estimated, 4);
	assert_int_equal(test_ledger_share_told.tokens, 120);
	assert_int_equal(test_ledger_share_told.unused, 1);
	assert_true(TAILQ_EMPTY(&shares.spent));
	(void)ledger_share_tidy(&shares, true, test_ledger_share_put, NULL);
	assert_int_equal(test_ledger_share_told.records, 3);
}

/* At the end all of it goes back at once; a ledger that is gone is told
 * nothing, and calls that end later are no trouble. */
static void
test_ledger_share_ends(void **state)
{
	struct call call = test_ledger_share_call("m");
	struct budget_wire_ask ask = test_ledger_share_ask(7, 64, 50);
	struct ledger_shares shares;
	struct ledger_share *share;
	unsigned i;

	(void)state;
	memset(&test_ledger_share_told, 0, sizeof(test_ledger_share_told));
	ledger_share_init(&shares);
	share = ledger_share_new(&shares, &call, &ask);
	ledger_share_answered(&shares, share, 64);
	assert_false(
	    ledger_share_tidy(&shares, true, test_ledger_share_put, NULL));
	assert_int_equal(test_ledger_share_told.unused, 64);
	assert_true(TAILQ_EMPTY(&shares.spent));
	for (i = 0; i < LEDGER_SHARE_MAX; i++) {
		ask.call = 100 + i;
		share = ledger_share_new(&shares, &call, &ask);
		assert_non_null(share);
	}
	assert_null(ledger_share_new(&shares, &call, &ask)); /* enough */
	ledger_share_answered(&shares, share, 2);
	ledger_share_take(&shares, share, &call);
	ledger_share_lose(&shares);
	assert_true(TAILQ_EMPTY(&shares.fresh));
	assert_null(ledger_share_find(&shares, &call, &ask, false));
	test_ledger_share_over(&shares, &call, 1);
	ledger_share_tell(&shares, test_ledger_share_put, NULL);
	assert_int_equal(test_ledger_share_told.records, 1);
	assert_true(TAILQ_EMPTY(&shares.spent));
}

/* A model without a price: nothing of it has one. */
static void
test_ledger_share_unpriced(void **state)
{
	struct call a = test_ledger_share_call("m");
	struct call b = test_ledger_share_call("m");
	struct budget_wire_ask ask = test_ledger_share_ask(7, 2, 50);
	struct ledger_shares shares;
	struct ledger_share *share;

	(void)state;
	memset(&test_ledger_share_told, 0, sizeof(test_ledger_share_told));
	ledger_share_init(&shares);
	ask.amounts[BUDGET_COST] = BUDGET_UNKNOWN_COST;
	share = ledger_share_new(&shares, &a, &ask);
	ledger_share_answered(&shares, share, 2);
	ledger_share_take(&shares, share, &a);
	ledger_share_take(&shares, share, &b);
	test_ledger_share_over(&shares, &a, BUDGET_UNKNOWN_COST);
	test_ledger_share_over(&shares, &b, BUDGET_UNKNOWN_COST);
	ledger_share_tell(&shares, test_ledger_share_put, NULL);
	assert_int_equal(test_ledger_share_told.cost, BUDGET_UNKNOWN_COST);
	assert_int_equal(test_ledger_share_told.calls, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ledger_share_paces),
	    cmocka_unit_test(test_ledger_share_finds),
	    cmocka_unit_test(test_ledger_share_tells),
	    cmocka_unit_test(test_ledger_share_ends),
	    cmocka_unit_test(test_ledger_share_unpriced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
