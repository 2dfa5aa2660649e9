/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor/end_signals: each that would end a process is an event instead. */
#include "supervisor/end_signals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"

/* By their default these end a process, can be caught, and tell nothing of a
 * fault of its own. */
static const int test_end_signals_all[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM,
    SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU};
#define TEST_END_SIGNALS_ALL \
	(sizeof(test_end_signals_all) / sizeof(test_end_signals_all[0]))

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
	for (size_t i = 0; i < TEST_END_SIGNALS_ALL; i++) {
		test_end_signals_last = 0;
		assert_int_equal(kill(getpid(), test_end_signals_all[i]), 0);
		assert_int_equal(event_loop_run(base), RESULT_OK);
		assert_int_equal(
		    test_end_signals_last, test_end_signals_all[i]);
	}
	end_signals_free(&signals);
	end_signals_free(&signals);
	event_base_free(base);
}

static void
test_end_signals_default_back(void **state)
{
	struct end_signals signals;
	struct event_base *base;
	struct sigaction action;

	(void)state;
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	assert_int_equal(
	    end_signals_new(&signals, base, test_end_signals_came, base),
	    RESULT_OK);
	end_signals_free(&signals);
	for (size_t i = 0; i < TEST_END_SIGNALS_ALL; i++) {
		assert_int_equal(
		    sigaction(test_end_signals_all[i], NULL, &action), 0);
		assert_ptr_equal(action.sa_handler, SIG_DFL);
	}
	event_base_free(base);
}

static void
test_end_signals_same_mask(void **state)
{
	sigset_t set;

	(void)state;
	end_signals_mask(&set);
	for (size_t i = 0; i < TEST_END_SIGNALS_ALL; i++) {
		assert_int_equal(sigismember(&set, test_end_signals_all[i]), 1);
		(void)sigdelset(&set, test_end_signals_all[i]);
	}
	assert_int_equal(sigisemptyset(&set), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_end_signals_each),
	    cmocka_unit_test(test_end_signals_default_back),
	    cmocka_unit_test(test_end_signals_same_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
