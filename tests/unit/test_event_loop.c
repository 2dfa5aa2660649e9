/* SPDX-License-Identifier: Apache-2.0 */
/* common/event_loop: epoll, stop, EPIPE and EFBIG instead of a signal. */
#include "common/event_loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/ipc.h"

static void
test_event_loop_stop(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	event_loop_stop(context);
}

static void
test_event_loop_runs_and_stops(void **state)
{
	struct event_base *base;
	struct event *timer;
	struct timeval delay = event_loop_timeval(20);
	uint64_t start = event_loop_now_ms();

	(void)state;
	setenv("EVENT_NOEPOLL", "1", 1); /* must not steer us */
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	assert_string_equal(event_base_get_method(base), "epoll");
	timer = event_new(base, -1, 0, test_event_loop_stop, base);
	event_add(timer, &delay);
	assert_int_equal(event_loop_run(base), RESULT_OK);
	assert_in_range(event_loop_now_ms() - start, 15, 5000);
	event_free(timer);
	event_base_free(base);
}

static void
test_event_loop_no_sigpipe(void **state)
{
	struct event_base *base;
	int fds[2];

	(void)state;
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(write(fds[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(fds[1]);
	event_base_free(base);
}

static void
test_event_loop_no_sigxfsz(void **state)
{
	char path[] = "/tmp/agentnode-event-loop-XXXXXX";
	int status, file = mkstemp(path);
	pid_t child = fork();

	(void)state;
	(void)unlink(path);
	if (child == 0) {
		const struct rlimit none = {0, 0};
		struct event_base *base;

		if (event_loop_new(&base) != RESULT_OK ||
		    setrlimit(RLIMIT_FSIZE, &none) != 0)
			_exit(1);
		_exit(write(file, "x", 1) == -1 && errno == EFBIG ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(file);
}

struct test_event_loop_reuse {
	struct event_base *base;
	struct event *event;
	int fds[2];
	unsigned turns;
};

/* Each time the descriptor is closed and its number used again at once, as
 * a busy proxy does; the new one must be watched like the old one. */
static void
test_event_loop_reuse(evutil_socket_t fd, short what, void *context)
{
	struct test_event_loop_reuse *test = context;

	if (!(what & EV_READ))
		return;
	event_free(test->event);
	close(test->fds[0]);
	close(test->fds[1]);
	if (++test->turns == 100) {
		event_loop_stop(test->base);
		return;
	}
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, test->fds), 0);
	assert_int_equal(test->fds[0], fd);
	assert_int_equal(write(test->fds[1], "x", 1), 1);
	test->event = event_new(test->base, test->fds[0],
	    EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
	    test_event_loop_reuse, test);
	event_add(test->event, NULL);
}

static void
test_event_loop_batched_reuse(void **state)
{
	struct test_event_loop_reuse test = {0};

	(void)state;
	assert_int_equal(event_loop_new_batched(&test.base), RESULT_OK);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, test.fds), 0);
	assert_int_equal(write(test.fds[1], "x", 1), 1);
	test.event = event_new(test.base, test.fds[0],
	    EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
	    test_event_loop_reuse, &test);
	event_add(test.event, NULL);
	alarm(20);
	assert_int_equal(event_loop_run(test.base), RESULT_OK);
	alarm(0);
	assert_int_equal(test.turns, 100);
	event_base_free(test.base);
}

/* A batch that the kernel does not take (nobody can wait for a file): the
 * process ends, it does not wait for what never comes. */
static void
test_event_loop_batched_lost(void **state)
{
	char path[] = "/tmp/agentnode-event-loop-XXXXXX";
	int status, file = mkstemp(path);
	pid_t child = fork();

	(void)state;
	(void)unlink(path);
	if (child == 0) {
		struct event_base *base;

		(void)alarm(20);
		if (event_loop_new_batched(&base) == RESULT_OK &&
		    event_add(event_new(base, file, EV_READ | EV_PERSIST,
				  test_event_loop_stop, base),
			NULL) == 0)
			(void)event_loop_run(base);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), IPC_EXIT_CRASH);
	close(file);
}

static void
test_event_loop_timeval(void **state)
{
	struct timeval value = event_loop_timeval(61234);

	(void)state;
	assert_int_equal(value.tv_sec, 61);
	assert_int_equal(value.tv_usec, 234000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_event_loop_runs_and_stops),
	    cmocka_unit_test(test_event_loop_no_sigpipe),
	    cmocka_unit_test(test_event_loop_no_sigxfsz),
	    cmocka_unit_test(test_event_loop_batched_reuse),
	    cmocka_unit_test(test_event_loop_batched_lost),
	    cmocka_unit_test(test_event_loop_timeval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
