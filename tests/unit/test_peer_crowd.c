/* SPDX-License-Identifier: Apache-2.0 */
/* common/peer where as many descriptors of one user are under way as its
 * limit allows, or memory is short: what it sends waits without turning,
 * arrives, and ends nothing. */
#include "common/peer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "tests/support/no_memory.h"

struct test_peer_crowd {
	struct event_base *base;
	struct peer *peer;
	int other; /* the other end, raw and non-blocking */
	unsigned ends;
};

static void
test_peer_crowd_on_message(struct ipc_message *message, void *context)
{
	(void)message;
	((struct test_peer_crowd *)context)->ends++; /* none is sent */
}

static void
test_peer_crowd_on_end(enum result why, const char *detail, void *context)
{
	(void)why;
	(void)detail;
	((struct test_peer_crowd *)context)->ends++;
}

/* As many descriptors under way as the limit of open files allows. */
static bool
test_peer_crowd_fill(int socket)
{
	unsigned count = 0;

	while (
	    count < 64 && fd_send(socket, "x", 1, (int[]){0}, 1) == RESULT_OK)
		count++;
	return count < 64 && errno == ETOOMANYREFS;
}

static bool
test_peer_crowd_disperse(int socket)
{
	char byte;
	int fd;
	size_t len, count;
	enum result result;

	while ((result = fd_receive(socket, &byte, 1, &len, &fd, 1, &count)) ==
	       RESULT_OK)
		fd_close(&fd);
	return result == RESULT_NEED_MORE;
}

/* In a process of a user of its own, so that nobody else's count. 0: as it
 * should be; else the step that was not. */
static int
test_peer_crowd_inside(struct test_peer_crowd *test, const int crowd[2])
{
	static const struct rlimit few = {24, 24};
	uint64_t began = event_loop_now_ms();
	char bytes[IPC_MESSAGE_MAX];
	struct ipc_message message;
	int fds[1];
	size_t len, count = 0;

	if ((geteuid() == 0 && setresuid(65500, 65500, 65500) != 0) ||
	    setrlimit(RLIMIT_NOFILE, &few) != 0 ||
	    !test_peer_crowd_fill(crowd[0]))
		return 1;
	ipc_message_init(&message, IPC_LOG_REPLACE, 0);
	message.fds[0] = 0;
	message.fd_count = 1;
	if (peer_send(test->peer, &message) != RESULT_OK)
		return 2;
	/* It waits, and does not turn meanwhile: the first is the attempt. */
	for (unsigned i = 0; i < 6; i++)
		(void)event_base_loop(test->base, EVLOOP_ONCE);
	if (test->ends != 0 || event_loop_now_ms() - began < 40)
		return 3;
	if (fd_receive(test->other, bytes, sizeof(bytes), &len, fds, 1,
		&count) != RESULT_NEED_MORE ||
	    !test_peer_crowd_disperse(crowd[1]))
		return 4;
	(void)event_base_loop(test->base, EVLOOP_ONCE);
	return fd_receive(test->other, bytes, sizeof(bytes), &len, fds, 1,
		   &count) == RESULT_OK &&
		       count == 1 && test->ends == 0
		   ? 0
		   : 5;
}

/* Descriptors that others have under way are no end of ours. */
static void
test_peer_crowd_waits(void **state)
{
	static const struct peer_handlers handlers = {
	    test_peer_crowd_on_message, test_peer_crowd_on_end};
	struct test_peer_crowd test = {.other = -1};
	int pair[2], crowd[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(fd_socketpair(crowd), RESULT_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		test.other = pair[0];
		if (fd_set_nonblocking(pair[0], true) != RESULT_OK ||
		    fd_set_nonblocking(crowd[0], true) != RESULT_OK ||
		    fd_set_nonblocking(crowd[1], true) != RESULT_OK ||
		    event_loop_new(&test.base) != RESULT_OK ||
		    peer_new(test.base, pair[1], IPC_SUPERVISOR, IPC_PROXY,
			&handlers, &test, &test.peer) != RESULT_OK)
			_exit(9);
		peer_set_state(test.peer, IPC_RUNNING);
		_exit(test_peer_crowd_inside(&test, crowd));
	}
	for (size_t i = 0; i < 2; i++) {
		fd_close(&pair[i]);
		fd_close(&crowd[i]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
test_peer_crowd_short(struct test_peer_crowd *test, int fd)
{
	uint64_t began = event_loop_now_ms();
	struct ipc_message message;

	ipc_message_init(&message, IPC_LOG_REPLACE, 0);
	message.fds[0] = 0;
	message.fd_count = 1;
	if (!no_memory_to_send(fd))
		return 1;
	if (peer_send(test->peer, &message) != RESULT_OK)
		return 2;
	for (unsigned i = 0; i < 6; i++)
		(void)event_base_loop(test->base, EVLOOP_ONCE);
	return test->ends == 0 && event_loop_now_ms() - began >= 40 ? 0 : 3;
}

/* Nor is memory that is short for a moment. */
static void
test_peer_crowd_memory(void **state)
{
	static const struct peer_handlers handlers = {
	    test_peer_crowd_on_message, test_peer_crowd_on_end};
	struct test_peer_crowd test = {.other = -1};
	int pair[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (event_loop_new(&test.base) != RESULT_OK ||
		    peer_new(test.base, pair[1], IPC_SUPERVISOR, IPC_PROXY,
			&handlers, &test, &test.peer) != RESULT_OK)
			_exit(9);
		peer_set_state(test.peer, IPC_RUNNING);
		_exit(test_peer_crowd_short(&test, pair[1]));
	}
	for (size_t i = 0; i < 2; i++)
		fd_close(&pair[i]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_peer_crowd_waits),
	    cmocka_unit_test(test_peer_crowd_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
