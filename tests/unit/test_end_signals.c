/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor/end_signals: each that would end a process is an event instead. */
#include "supervisor/end_signals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"

/* Of the standard ones by signal(7) all but these. */
static bool
test_end_signals_is_other(int number)
{
	static const int others[] = {SIGKILL, SIGSTOP, /* cannot be caught */
	    SIGCHLD, SIGCONT, SIGURG, SIGWINCH,        /* end nothing */
	    SIGTSTP, SIGTTIN, SIGTTOU,                 /* stop */
	    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, /* faults */
	    SIGSYS, SIGPIPE, SIGXFSZ}; /* the last two: event_loop.h */

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (others[i] == number)
			return true;
	}
	return false;
}

static int test_end_signals_last;

static void
test_end_signals_came(evutil_socket_t number, short what, void *context)
{
	(void)what;
	test_end_signals_last = (int)number;
	event_loop_stop(context);
}

static void
test_end_signals_each(void **state)
{
	struct end_signals signals;
	struct event_base *base;

	(void)state;
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	assert_int_equal(
	    end_signals_new(&signals, base, test_end_signals_came, base),
	    RESULT_OK);
	for (int number = 1; number < 32; number++) {
		if (test_end_signals_is_other(number))
			continue;
		test_end_signals_last = 0;
		assert_int_equal(kill(getpid(), number), 0);
		assert_int_equal(event_loop_run(base), RESULT_OK);
		assert_int_equal(test_end_signals_last, number);
	}
	end_signals_free(&signals);
	end_signals_free(&signals);
	event_base_free(base);
}

/* Each is what it was: a shell ignores some of what runs in its background. */
static void
test_end_signals_given_back(void **state)
{
	struct end_signals signals;
	struct event_base *base;
	struct sigaction before[32], after;

	(void)state;
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	for (int number = 1; number < 32; number++)
		assert_int_equal(sigaction(number, NULL, &before[number]), 0);
	assert_int_equal(
	    end_signals_new(&signals, base, test_end_signals_came, base),
	    RESULT_OK);
	end_signals_free(&signals);
	for (int number = 1; number < 32; number++) {
		assert_int_equal(sigaction(number, NULL, &after), 0);
		assert_ptr_equal(after.sa_handler, before[number].sa_handler);
	}
	event_base_free(base);
}

static void
test_end_signals_same_mask(void **state)
{
	sigset_t set;

	(void)state;
	end_signals_mask(&set);
	for (int number = 1; number < 65; number++)
		assert_int_equal(sigismember(&set, number) == 1,
		    number < 32 && !test_end_signals_is_other(number));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_end_signals_each),
	    cmocka_unit_test(test_end_signals_given_back),
	    cmocka_unit_test(test_end_signals_same_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
