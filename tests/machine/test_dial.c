/* SPDX-License-Identifier: Apache-2.0 */
/* common/dial against real listeners on loopback: order, winner, refusal,
 * a listener that never accepts, deadline, cancel, and no descriptor left. */
#include "common/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "common/fd.h"

struct test_dial_state {
	struct event_base *base;
	unsigned calls;
	enum result result;
	int fd, error;
	struct ip_addr address;
	uint64_t took_ms, started_ms;
};

static struct ip_addr
test_dial_address(const char *text)
{
	struct ip_addr address;

	assert_int_equal(
	    ip_addr_parse(text, strlen(text), &address), RESULT_OK);
	return address;
}

static unsigned
test_dial_open_count(void)
{
	unsigned count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			count++;
	return count;
}

/* A listener on address; port 0 chooses one, which is returned. */
static int
test_dial_listen(const char *text, uint16_t *port, int backlog)
{
	struct ip_addr address = test_dial_address(text);
	struct sockaddr_storage storage;
	socklen_t len = ip_addr_to_sockaddr(&address, *port, &storage);
	int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&storage, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	len = sizeof(storage);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&storage, &len), 0);
	assert_int_equal(ip_addr_from_sockaddr(
			     (struct sockaddr *)&storage, len, &address, port),
	    RESULT_OK);
	return fd;
}

/* A listener whose queue is full: a connection to it stays unanswered. */
static int
test_dial_blackhole(const char *text, uint16_t *port, int fillers[3])
{
	struct ip_addr address = test_dial_address(text);
	struct sockaddr_storage storage;
	int i, fd = test_dial_listen(text, port, 0);
	socklen_t len = ip_addr_to_sockaddr(&address, *port, &storage);

	for (i = 0; i < 3; i++) {
		fillers[i] =
		    socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], (struct sockaddr *)&storage, len);
	}
	return fd;
}

static void
test_dial_done(enum result result, int fd, const struct ip_addr *address,
    int error, void *context)
{
	struct test_dial_state *state = context;

	state->calls++;
	state->result = result;
	state->fd = fd;
	state->error = error;
	state->address = *address;
	state->took_ms = event_loop_now_ms() - state->started_ms;
	event_loop_stop(state->base);
}

static void
test_dial_run(struct test_dial_state *state, const struct ip_addr *addresses,
    size_t count, uint16_t port, const struct dial_options *options)
{
	struct dial *dial;

	memset(state, 0, sizeof(*state));
	state->fd = -1;
	assert_int_equal(event_loop_new(&state->base), RESULT_OK);
	state->started_ms = event_loop_now_ms();
	assert_int_equal(dial_start(state->base, addresses, count, port,
			     options, test_dial_done, state, &dial),
	    RESULT_OK);
	assert_non_null(dial);
	assert_int_equal(state->calls, 0);
	assert_int_equal(event_loop_run(state->base), RESULT_OK);
	assert_int_equal(state->calls, 1);
	event_base_free(state->base);
}

static void
test_dial_is(const struct ip_addr *address, const char *text)
{
	char got[IP_ADDR_TEXT_MAX];

	ip_addr_text(address, got);
	assert_string_equal(got, text);
}

static void
test_dial_orders(void **state)
{
	static const char *const in[] = {"192.0.2.1", "192.0.2.2", "192.0.2.3",
	    "2001:db8::1", "2001:db8::2"};
	static const char *const out[] = {"2001:db8::1", "192.0.2.1",
	    "2001:db8::2", "192.0.2.2", "192.0.2.3"};
	struct ip_addr addresses[5];
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		addresses[i] = test_dial_address(in[i]);
	dial_order(addresses, 5);
	for (i = 0; i < 5; i++)
		test_dial_is(&addresses[i], out[i]);
	for (i = 0; i < 3; i++)
		addresses[i] = test_dial_address(in[i]);
	dial_order(addresses, 3);
	for (i = 0; i < 3; i++)
		test_dial_is(&addresses[i], in[i]);
	dial_order(addresses, 0);
}

static void
test_dial_connects(void **context)
{
	const struct dial_options options = {.timeout_ms = 5000};
	struct ip_addr addresses[2] = {
	    test_dial_address("127.0.0.7"), test_dial_address("::1")};
	unsigned before = test_dial_open_count();
	struct test_dial_state state;
	uint16_t port = 0;
	int six = test_dial_listen("::1", &port, 8);
	int four = test_dial_listen("127.0.0.7", &port, 8);

	(void)context;
	test_dial_run(&state, addresses, 2, port, &options);
	assert_int_equal(state.result, RESULT_OK);
	test_dial_is(&state.address, "::1"); /* IPv6 goes first */
	assert_true(fcntl(state.fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(fcntl(state.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(state.error, 0);
	fd_close(&state.fd);
	fd_close(&six);
	/* refused there: the other one, without waiting for the delay */
	test_dial_run(&state, addresses, 2, port, &options);
	assert_int_equal(state.result, RESULT_OK);
	test_dial_is(&state.address, "127.0.0.7");
	assert_true(state.took_ms < DIAL_ATTEMPT_DELAY_MS);
	fd_close(&state.fd);
	fd_close(&four);
	assert_int_equal(test_dial_open_count(), before);
}

/* The first address is silent: the second one starts after the delay, wins,
 * and the first is closed. */
static void
test_dial_overtakes(void **context)
{
	const struct dial_options options = {
	    .timeout_ms = 5000, .attempt_delay_ms = 60};
	struct ip_addr addresses[3] = {test_dial_address("127.0.0.8"),
	    test_dial_address("127.0.0.9"), test_dial_address("127.0.0.7")};
	unsigned before = test_dial_open_count();
	struct test_dial_state state;
	uint16_t port = 0;
	int fillers[6], i;
	int silent = test_dial_blackhole("127.0.0.8", &port, fillers);
	int also_silent = test_dial_blackhole("127.0.0.9", &port, fillers + 3);
	int good = test_dial_listen("127.0.0.7", &port, 8);

	(void)context;
	test_dial_run(&state, addresses, 3, port, &options);
	assert_int_equal(state.result, RESULT_OK);
	test_dial_is(&state.address, "127.0.0.7");
	assert_in_range(state.took_ms, 90, 1000); /* more than one delay */
	fd_close(&state.fd);
	for (i = 0; i < 6; i++)
		fd_close(&fillers[i]);
	fd_close(&silent);
	fd_close(&also_silent);
	fd_close(&good);
	assert_int_equal(test_dial_open_count(), before);
}

static void
test_dial_deadline(void **context)
{
	const struct dial_options options = {
	    .timeout_ms = 150, .attempt_delay_ms = 20};
	struct ip_addr addresses[2] = {
	    test_dial_address("127.0.0.8"), test_dial_address("127.0.0.9")};
	unsigned before = test_dial_open_count();
	struct test_dial_state state;
	uint16_t port = 0;
	int fillers[3], i;
	int silent = test_dial_blackhole("127.0.0.8", &port, fillers);

	(void)context;
	test_dial_run(&state, addresses, 2, port, &options);
	assert_int_equal(state.result, RESULT_TIMEOUT);
	assert_int_equal(state.error, ETIMEDOUT);
	assert_int_equal(state.fd, -1);
	assert_in_range(state.took_ms, 100, 2000);
	for (i = 0; i < 3; i++)
		fd_close(&fillers[i]);
	fd_close(&silent);
	assert_int_equal(test_dial_open_count(), before);
}

static void
test_dial_all_refused(void **context)
{
	const struct dial_options options = {.timeout_ms = 5000};
	struct ip_addr addresses[3] = {test_dial_address("127.0.0.8"),
	    test_dial_address("::1"), test_dial_address("127.0.0.9")};
	unsigned before = test_dial_open_count();
	struct test_dial_state state;
	uint16_t port = 0;
	int gone = test_dial_listen("127.0.0.8", &port, 1);

	(void)context;
	fd_close(&gone);
	test_dial_run(&state, addresses, 3, port, &options);
	assert_int_equal(state.result, RESULT_SYSTEM);
	assert_int_equal(state.error, ECONNREFUSED);
	assert_int_equal(state.fd, -1);
	assert_true(state.took_ms < DIAL_ATTEMPT_DELAY_MS);
	assert_int_equal(test_dial_open_count(), before);
}

/* No descriptor left for a socket: an error, no hang. */
static void
test_dial_no_descriptors(void **context)
{
	const struct dial_options options = {.timeout_ms = 5000};
	struct ip_addr addresses[2] = {
	    test_dial_address("127.0.0.8"), test_dial_address("127.0.0.9")};
	struct test_dial_state state = {.fd = -1};
	struct rlimit old, limit;
	struct dial *dial;

	(void)context;
	assert_int_equal(event_loop_new(&state.base), RESULT_OK);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = old;
	limit.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(dial_start(state.base, addresses, 2, 9, &options,
			     test_dial_done, &state, &dial),
	    RESULT_OK);
	assert_int_equal(event_loop_run(state.base), RESULT_OK);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(state.calls, 1);
	assert_int_equal(state.result, RESULT_SYSTEM);
	assert_int_equal(state.error, EMFILE);
	event_base_free(state.base);
}

static void
test_dial_cancels(void **context)
{
	const struct dial_options options = {.timeout_ms = 5000};
	struct ip_addr address = test_dial_address("127.0.0.8");
	unsigned before = test_dial_open_count();
	struct test_dial_state state = {.fd = -1};
	struct dial *dial;
	uint16_t port = 0;
	int fillers[3], i;
	int silent = test_dial_blackhole("127.0.0.8", &port, fillers);

	(void)context;
	assert_int_equal(event_loop_new(&state.base), RESULT_OK);
	assert_int_equal(dial_start(state.base, &address, 1, port, &options,
			     test_dial_done, &state, &dial),
	    RESULT_OK);
	assert_int_equal(event_base_loop(state.base, EVLOOP_NONBLOCK), 0);
	dial_cancel(&dial);
	assert_null(dial);
	dial_cancel(&dial);
	/* before its first turn too */
	assert_int_equal(dial_start(state.base, &address, 1, port, &options,
			     test_dial_done, &state, &dial),
	    RESULT_OK);
	dial_cancel(&dial);
	assert_int_equal(event_base_loop(state.base, EVLOOP_NONBLOCK), 1);
	assert_int_equal(state.calls, 0);
	event_base_free(state.base);
	for (i = 0; i < 3; i++)
		fd_close(&fillers[i]);
	fd_close(&silent);
	assert_int_equal(test_dial_open_count(), before);
}

static void
test_dial_bad_calls(void **context)
{
	struct dial_options options = {.timeout_ms = 50};
	struct ip_addr addresses[DIAL_ADDRESSES_MAX + 1] = {
	    {4, {127, 0, 0, 1}}};
	struct event_base *base;
	struct dial *dial;

	(void)context;
	assert_int_equal(event_loop_new(&base), RESULT_OK);
	assert_int_equal(dial_start(base, addresses, 0, 1, &options,
			     test_dial_done, NULL, &dial),
	    RESULT_TOO_LONG);
	assert_int_equal(dial_start(base, addresses, DIAL_ADDRESSES_MAX + 1, 1,
			     &options, test_dial_done, NULL, &dial),
	    RESULT_TOO_LONG);
	options.congestion = "a_name_that_is_too_long";
	assert_int_equal(dial_start(base, addresses, 1, 1, &options,
			     test_dial_done, NULL, &dial),
	    RESULT_BAD);
	assert_null(dial);
	event_base_free(base);
}

static void
test_dial_congestion(void **context)
{
	const struct dial_options reno = {
	    .timeout_ms = 5000, .congestion = "reno"};
	const struct dial_options unknown = {
	    .timeout_ms = 5000, .congestion = "no_such_one"};
	struct ip_addr address = test_dial_address("127.0.0.7");
	struct test_dial_state state;
	char name[16] = "";
	socklen_t len = sizeof(name);
	uint16_t port = 0;
	int good = test_dial_listen("127.0.0.7", &port, 8);

	(void)context;
	test_dial_run(&state, &address, 1, port, &reno);
	assert_int_equal(state.result, RESULT_OK);
	assert_int_equal(
	    getsockopt(state.fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	assert_string_equal(name, "reno");
	fd_close(&state.fd);
	test_dial_run(&state, &address, 1, port, &unknown);
	assert_int_equal(state.result, RESULT_SYSTEM);
	assert_int_equal(state.error, ENOENT);
	fd_close(&good);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dial_orders),
	    cmocka_unit_test(test_dial_connects),
	    cmocka_unit_test(test_dial_overtakes),
	    cmocka_unit_test(test_dial_deadline),
	    cmocka_unit_test(test_dial_all_refused),
	    cmocka_unit_test(test_dial_no_descriptors),
	    cmocka_unit_test(test_dial_cancels),
	    cmocka_unit_test(test_dial_bad_calls),
	    cmocka_unit_test(test_dial_congestion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
