/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init is told where as many descriptors of one user are under way as
 * its limit allows: it waits, in order, and ends nothing. In a process of a
 * user of its own, so that nobody else's count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/engine/wiring_way.h"

#define TEST_WIRING_CROWD_USER 65502
#define TEST_WIRING_CROWD_FILES 32

struct test_wiring_crowd {
	struct event_base *base;
	struct wiring wiring;
	int init; /* the other end of control */
	int crowd[2];
	unsigned ends;
};

static void
test_wiring_crowd_on_end(enum result why, const char *detail, void *context)
{
	(void)why;
	(void)detail;
	((struct test_wiring_crowd *)context)->ends++;
}

static bool
test_wiring_crowd_fill(const struct test_wiring_crowd *test)
{
	unsigned count = 0;

	while (count < 2 * TEST_WIRING_CROWD_FILES &&
	       fd_send(test->crowd[0], "x", 1, (int[]){0}, 1) == RESULT_OK)
		count++;
	return count < 2 * TEST_WIRING_CROWD_FILES && errno == ETOOMANYREFS;
}

static void
test_wiring_crowd_disperse(const struct test_wiring_crowd *test)
{
	char byte;
	int fd;
	size_t len, count;

	while (fd_receive(test->crowd[1], &byte, 1, &len, &fd, 1, &count) ==
	       RESULT_OK)
		fd_close(&fd);
}

/* The type of the next record and how many descriptors came; 0: none. */
static uint32_t
test_wiring_crowd_hear(const struct test_wiring_crowd *test, size_t *count_r)
{
	union {
		struct init_record record;
		struct init_tree tree;
	} got;
	int fds[3] = {-1, -1, -1};
	size_t len;

	if (fd_receive(test->init, &got, sizeof(got), &len, fds, 3, count_r) !=
	    RESULT_OK)
		return 0;
	for (size_t i = 0; i < 3; i++)
		fd_close(&fds[i]);
	return got.record.type;
}

static bool
test_wiring_crowd_open(struct test_wiring_crowd *test)
{
	int pair[2];

	if (event_loop_new(&test->base) != RESULT_OK ||
	    fd_socketpair(pair) != RESULT_OK ||
	    fd_socketpair(test->crowd) != RESULT_OK)
		return false;
	test->init = pair[1];
	test->wiring = (struct wiring){.base = test->base,
	    .control = pair[0],
	    .handlers = {.on_end = test_wiring_crowd_on_end},
	    .context = test};
	return fd_set_nonblocking(pair[0], true) == RESULT_OK &&
	       fd_set_nonblocking(pair[1], true) == RESULT_OK &&
	       fd_set_nonblocking(test->crowd[0], true) == RESULT_OK &&
	       fd_set_nonblocking(test->crowd[1], true) == RESULT_OK;
}

/* 0: as it should be; else the step that was not. */
static int
test_wiring_crowd_inside(struct test_wiring_crowd *test)
{
	static const struct rlimit few = {
	    TEST_WIRING_CROWD_FILES, TEST_WIRING_CROWD_FILES};
	static const struct wiring_tree tree = {
	    .type = INIT_EXPORT, .path = "/state"};
	uint64_t began = event_loop_now_ms();
	size_t count = 0;

	if ((geteuid() == 0 &&
		setresuid(TEST_WIRING_CROWD_USER, TEST_WIRING_CROWD_USER,
		    TEST_WIRING_CROWD_USER) != 0) ||
	    setrlimit(RLIMIT_NOFILE, &few) != 0 ||
	    !test_wiring_crowd_open(test) || !test_wiring_crowd_fill(test))
		return 1;
	if (wiring_send_streams(&test->wiring, (int[]){0, 0, 0}) != RESULT_OK ||
	    wiring_send_tree(&test->wiring, &tree, 0) != RESULT_OK ||
	    wiring_send_go(&test->wiring, 0, -1) != RESULT_OK ||
	    wiring_send_kill(&test->wiring) != RESULT_OK)
		return 2;
	/* It does not turn meanwhile. */
	for (unsigned i = 0; i < 6; i++)
		(void)event_base_loop(test->base, EVLOOP_ONCE);
	if (test->ends != 0 || event_loop_now_ms() - began < 40 ||
	    test_wiring_crowd_hear(test, &count) != 0)
		return 3;
	test_wiring_crowd_disperse(test);
	(void)event_base_loop(test->base, EVLOOP_ONCE);
	if (test_wiring_crowd_hear(test, &count) != INIT_STREAMS ||
	    count != 3 || test_wiring_crowd_hear(test, &count) != INIT_EXPORT ||
	    count != 1 || test_wiring_crowd_hear(test, &count) != INIT_GO ||
	    count != 1 || test_wiring_crowd_hear(test, &count) != INIT_KILL ||
	    count != 0 || test->ends != 0)
		return 4;
	if (!test_wiring_crowd_fill(test) ||
	    wiring_send_go(&test->wiring, 0, -1) != RESULT_OK)
		return 5;
	fd_close(&test->init);
	(void)event_base_loop(test->base, EVLOOP_ONCE);
	return test->ends == 1 && test->wiring.unsent == NULL ? 0 : 6;
}

static void
test_wiring_crowd_waits(void **state)
{
	static struct test_wiring_crowd test;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(test_wiring_crowd_inside(&test));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_wiring_crowd_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
