/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor makes of init's records: a child in a network
 * namespace of its own plays init, well and badly. Each row is one thing it
 * says; what must come out is the last callback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/engine/wiring.h"

#define TEST_PORT 3128

/* What came out. */
struct test_wiring {
	struct event_base *base;
	unsigned hellos, listeners, reports, statuses, trees;
	bool ended, timed_out;
	enum result why;
	char detail[256];
};

/* ---- the child that plays init ---- */

static int test_wiring_socket = -1;

static void
test_wiring_say(enum init_type type, uint32_t value, const int *fds, size_t n)
{
	struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type,
	    .value = value};

	(void)fd_send(test_wiring_socket, &record, sizeof(record), fds, n);
}

static int
test_wiring_listen(const char *address, uint16_t port, bool listening)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in name = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr = {.s_addr = inet_addr(address)}};

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
		_exit(99);
	if (listening && listen(fd, 1) != 0)
		_exit(98);
	return fd;
}

static void
test_wiring_own_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(geteuid() == 0 ? CLONE_NEWNET
				   : CLONE_NEWUSER | CLONE_NEWNET) != 0)
		_exit(97);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
		_exit(96);
	(void)close(fd);
}

static void
test_wiring_good_start(void)
{
	int fd;

	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	fd = test_wiring_listen("127.0.0.1", TEST_PORT, true);
	test_wiring_say(INIT_LISTENER, 0, &fd, 1);
	(void)close(fd);
}

static void
test_wiring_send_report(void)
{
	int fd = -1;

	if (fd_sealed_memfd("report", "x", 1, &fd) != RESULT_OK)
		_exit(95);
	test_wiring_say(INIT_REPORT, 0, &fd, 1);
	(void)close(fd);
}

static void
test_wiring_play_good(void)
{
	struct init_status status = {.record = {.magic = INIT_MAGIC,
					 .version = INIT_PROTOCOL_VERSION,
					 .type = INIT_STATUS}};

	test_wiring_good_start();
	test_wiring_send_report();
	test_wiring_say(INIT_IMPORTED, 0, NULL, 0);
	(void)fd_send(test_wiring_socket, &status, sizeof(status), NULL, 0);
}

static void
test_wiring_play_late(void)
{
	int fd = 0;

	test_wiring_good_start();
	test_wiring_send_report();
	test_wiring_say(INIT_IMPORTED, 0, &fd, 1);
}

static void
test_wiring_play_second_listener(void)
{
	int fd;

	test_wiring_good_start();
	fd = test_wiring_listen("127.0.0.2", TEST_PORT, true);
	test_wiring_say(INIT_LISTENER, 1, &fd, 1);
}

static void
test_wiring_play_wrong_index(void)
{
	int fd;

	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	fd = test_wiring_listen("127.0.0.1", TEST_PORT, true);
	test_wiring_say(INIT_LISTENER, 1, &fd, 1);
}

static void
test_wiring_bad_listener(int fd)
{
	test_wiring_say(INIT_LISTENER, 0, &fd, 1);
}

static void
test_wiring_play_not_listening(void)
{
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	test_wiring_bad_listener(
	    test_wiring_listen("127.0.0.1", TEST_PORT, false));
}

static void
test_wiring_play_port(void)
{
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	test_wiring_bad_listener(
	    test_wiring_listen("127.0.0.1", TEST_PORT + 1, true));
}

static void
test_wiring_play_address(void)
{
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	test_wiring_bad_listener(
	    test_wiring_listen("127.0.0.3", TEST_PORT, true));
}

static void
test_wiring_play_unix(void)
{
	int pair[2];

	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		_exit(94);
	test_wiring_bad_listener(pair[0]);
}

/* A listener with the right address, but of the host's namespace. */
static void
test_wiring_play_host_listener(void)
{
	int fd = test_wiring_listen("127.0.0.1", 0, true);
	struct sockaddr_in name;
	socklen_t len = sizeof(name);

	(void)close(fd);
	fd = test_wiring_listen("127.0.0.1", TEST_PORT, true);
	(void)getsockname(fd, (struct sockaddr *)&name, &len);
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	test_wiring_bad_listener(fd);
}

static void
test_wiring_play_host_network(void)
{
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
}

static void
test_wiring_play_two_descriptors(void)
{
	int fds[2];

	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	fds[0] = test_wiring_listen("127.0.0.1", TEST_PORT, true);
	fds[1] = 0;
	test_wiring_say(INIT_LISTENER, 0, fds, 2);
}

static void
test_wiring_play_early_report(void)
{
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	test_wiring_send_report();
}

static void
test_wiring_play_open_report(void)
{
	int fd = memfd_create("report", 0);

	test_wiring_good_start();
	test_wiring_say(INIT_REPORT, 0, &fd, 1);
}

static void
test_wiring_play_size(void)
{
	(void)fd_send(test_wiring_socket, "short", 5, NULL, 0);
}

static void
test_wiring_play_version(void)
{
	struct init_record record = {
	    .magic = INIT_MAGIC, .version = 99, .type = INIT_HELLO};

	(void)fd_send(test_wiring_socket, &record, sizeof(record), NULL, 0);
}

static void
test_wiring_play_order(void)
{
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
}

static void
test_wiring_play_other_process(void)
{
	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	if (fork() == 0) {
		test_wiring_send_report();
		_exit(0);
	}
	(void)wait(NULL);
}

static void
test_wiring_play_failed(void)
{
	struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = INIT_FAILED,
	    .value = ENOSPC,
	    .step = INIT_STEP_WALLS};

	test_wiring_own_network();
	test_wiring_say(INIT_HELLO, 0, NULL, 0);
	(void)fd_send(test_wiring_socket, &record, sizeof(record), NULL, 0);
}

static void
test_wiring_play_silence(void)
{
}

static const struct {
	const char *name;
	void (*play)(void);
	enum result why;
	const char *says;
	unsigned listeners, reports;
} test_wiring_rows[] = {
    {"good", test_wiring_play_good, RESULT_EOF, "without saying", 1, 1},
    {"a descriptor after ready", test_wiring_play_late, RESULT_BAD,
	"descriptor after", 1, 1},
    {"one listener more", test_wiring_play_second_listener, RESULT_BAD,
	"not asked for", 1, 0},
    {"another index", test_wiring_play_wrong_index, RESULT_BAD, "not asked for",
	0, 0},
    {"not listening", test_wiring_play_not_listening, RESULT_MISMATCH,
	"does not listen", 0, 0},
    {"another port", test_wiring_play_port, RESULT_MISMATCH, "another address",
	0, 0},
    {"another address", test_wiring_play_address, RESULT_MISMATCH,
	"another address", 0, 0},
    {"a unix socket", test_wiring_play_unix, RESULT_MISMATCH, "not TCP", 0, 0},
    {"a listener of the host", test_wiring_play_host_listener, RESULT_MISMATCH,
	"namespace", 0, 0},
    {"the host's network", test_wiring_play_host_network, RESULT_MISMATCH,
	"shares the host's", 0, 0},
    {"two descriptors", test_wiring_play_two_descriptors, RESULT_BAD,
	"not asked for", 0, 0},
    {"a report too early", test_wiring_play_early_report, RESULT_BAD,
	"before all listeners", 0, 0},
    {"a report that can change", test_wiring_play_open_report, RESULT_BAD,
	"sealed", 1, 0},
    {"another size", test_wiring_play_size, RESULT_BAD, "size", 0, 0},
    {"another version", test_wiring_play_version, RESULT_BAD, "version", 0, 0},
    {"hello twice", test_wiring_play_order, RESULT_BAD, "out of order", 0, 0},
    {"another process", test_wiring_play_other_process, RESULT_BAD,
	"another process", 0, 0},
    {"a failure", test_wiring_play_failed, RESULT_SYSTEM,
	"trying the walls: No space left", 0, 0},
    {"silence", test_wiring_play_silence, RESULT_EOF, "without saying", 0, 0},
};

/* ---- our side ---- */

static void
test_wiring_on_hello(pid_t pid, void *context)
{
	(void)pid;
	((struct test_wiring *)context)->hellos++;
}

static void
test_wiring_on_listener(uint32_t index, int fd, void *context)
{
	(void)index;
	(void)close(fd);
	((struct test_wiring *)context)->listeners++;
}

static void
test_wiring_on_report(int fd, void *context)
{
	(void)close(fd);
	((struct test_wiring *)context)->reports++;
}

static void
test_wiring_on_tree(bool is_export, int error, void *context)
{
	(void)is_export;
	(void)error;
	((struct test_wiring *)context)->trees++;
}

static void
test_wiring_on_status(const struct init_status *status, void *context)
{
	(void)status;
	((struct test_wiring *)context)->statuses++;
}

static void
test_wiring_on_end(enum result why, const char *detail, void *context)
{
	struct test_wiring *out = context;

	assert_false(out->ended); /* once */
	out->ended = true;
	out->why = why;
	(void)snprintf(out->detail, sizeof(out->detail), "%s", detail);
	event_loop_stop(out->base);
}

static void
test_wiring_on_timeout(evutil_socket_t fd, short what, void *context)
{
	struct test_wiring *out = context;

	(void)fd;
	(void)what;
	out->timed_out = true;
	event_loop_stop(out->base);
}

static struct init_setup
test_wiring_setup(void)
{
	struct init_setup setup = {.record = {.magic = INIT_MAGIC,
				       .version = INIT_PROTOCOL_VERSION,
				       .type = INIT_SETUP},
	    .listener_count = 1};

	setup.listeners[0].address = inet_addr("127.0.0.1");
	setup.listeners[0].port = htons(TEST_PORT);
	return setup;
}

static pid_t
test_wiring_child(struct wiring *wiring, void (*play)(void))
{
	static const int streams[3] = {-1, -1, -1};
	struct wiring_pass pass;
	pid_t pid;

	assert_int_equal(wiring_pass(wiring, streams, &pass), RESULT_OK);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_wiring_socket = dup(pass.fds[INIT_CONTROL_FD - 3]);
		/* Our copies go, so that the end is seen. */
		wiring_passed(wiring);
		play();
		(void)usleep(200000); /* /proc of a zombie tells nothing */
		_exit(0);
	}
	wiring_passed(wiring);
	return pid;
}

static void
test_wiring_play_row(size_t row)
{
	static const struct wiring_handlers handlers = {test_wiring_on_hello,
	    test_wiring_on_listener, test_wiring_on_report, test_wiring_on_tree,
	    test_wiring_on_status, test_wiring_on_end, NULL, NULL};
	struct init_setup setup = test_wiring_setup();
	struct timeval limit = event_loop_timeval(10000);
	struct test_wiring out = {.timed_out = false};
	struct wiring *wiring = NULL;
	int status = 0;
	pid_t pid;

	assert_int_equal(event_loop_new(&out.base), RESULT_OK);
	if (wiring_new(out.base, WIRING_FD, NULL, &setup, &handlers, &out,
		&wiring, out.detail, sizeof(out.detail)) != RESULT_OK)
		fail_msg("%s", out.detail);
	pid = test_wiring_child(wiring, test_wiring_rows[row].play);
	assert_int_equal(event_base_once(out.base, -1, EV_TIMEOUT,
			     test_wiring_on_timeout, &out, &limit),
	    0);
	assert_int_equal(event_loop_run(out.base), RESULT_OK);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (out.timed_out || !WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
	    out.why != test_wiring_rows[row].why ||
	    strstr(out.detail, test_wiring_rows[row].says) == NULL ||
	    out.listeners != test_wiring_rows[row].listeners ||
	    out.reports != test_wiring_rows[row].reports)
		fail_msg("%s: %s, \"%s\", %u listeners, %u reports, child %d",
		    test_wiring_rows[row].name, result_text(out.why),
		    out.detail, out.listeners, out.reports, status);
	wiring_free(&wiring);
	event_base_free(out.base);
}

static void
test_wiring_table(void **state)
{
	(void)state;
	for (size_t i = 0;
	     i < sizeof(test_wiring_rows) / sizeof(test_wiring_rows[0]); i++)
		test_wiring_play_row(i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_wiring_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
