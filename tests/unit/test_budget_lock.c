/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock of usage.db that the kernel does not take back: it is noticed, and
 * another connection goes on at once, with all that was committed and with
 * its runs alive. Each release of a transaction is failed in its turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>

#include "common/event_loop.h"
#include "supervisor/ledger/budget_lock.h"
#include "tests/support/budget_case.h"
#include "tests/support/budget_one.h"

#define TEST_BUDGET_LOCK_MOST 64 /* releases of one transaction, and more */
#define TEST_BUDGET_LOCK_MS 2000 /* waiting for itself takes ten seconds */

static int test_budget_lock_left; /* releases until one fails; 0: none */

static int
test_budget_lock_fcntl(int fd, int operation, ...)
{
	va_list list;
	void *argument;

	va_start(list, operation);
	argument = va_arg(list, void *);
	va_end(list);
	if (operation == F_SETLK &&
	    ((struct flock *)argument)->l_type == F_UNLCK &&
	    test_budget_lock_left > 0 && --test_budget_lock_left == 0) {
		errno = ENOMEM;
		return -1;
	}
	return fcntl(fd, operation, argument);
}

static int
test_budget_lock_setup(void **state)
{
	sqlite3_vfs *vfs;

	if (budget_case_setup(state) != 0)
		return -1;
	vfs = sqlite3_vfs_find("unix");
	return vfs->xSetSystemCall(vfs, "fcntl",
		   (sqlite3_syscall_ptr)test_budget_lock_fcntl) == SQLITE_OK
		   ? 0
		   : -1;
}

/* RESULT_SYSTEM: it could not be begun. */
static enum result
test_budget_lock_reserve(
    struct budget *budget, struct budget_run *run, int64_t call)
{
	const struct budget_amounts most =
	    budget_case_amounts(1, 10, 10, 20, 0);
	struct budget_refusal refusal;
	enum result result = budget_begin(budget, BUDGET_CASE_NOON);

	if (result == RESULT_OK)
		result = budget_one_reserve(
		    budget, run, call, "p", "m", &most, &refusal);
	if (result == RESULT_OK)
		result = budget_commit(budget);
	else
		budget_abort(budget);
	return result;
}

static void
test_budget_lock_each(void **state)
{
	struct budget_case *test = *state;
	struct budget_limits limits = budget_case_no_limits();
	struct budget_run *run =
	    budget_case_run(test->budget, "a", "one", &limits);
	struct json_fault fault = {""};
	int64_t calls = 0;
	unsigned at;

	for (at = 1; at < TEST_BUDGET_LOCK_MOST; at++) {
		uint64_t start = event_loop_now_ms();
		enum result result;

		test_budget_lock_left = (int)at;
		result = test_budget_lock_reserve(test->budget, run, ++calls);
		if (test_budget_lock_left > 0)
			break; /* there are no more of them */
		assert_true(result == RESULT_OK || result == RESULT_SYSTEM);
		assert_int_equal(budget_lock_losses(), at);
		/* It holds what it let go of, and says so at once. */
		assert_int_equal(
		    test_budget_lock_reserve(test->budget, run, calls + 1),
		    RESULT_SYSTEM);
		assert_int_equal(
		    budget_renew(test->budget, test->dir_fd, &fault),
		    RESULT_OK);
		calls += result == RESULT_OK;
		assert_int_equal(
		    test_budget_lock_reserve(test->budget, run, calls),
		    RESULT_OK);
		assert_true(event_loop_now_ms() - start < TEST_BUDGET_LOCK_MS);
	}
	test_budget_lock_left = 0;
	assert_in_range(at, 2, TEST_BUDGET_LOCK_MOST - 1);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT count(*) FROM call"), calls);
	assert_int_equal(
	    budget_case_ask(test->budget, "SELECT open FROM run"), calls);
	budget_run_free(&run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_budget_lock_each,
		test_budget_lock_setup, budget_case_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
