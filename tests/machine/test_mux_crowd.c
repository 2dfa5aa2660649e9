/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a mux link where as many descriptors of one user are under way
 * as its limit allows: a listener's record and a connection wait, nothing is
 * reset, and both arrive when there is room again. In a process of a user of
 * its own, so that nobody else's count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_bridge.h"

#define TEST_CROWD_USER 65501
#define TEST_CROWD_FILES 64

struct test_mux_crowd {
	struct mux_bridge host, inside;
	int supervisor, init; /* behind either end */
	int crowd[2];
	int listener; /* inside */
	struct sockaddr_in name;
	int served; /* what the supervisor got for it */
};

static uint64_t
test_mux_crowd_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One turn; how long poll might have slept. */
static int
test_mux_crowd_turn_one(struct mux_bridge *bridge)
{
	struct pollfd polls[MUX_BRIDGE_POLLS];
	int timeout;
	unsigned count =
	    mux_bridge_polls(bridge, polls, test_mux_crowd_now(), &timeout);

	(void)poll(polls, count, 0);
	mux_bridge_turn(bridge, polls, count, test_mux_crowd_now());
	return timeout;
}

/* For ms; false: an end is no longer running, or would sleep too long. */
static bool
test_mux_crowd_turn(struct test_mux_crowd *test, uint64_t ms)
{
	uint64_t end = test_mux_crowd_now() + ms;
	int timeout = 0;

	while (test_mux_crowd_now() < end) {
		timeout = test_mux_crowd_turn_one(&test->host);
		(void)test_mux_crowd_turn_one(&test->inside);
	}
	return test->host.state == MUX_BRIDGE_RUNNING &&
	       test->inside.state == MUX_BRIDGE_RUNNING &&
	       (!test->host.crowded || timeout <= MUX_BRIDGE_CROWDED_MS);
}

static bool
test_mux_crowd_fill(const struct test_mux_crowd *test)
{
	unsigned count = 0;

	while (count < 2 * TEST_CROWD_FILES &&
	       fd_send(test->crowd[0], "x", 1, (int[]){0}, 1) == RESULT_OK)
		count++;
	return count < 2 * TEST_CROWD_FILES && errno == ETOOMANYREFS;
}

static void
test_mux_crowd_disperse(const struct test_mux_crowd *test)
{
	char byte;
	int fd;
	size_t len, count;

	while (fd_receive(test->crowd[1], &byte, 1, &len, &fd, 1, &count) ==
	       RESULT_OK)
		fd_close(&fd);
}

/* init tells of a listener. */
static bool
test_mux_crowd_tell(const struct test_mux_crowd *test, uint32_t index)
{
	const struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = INIT_LISTENER,
	    .value = index};

	return fd_send(test->init, &record, sizeof(record), &test->listener,
		   1) == RESULT_OK;
}

/* What the supervisor hears of one: a descriptor, or -1. */
static int
test_mux_crowd_hear(const struct test_mux_crowd *test)
{
	struct init_record record;
	size_t len, count = 0;
	int fd = -1;

	if (fd_receive(test->supervisor, &record, sizeof(record), &len, &fd, 1,
		&count) != RESULT_OK ||
	    count != 1)
		return -1;
	return fd;
}

static bool
test_mux_crowd_open(struct test_mux_crowd *test)
{
	static const int none[3] = {-1, -1, -1};
	int work[3], up[2], down[2], control[2], init[2];
	socklen_t len = sizeof(test->name);

	if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0 ||
	    fd_socketpair(control) != RESULT_OK ||
	    fd_socketpair(init) != RESULT_OK ||
	    fd_socketpair(test->crowd) != RESULT_OK)
		return false;
	test->supervisor = control[0];
	test->init = init[0];
	test->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	test->name = (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	if (bind(test->listener, (struct sockaddr *)&test->name, len) != 0 ||
	    listen(test->listener, 8) != 0 ||
	    getsockname(test->listener, (struct sockaddr *)&test->name, &len) !=
		0)
		return false;
	for (int i = 0; i < 3; i++)
		work[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 2; i++)
		if (fd_set_nonblocking(test->crowd[i], true) != RESULT_OK)
			return false;
	return fd_set_nonblocking(control[0], true) == RESULT_OK &&
	       mux_bridge_init(&test->host, MUX_LINK_HOST, down[0], up[1],
		   control[1], none, test_mux_crowd_now()) &&
	       mux_bridge_init(&test->inside, MUX_LINK_INSIDE, up[0], down[1],
		   init[1], work, test_mux_crowd_now()) &&
	       test_mux_crowd_turn(test, 50);
}

/* A client of the listener; its first byte. */
static int
test_mux_crowd_client(const struct test_mux_crowd *test)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&test->name,
		sizeof(test->name)) != 0 ||
	    write(fd, "a", 1) != 1)
		fd_close(&fd);
	return fd;
}

/* 0: as it should be; else the step that was not. */
static int
test_mux_crowd_inside(struct test_mux_crowd *test)
{
	static const struct rlimit few = {TEST_CROWD_FILES, TEST_CROWD_FILES};
	int client, agent, second;
	char byte = 0;

	if ((geteuid() == 0 && setresuid(TEST_CROWD_USER, TEST_CROWD_USER,
				   TEST_CROWD_USER) != 0) ||
	    setrlimit(RLIMIT_NOFILE, &few) != 0 || !test_mux_crowd_open(test))
		return 1;
	if (!test_mux_crowd_tell(test, 0) || !test_mux_crowd_turn(test, 50) ||
	    (test->served = test_mux_crowd_hear(test)) < 0 ||
	    fd_set_nonblocking(test->served, true) != RESULT_OK)
		return 2;
	/* Taken from init, but not yet by the host. */
	if (!test_mux_crowd_tell(test, 1))
		return 3;
	for (int i = 0; i < 3; i++)
		(void)test_mux_crowd_turn_one(&test->inside);
	if (!test_mux_crowd_fill(test))
		return 3;
	client = test_mux_crowd_client(test);
	if (client < 0 || !test_mux_crowd_turn(test, 60) ||
	    !test->host.crowded || test_mux_crowd_hear(test) >= 0 ||
	    fd_accept(test->served, NULL) >= 0 ||
	    recv(client, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		return 4;
	test_mux_crowd_disperse(test);
	if (!test_mux_crowd_turn(test, 60) || test->host.crowded ||
	    (second = test_mux_crowd_hear(test)) < 0)
		return 5;
	agent = fd_accept(test->served, NULL);
	if (agent < 0 || read(agent, &byte, 1) != 1 || byte != 'a' ||
	    write(agent, "b", 1) != 1 || !test_mux_crowd_turn(test, 60) ||
	    recv(client, &byte, 1, MSG_DONTWAIT) != 1 || byte != 'b')
		return 6;
	return second == agent ? 7 : 0;
}

static void
test_mux_crowd_waits(void **state)
{
	static struct test_mux_crowd test;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(test_mux_crowd_inside(&test));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mux_crowd_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
