/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets over a real usage.db: every scope and amount, exact sums, unknown
 * prices, calls at one time, days that end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "tests/support/budget_case.h"
#include "tests/support/budget_one.h"

/* Every amount in every scope: up to the limit it passes, one more does
 * not, and the refusal names both. */
static void
test_budget_every_limit(void **state)
{
	static const char *const scopes[] = {"run", "agent_day", "host_day"};
	struct budget_case *test = *state;
	struct budget_refusal refusal;
	struct budget_limits limits;
	struct budget_amounts most;
	struct budget_run *run;
	unsigned scope, amount;
	char name[32];

	for (scope = 0; scope < BUDGET_SCOPE_COUNT; scope++)
		for (amount = 0; amount < BUDGET_AMOUNT_COUNT; amount++) {
			limits = budget_case_no_limits();
			snprintf(name, sizeof(name), "r%u%u", scope, amount);
			/* Days hold what the loop used before. */
			limits.values[scope][amount] =
			    scope == BUDGET_HOST_DAY
				? 10 + 10 * (2 * BUDGET_AMOUNT_COUNT + amount)
				: 10;
			run =
			    budget_case_run(test->budget, name, name, &limits);
			most = budget_case_amounts(5, 5, 5, 5, 5);
			assert_int_equal(
			    budget_case_reserve_at(test->budget, run,
				BUDGET_CASE_NOON, 1, most, &refusal),
			    RESULT_OK);
			assert_int_equal(
			    budget_case_reserve_at(test->budget, run,
				BUDGET_CASE_NOON, 2, most, &refusal),
			    RESULT_OK);
			most = budget_case_amounts(1, 1, 1, 1, 1);
			assert_int_equal(
			    budget_case_reserve_at(test->budget, run,
				BUDGET_CASE_NOON, 3, most, &refusal),
			    RESULT_REFUSED);
			assert_string_equal(
			    budget_limits_scope_text(refusal.scope),
			    scopes[scope]);
			assert_string_equal(
			    refusal.amount, budget_limits_amount_text(
						(enum budget_amount)amount));
			assert_int_equal(
			    refusal.limit, limits.values[scope][amount]);
			assert_int_equal(refusal.used, refusal.limit);
			assert_int_equal(refusal.retry_after_s,
			    scope == BUDGET_RUN ? 0 : 43200);
			budget_run_free(&run);
		}
}

/* Settling gives back what was not used, exactly. */
static void
test_budget_settles_exactly(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_refusal refusal;
	struct budget_run *run;

	limits.values[BUDGET_HOST_DAY][BUDGET_TOKENS] = 1000;
	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 7,
		budget_case_amounts(1, 10, 10, 1000, 9), &refusal),
	    RESULT_OK);
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 8,
		budget_case_amounts(1, 0, 0, 1, 0), &refusal),
	    RESULT_REFUSED);
	assert_int_equal(refusal.used, 1000);
	assert_int_equal(budget_case_settle(test->budget, run, 7,
			     budget_case_amounts(1, 10, 4, 250, 3)),
	    RESULT_OK);
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 8,
		budget_case_amounts(1, 0, 0, 751, 0), &refusal),
	    RESULT_REFUSED);
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 8,
		budget_case_amounts(1, 0, 0, 750, 0), &refusal),
	    RESULT_OK);
	/* More than was reserved is charged too, and nothing passes then. */
	assert_int_equal(budget_case_settle(test->budget, run, 8,
			     budget_case_amounts(1, 0, 0, 9000, 0)),
	    RESULT_OK);
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 9,
		budget_case_amounts(1, 0, 0, 1, 0), &refusal),
	    RESULT_REFUSED);
	assert_int_equal(refusal.used, 9250);
	/* What needs none of it still does. */
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 9,
		budget_case_amounts(1, 0, 0, 0, 0), &refusal),
	    RESULT_OK);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT sum(calls) FROM usage"), 2);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT sum(tokens) FROM usage"),
	    9250);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT open FROM run"), 1);
	budget_run_free(&run);
}

static void
test_budget_wrong_calls(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 1, 1, 1, 1);
	struct budget_refusal refusal;
	struct budget_run *run, *other;

	run = budget_case_run(test->budget, "r", "agent", &limits);
	other = budget_case_run(test->budget, "o", "agent", &limits);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_EXISTS);
	/* Another run's numbers are another's. */
	assert_int_equal(
	    budget_case_settle(test->budget, other, 1, some), RESULT_NOT_FOUND);
	assert_int_equal(
	    budget_case_settle(test->budget, run, 2, some), RESULT_NOT_FOUND);
	assert_int_equal(
	    budget_case_settle(test->budget, run, 1, some), RESULT_OK);
	assert_int_equal(
	    budget_case_settle(test->budget, run, 1, some), RESULT_NOT_FOUND);
	assert_int_equal(budget_case_ask(test->budget,
			     "SELECT requests FROM charged WHERE package = ''"),
	    1);
	budget_run_free(&run);
	budget_run_free(&other);
}

/* Where money is limited a call without a price is refused; elsewhere it
 * is counted as one without. What is known to cost nothing passes. */
static void
test_budget_prices(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some =
	    budget_case_amounts(1, 1, 1, 1, BUDGET_UNKNOWN_COST);
	struct budget_refusal refusal;
	struct budget_run *run, *other;

	limits.values[BUDGET_HOST_DAY][BUDGET_COST] = 0;
	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_REFUSED);
	assert_string_equal(refusal.amount, "price");
	assert_int_equal(refusal.retry_after_s, 0);
	some.values[BUDGET_COST] = 0;
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	limits = budget_case_no_limits();
	other = budget_case_run(test->budget, "o", "agent", &limits);
	some.values[BUDGET_COST] = BUDGET_UNKNOWN_COST;
	assert_int_equal(budget_case_reserve_at(test->budget, other,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	assert_int_equal(
	    budget_case_settle(test->budget, other, 1, some), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT unpriced FROM usage"), 1);
	/* Reserved with a price, settled without: the price stays. */
	some.values[BUDGET_COST] = 40;
	assert_int_equal(budget_case_reserve_at(test->budget, other,
			     BUDGET_CASE_NOON, 2, some, &refusal),
	    RESULT_OK);
	some.values[BUDGET_COST] = BUDGET_UNKNOWN_COST;
	assert_int_equal(
	    budget_case_settle(test->budget, other, 2, some), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT sum(cost) FROM usage"), 40);
	budget_run_free(&run);
	budget_run_free(&other);
}

static void
test_budget_concurrent(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 0, 0, 0, 0);
	struct budget_refusal refusal;
	struct budget_run *run, *other;
	unsigned scope;

	run = budget_case_run(test->budget, "0", "agent", &limits);
	limits.concurrent[BUDGET_RUN] = 3;
	limits.concurrent[BUDGET_AGENT_DAY] = 2;
	limits.concurrent[BUDGET_HOST_DAY] = 2;
	for (scope = BUDGET_RUN; scope < BUDGET_SCOPE_COUNT; scope++) {
		limits.concurrent[BUDGET_RUN] = scope == BUDGET_RUN ? 1 : 9;
		other = budget_case_run(test->budget, "1",
		    scope == BUDGET_HOST_DAY ? "another" : "agent", &limits);
		if (scope != BUDGET_RUN) /* somebody else's */
			assert_int_equal(
			    budget_case_reserve_at(test->budget, run,
				BUDGET_CASE_NOON, scope, some, &refusal),
			    RESULT_OK);
		assert_int_equal(budget_case_reserve_at(test->budget, other,
				     BUDGET_CASE_NOON, 1, some, &refusal),
		    scope == BUDGET_HOST_DAY ? RESULT_REFUSED : RESULT_OK);
		if (scope != BUDGET_HOST_DAY)
			assert_int_equal(
			    budget_case_reserve_at(test->budget, other,
				BUDGET_CASE_NOON, 2, some, &refusal),
			    RESULT_REFUSED);
		assert_int_equal(refusal.scope, scope);
		assert_string_equal(refusal.amount, "concurrent");
		assert_int_equal(refusal.retry_after_s, 1);
		if (scope != BUDGET_HOST_DAY)
			assert_int_equal(
			    budget_case_settle(test->budget, other, 1, some),
			    RESULT_OK);
		assert_int_equal(
		    budget_begin(test->budget, BUDGET_CASE_NOON), RESULT_OK);
		assert_int_equal(
		    budget_run_close(test->budget, other), RESULT_OK);
		assert_int_equal(budget_commit(test->budget), RESULT_OK);
		budget_run_free(&other);
	}
	budget_run_free(&run);
}

/* Midnight, UTC, gives a new day; a call that began before it is settled in
 * its own; a run's budget knows no days. */
static void
test_budget_midnight(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 0, 0, 10, 0);
	int64_t before = (BUDGET_CASE_NOON / 86400 + 1) * 86400 - 1;
	struct budget_refusal refusal;
	struct budget_run *run;

	limits.values[BUDGET_AGENT_DAY][BUDGET_REQUESTS] = 2;
	limits.values[BUDGET_RUN][BUDGET_REQUESTS] = 4;
	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(budget_case_reserve_at(
			     test->budget, run, before, 1, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(
			     test->budget, run, before, 2, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(
			     test->budget, run, before, 3, some, &refusal),
	    RESULT_REFUSED);
	assert_int_equal(refusal.scope, BUDGET_AGENT_DAY);
	assert_int_equal(refusal.retry_after_s, 1);
	assert_int_equal(budget_case_reserve_at(
			     test->budget, run, before + 1, 3, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(
			     test->budget, run, before + 1, 4, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(
			     test->budget, run, before + 1, 5, some, &refusal),
	    RESULT_REFUSED);
	assert_int_equal(refusal.scope, BUDGET_RUN);
	assert_int_equal(refusal.retry_after_s, 0);
	some.values[BUDGET_TOKENS] = 3;
	assert_int_equal(
	    budget_case_settle(test->budget, run, 1, some), RESULT_OK);
	assert_int_equal(budget_case_ask(test->budget,
			     "SELECT tokens FROM charged WHERE package = ''"
			     " AND day = 20000"),
	    13);
	assert_int_equal(budget_case_ask(test->budget,
			     "SELECT tokens FROM charged WHERE package = ''"
			     " AND day = 20001"),
	    20);
	budget_run_free(&run);
}

/* The day helps nothing when the call alone is too large. */
static void
test_budget_too_large_alone(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_refusal refusal;
	struct budget_run *run;

	limits.values[BUDGET_HOST_DAY][BUDGET_TOKENS] = 100;
	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(
	    budget_case_reserve_at(test->budget, run, BUDGET_CASE_NOON, 1,
		budget_case_amounts(1, 0, 0, 101, 0), &refusal),
	    RESULT_REFUSED);
	assert_int_equal(refusal.retry_after_s, 0);
	budget_run_free(&run);
}

/* Sums stay whole numbers at the very end of what may be said. */
static void
test_budget_overflow(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts most = budget_case_amounts(1, BUDGET_AMOUNT_MAX,
	    BUDGET_AMOUNT_MAX, BUDGET_AMOUNT_MAX, BUDGET_AMOUNT_MAX);
	struct budget_refusal refusal;
	struct budget_run *run;
	sqlite3 *other = NULL;
	char path[128];

	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(
	    sqlite3_exec(budget_handle_borrow(test->budget),
		"INSERT INTO charged VALUES(20000, '', 0, 9223372036854775807,"
		" 4611686018427387904, 4611686018427387903, 0);"
		"INSERT INTO usage VALUES(20000, 'agent', 'openai',"
		" 'gpt-4o-mini', 1, 1, 0, 0, 1, 0, 0, 3999999999999999999, 0)",
		NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, most, &refusal),
	    RESULT_OK);
	assert_int_equal(
	    budget_case_settle(test->budget, run, 1, most), RESULT_OK);
	assert_int_equal(
	    budget_case_ask(test->budget,
		"SELECT input_chars FROM charged WHERE package = ''"),
	    INT64_MAX);
	assert_int_equal(budget_case_ask(test->budget,
			     "SELECT tokens FROM charged WHERE package = ''"),
	    INT64_MAX / 2 + BUDGET_AMOUNT_MAX);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT tokens FROM usage"),
	    INT64_C(4000000000000000000));
	assert_int_equal(
	    budget_case_ask(test->budget,
		"SELECT count(*) FROM charged WHERE typeof(tokens) !="
		" 'integer' OR typeof(input_chars) != 'integer'"),
	    0);
	/* A sum below nothing was not written by us. */
	(void)snprintf(path, sizeof(path), "%s/%s", test->path, BUDGET_FILE);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "UPDATE charged SET tokens = -1",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	(void)sqlite3_close(other);
	assert_int_equal(budget_begin(test->budget, BUDGET_CASE_NOON), 0);
	most.values[BUDGET_TOKENS] = 1;
	assert_int_equal(
	    budget_one_reserve(test->budget, run, 2, "p", "m", &most, &refusal),
	    RESULT_MISMATCH);
	budget_abort(test->budget);
	budget_run_free(&run);
}

/* A batch that is not committed has not happened, in the file and in
 * memory: calls that it reserved, settled or both. */
static void
test_budget_abort(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_amounts some = budget_case_amounts(1, 1, 1, 1, 1);
	struct budget_refusal refusal;
	struct budget_run *run;
	int i;

	limits.values[BUDGET_RUN][BUDGET_REQUESTS] = 2;
	limits.values[BUDGET_HOST_DAY][BUDGET_REQUESTS] = 2;
	run = budget_case_run(test->budget, "r", "agent", &limits);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 1, some, &refusal),
	    RESULT_OK);
	for (i = 0; i < 3; i++) {
		assert_int_equal(
		    budget_begin(test->budget, BUDGET_CASE_NOON), RESULT_OK);
		assert_int_equal(
		    budget_one_settle(test->budget, run, 1, &some, true, false),
		    RESULT_OK);
		assert_int_equal(budget_one_reserve(test->budget, run, 1, "p",
				     "m", &some, &refusal),
		    RESULT_OK);
		assert_int_equal(budget_one_reserve(test->budget, run, 2, "p",
				     "m", &some, &refusal),
		    RESULT_REFUSED);
		assert_int_equal(
		    budget_one_settle(test->budget, run, 1, &some, true, false),
		    RESULT_OK);
		if (i == 2)
			assert_int_equal(
			    budget_run_close(test->budget, run), RESULT_OK);
		budget_abort(test->budget);
	}
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT open FROM run"), 1);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT count(*) FROM usage"), 0);
	assert_int_equal(budget_case_ask(test->budget,
			     "SELECT requests FROM charged WHERE package = ''"),
	    1);
	/* One more fits, as before; the first can be settled, once. */
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 2, some, &refusal),
	    RESULT_OK);
	assert_int_equal(budget_case_reserve_at(test->budget, run,
			     BUDGET_CASE_NOON, 3, some, &refusal),
	    RESULT_REFUSED);
	assert_int_equal(
	    budget_case_settle(test->budget, run, 1, some), RESULT_OK);
	assert_int_equal(
	    budget_case_settle(test->budget, run, 1, some), RESULT_NOT_FOUND);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT open FROM run"), 1);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT calls FROM usage"), 1);
	budget_run_free(&run);
}

int
main(void)
{
#define ROW(name)                        \
	cmocka_unit_test_setup_teardown( \
	    test_budget_##name, budget_case_setup, budget_case_teardown)
	const struct CMUnitTest tests[] = {
	    ROW(every_limit),
	    ROW(settles_exactly),
	    ROW(wrong_calls),
	    ROW(prices),
	    ROW(concurrent),
	    ROW(midnight),
	    ROW(too_large_alone),
	    ROW(overflow),
	    ROW(abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
