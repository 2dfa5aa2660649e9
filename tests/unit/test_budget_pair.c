/* SPDX-License-Identifier: Apache-2.0 */
/* A budget pair where the kernel has no memory for what is sent: it waits
 * without turning, loses nothing of what was put, and ends nothing. */
#include "supervisor/ledger/budget_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "tests/support/no_memory.h"

#define TEST_BUDGET_PAIR_TURNS 6 /* of 10 ms each */

static unsigned test_budget_pair_ends;

static void
test_budget_pair_on_record(const void *record, void *context)
{
	(void)record;
	(void)context;
}

static void
test_budget_pair_on_pause(void *context)
{
	(void)context;
}

static void
test_budget_pair_on_end(enum result why, const char *detail, void *context)
{
	(void)why;
	(void)detail;
	(void)context;
	test_budget_pair_ends++;
}

/* 0: it waited. */
static int
test_budget_pair_short(int fd)
{
	static const struct budget_pair_handlers handlers = {
	    test_budget_pair_on_record, test_budget_pair_on_pause,
	    test_budget_pair_on_end};
	static const struct budget_pair_sizes sizes = {8, 8};
	const uint64_t record = 7;
	struct event_base *base;
	struct budget_pair *pair;
	uint64_t began = event_loop_now_ms();

	if (event_loop_new(&base) != RESULT_OK ||
	    budget_pair_new(base, fd, &sizes, &handlers, NULL, &pair) !=
		RESULT_OK ||
	    !no_memory_to_send(fd))
		return 1;
	if (budget_pair_put(pair, &record) != RESULT_OK ||
	    budget_pair_flush(pair) != RESULT_OK)
		return 2;
	for (unsigned i = 0; i < TEST_BUDGET_PAIR_TURNS; i++)
		(void)event_base_loop(base, EVLOOP_ONCE);
	return test_budget_pair_ends == 0 && event_loop_now_ms() - began >= 40
		   ? 0
		   : 3;
}

static void
test_budget_pair_no_memory(void **state)
{
	int pair[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(test_budget_pair_short(pair[1]));
	fd_close(&pair[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fd_close(&pair[0]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_budget_pair_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
