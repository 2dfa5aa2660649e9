/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a mux link joined by two pipes, in one process: what init and
 * the supervisor would say goes in at one end and must come out at the
 * other, with every descriptor a stream.
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
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_bridge.h"

#define TEST_TURNS 20000
#define TEST_BIG (1U << 20)

static struct mux_bridge test_host, test_inside;
/* The supervisor's end, init's end, and the workload's streams: here, and
 * on the host. */
static int test_supervisor, test_init, test_work[3], test_client[3];
static uint8_t test_bytes[TEST_BIG], test_got[TEST_BIG];

static uint64_t
test_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool
test_turn_one(struct mux_bridge *bridge)
{
	struct pollfd polls[MUX_BRIDGE_POLLS];
	int timeout;
	unsigned count = mux_bridge_polls(bridge, polls, test_now(), &timeout);
	int found = poll(polls, count, 0);

	assert_true(found >= 0);
	if (found == 0 && timeout != 0)
		return false;
	mux_bridge_turn(bridge, polls, count, test_now());
	return true;
}

/* Until neither has anything to do. */
static void
test_turn(void)
{
	for (int i = 0; i < TEST_TURNS; i++) {
		bool host = test_turn_one(&test_host);
		bool inside = test_turn_one(&test_inside);

		if (!host && !inside)
			return;
	}
	fail_msg("the two ends never come to rest");
}

static int
test_begin(void **state)
{
	int up[2], down[2], control[2], init[2], in[3][2], out[3][2];
	int inside[3], host[3];

	(void)state;
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(fd_socketpair(control), RESULT_OK);
	assert_int_equal(fd_socketpair(init), RESULT_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pipe2(in[i], O_CLOEXEC), 0);
		assert_int_equal(pipe2(out[i], O_CLOEXEC), 0);
		/* The workload's stdin is read there, the others written. */
		inside[i] = in[i][i == 0 ? 1 : 0];
		test_work[i] = in[i][i == 0 ? 0 : 1];
		host[i] = out[i][i == 0 ? 0 : 1];
		test_client[i] = out[i][i == 0 ? 1 : 0];
		(void)fcntl(test_work[i], F_SETFL, O_NONBLOCK);
		(void)fcntl(test_client[i], F_SETFL, O_NONBLOCK);
	}
	test_supervisor = control[0];
	test_init = init[0];
	(void)fcntl(test_supervisor, F_SETFL, O_NONBLOCK);
	(void)fcntl(test_init, F_SETFL, O_NONBLOCK);
	assert_true(mux_bridge_init(&test_host, MUX_LINK_HOST, down[0], up[1],
	    control[1], host, test_now()));
	assert_true(mux_bridge_init(&test_inside, MUX_LINK_INSIDE, up[0],
	    down[1], init[1], inside, test_now()));
	for (size_t i = 0; i < sizeof(test_bytes); i++)
		test_bytes[i] = (uint8_t)(i * 7 + i / 251);
	test_turn();
	return 0;
}

static int
test_end(void **state)
{
	(void)state;
	mux_bridge_close(&test_host, MUX_BRIDGE_CLOSED, "");
	mux_bridge_close(&test_inside, MUX_BRIDGE_CLOSED, "");
	fd_close(&test_supervisor);
	fd_close(&test_init);
	for (int i = 0; i < 3; i++) {
		fd_close(&test_work[i]);
		fd_close(&test_client[i]);
	}
	return 0;
}

static void
test_say(int socket, enum init_type type, uint32_t value, const int *fds,
    size_t count)
{
	const struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type,
	    .value = value};

	assert_int_equal(
	    fd_send(socket, &record, sizeof(record), fds, count), RESULT_OK);
	test_turn();
}

/* The next record at socket; false: there is none. */
static bool
test_hear(
    int socket, enum init_type type, uint32_t value, int *fds_r, size_t count)
{
	union {
		struct init_record record;
		char bytes[MUX_FRAME_RECORD_MAX];
	} got;
	size_t len, fds;
	enum result result =
	    fd_receive(socket, &got, sizeof(got), &len, fds_r, 2, &fds);

	if (result == RESULT_NEED_MORE)
		return false;
	assert_int_equal(result, RESULT_OK);
	assert_int_equal(got.record.type, type);
	assert_int_equal(got.record.value, value);
	assert_int_equal(fds, count);
	return true;
}

static void
test_same_bytes(int fd, const uint8_t *bytes, size_t len)
{
	assert_true(fd_is_sealed(fd));
	assert_int_equal(pread(fd, test_got, sizeof(test_got), 0), len);
	assert_memory_equal(test_got, bytes, len);
	(void)close(fd);
}

/* A listener inside; what the supervisor gets for it, and its port. */
static int
test_listener(uint32_t index, struct sockaddr_in *name_r)
{
	socklen_t len = sizeof(*name_r);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[2], type;

	*name_r = (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	assert_int_equal(bind(fd, (struct sockaddr *)name_r, len), 0);
	assert_int_equal(listen(fd, 300), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)name_r, &len), 0);
	test_say(test_init, INIT_LISTENER, index, &fd, 1);
	(void)close(fd);
	assert_true(test_hear(test_supervisor, INIT_LISTENER, index, fds, 1));
	len = sizeof(type);
	assert_int_equal(
	    getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &type, &len), 0);
	assert_int_equal(type, SOCK_SEQPACKET);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	return fds[0];
}

/* A client inside, and what serves it on the host. */
static void
test_connect(
    const struct sockaddr_in *name, int listener, int *client_r, int *served_r)
{
	size_t len, count;
	char byte;

	*client_r = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    connect(*client_r, (const struct sockaddr *)name, sizeof(*name)),
	    0);
	(void)fcntl(*client_r, F_SETFL, O_NONBLOCK);
	test_turn();
	assert_int_equal(
	    fd_receive(listener, &byte, 1, &len, served_r, 1, &count),
	    RESULT_OK);
	assert_int_equal(count, 1);
}

/* len bytes into one descriptor and, the same, out of the other. */
static void
test_pass(int from, int to, size_t len)
{
	size_t in = 0, out = 0;

	for (int idle = 0; out < len && idle < 2000; idle++) {
		ssize_t put =
		    in < len ? write(from, test_bytes + in, len - in) : 0;
		ssize_t got;

		in += put > 0 ? (size_t)put : 0;
		test_turn();
		got = read(to, test_got + out, len - out);
		out += got > 0 ? (size_t)got : 0;
		if (put > 0 || got > 0)
			idle = 0;
		else if (idle > 900)
			(void)usleep(1000); /* TCP has timers of its own */
	}
	assert_int_equal(out, len);
	assert_memory_equal(test_got, test_bytes, len);
}

static void
test_ended(int fd)
{
	char byte;

	test_turn();
	assert_int_equal(read(fd, &byte, 1), 0);
}

/* ---- records ---- */

static void
test_mux_bridge_records(void **state)
{
	int fds[2] = {-1, -1};

	(void)state;
	test_say(test_init, INIT_HELLO, 0, NULL, 0);
	assert_true(test_hear(test_supervisor, INIT_HELLO, 0, fds, 0));
	assert_int_equal(
	    fd_sealed_memfd("report", test_bytes, 100003, &fds[0]), RESULT_OK);
	test_say(test_init, INIT_REPORT, 0, fds, 1);
	(void)close(fds[0]);
	assert_true(test_hear(test_supervisor, INIT_REPORT, 0, fds, 1));
	test_same_bytes(fds[0], test_bytes, 100003);
	assert_int_equal(
	    fd_sealed_memfd("go", test_bytes, TEST_BIG, &fds[0]), RESULT_OK);
	assert_int_equal(
	    fd_sealed_memfd("secret", test_bytes + 9, 70000, &fds[1]),
	    RESULT_OK);
	test_say(test_supervisor, INIT_GO, 0, fds, 2);
	(void)close(fds[0]);
	(void)close(fds[1]);
	assert_true(test_hear(test_init, INIT_GO, 0, fds, 2));
	test_same_bytes(fds[0], test_bytes, TEST_BIG);
	test_same_bytes(fds[1], test_bytes + 9, 70000);
	test_say(test_supervisor, INIT_KILL, 0, NULL, 0);
	assert_true(test_hear(test_init, INIT_KILL, 0, fds, 0));
	assert_false(test_hear(test_init, INIT_KILL, 0, fds, 0));
}

/* A status never overtakes the output it ends. */
static void
test_mux_bridge_order(void **state)
{
	size_t written = 0, read_back = 0;
	int fds[2];

	(void)state;
	while (written < TEST_BIG) {
		ssize_t put = write(
		    test_work[1], test_bytes + written, TEST_BIG - written);

		if (put <= 0)
			break;
		written += (size_t)put;
		test_turn();
	}
	assert_true(written > 65536);
	fd_close(&test_work[1]);
	fd_close(&test_work[2]);
	test_say(test_init, INIT_STATUS, 7, NULL, 0);
	assert_false(test_hear(test_supervisor, INIT_STATUS, 7, fds, 0));
	for (;;) {
		ssize_t got;

		test_turn();
		got = read(test_client[1], test_got + read_back,
		    sizeof(test_got) - read_back);
		if (got <= 0)
			break;
		read_back += (size_t)got;
	}
	assert_int_equal(read_back, written);
	assert_memory_equal(test_got, test_bytes, written);
	assert_true(test_hear(test_supervisor, INIT_STATUS, 7, fds, 0));
	/* And what follows is heard, too. */
	test_say(test_init, INIT_EXPORTED, 0, NULL, 0);
	assert_true(test_hear(test_supervisor, INIT_EXPORTED, 0, fds, 0));
}

static void
test_mux_bridge_trees(void **state)
{
	int ends[2], fds[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	test_say(test_supervisor, INIT_IMPORT, 0, &ends[0], 1);
	(void)close(ends[0]);
	assert_true(test_hear(test_init, INIT_IMPORT, 0, fds, 1));
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	test_pass(ends[1], fds[0], 300000);
	(void)close(ends[1]);
	test_ended(fds[0]);
	(void)close(fds[0]);
	/* Trees come out when the workload is dead. */
	fd_close(&test_work[1]);
	fd_close(&test_work[2]);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	test_say(test_supervisor, INIT_EXPORT, 0, &ends[1], 1);
	(void)close(ends[1]);
	assert_true(test_hear(test_init, INIT_EXPORT, 0, fds, 1));
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	test_pass(fds[0], ends[0], 300000);
	(void)close(fds[0]);
	test_say(test_init, INIT_EXPORTED, 0, NULL, 0);
	test_ended(ends[0]);
	assert_true(test_hear(test_supervisor, INIT_EXPORTED, 0, fds, 0));
	(void)close(ends[0]);
}

/* ---- streams ---- */

static void
test_mux_bridge_standard(void **state)
{
	(void)state;
	test_pass(test_client[0], test_work[0], 500000);
	test_pass(test_work[1], test_client[1], 500000);
	test_pass(test_work[2], test_client[2], 5);
	fd_close(&test_client[0]);
	test_ended(test_work[0]);
	/* Nobody reads it: the workload is told so. */
	fd_close(&test_client[1]);
	(void)!write(test_work[1], "x", 1);
	test_turn();
	assert_int_equal(write(test_work[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	/* The third one lives. */
	test_pass(test_work[2], test_client[2], 5);
}

static void
test_mux_bridge_connections(void **state)
{
	struct sockaddr_in name;
	int listener = test_listener(3, &name), client, served;

	(void)state;
	/* Half-closed by the client first, then by the server. */
	for (int order = 0; order < 2; order++) {
		test_connect(&name, listener, &client, &served);
		test_pass(client, served, 1000000);
		test_pass(served, client, 1000000);
		(void)shutdown(order == 0 ? client : served, SHUT_WR);
		test_ended(order == 0 ? served : client);
		test_pass(order == 0 ? served : client,
		    order == 0 ? client : served, 200000);
		(void)shutdown(order == 0 ? served : client, SHUT_WR);
		test_ended(order == 0 ? client : served);
		(void)close(client);
		(void)close(served);
		test_turn();
		assert_int_equal(test_host.link.used, 3); /* the standard */
		assert_int_equal(test_inside.link.used, 3);
	}
	(void)close(listener);
}

static void
test_mux_bridge_reset(void **state)
{
	const struct linger now = {1, 0};
	struct sockaddr_in name;
	int listener = test_listener(0, &name), client, served;
	char byte;

	(void)state;
	/* The client breaks it. */
	test_connect(&name, listener, &client, &served);
	(void)setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(client);
	test_ended(served);
	(void)close(served);
	/* The server is gone: what the client sends then breaks it there. */
	test_connect(&name, listener, &client, &served);
	(void)close(served);
	test_turn();
	(void)!write(client, test_bytes, 10);
	test_turn();
	(void)!write(client, test_bytes, 10);
	test_turn();
	assert_true(read(client, &byte, 1) <= 0);
	(void)close(client);
	/* Nobody serves: refused, and the link lives. */
	(void)close(listener);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    connect(client, (struct sockaddr *)&name, sizeof(name)), 0);
	test_turn();
	(void)fcntl(client, F_SETFL, O_NONBLOCK);
	assert_int_equal(read(client, &byte, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(client);
	test_turn();
	assert_int_equal(test_inside.link.used, 3);
	assert_int_equal(test_host.state, MUX_BRIDGE_RUNNING);
}

static void
test_mux_bridge_stall(void **state)
{
	struct sockaddr_in name;
	int listener = test_listener(1, &name);
	int client[2], served[2];
	size_t stuffed = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		test_connect(&name, listener, &client[i], &served[i]);
	/* Nobody reads the first. */
	for (int idle = 0; idle < 50; idle++) {
		ssize_t put = write(client[0], test_bytes, 65536);

		stuffed += put > 0 ? (size_t)put : 0;
		test_turn();
	}
	assert_true(stuffed > MUX_LINK_WINDOW);
	for (int i = 0; i < 8; i++) {
		test_pass(client[1], served[1], TEST_BIG);
		test_pass(served[1], client[1], TEST_BIG);
	}
	/* The first lost nothing of it. */
	while (stuffed > 0) {
		ssize_t got = read(
		    served[0], test_got, stuffed < 65536 ? stuffed : 65536);

		assert_true(got > 0);
		stuffed -= (size_t)got;
		test_turn();
	}
	for (int i = 0; i < 2; i++) {
		(void)close(client[i]);
		(void)close(served[i]);
	}
	(void)close(listener);
}

/* A workload that does not read holds up nobody, though its bytes wait in
 * pipes and behind them in memory; they come out in order. */
static void
test_mux_bridge_stall_standard(void **state)
{
	size_t put = 0, got = 0;

	(void)state;
	for (int idle = 0; idle < 20; idle++) {
		/* Large ones, and small ones that fill pipes by number. */
		size_t most = idle % 4 == 0 ? 1 : 50000;
		ssize_t done = write(test_client[0], test_bytes + put,
		    most < TEST_BIG - put ? most : TEST_BIG - put);

		if (done > 0) {
			put += (size_t)done;
			idle = 0;
		}
		test_turn();
	}
	assert_true(put > 2 * MUX_LINK_WINDOW);
	test_pass(test_work[1], test_client[1], TEST_BIG);
	test_pass(test_work[2], test_client[2], 70000);
	for (int idle = 0; got < put && idle < 1000; idle++) {
		ssize_t done = read(test_work[0], test_got + got, put - got);

		if (done > 0) {
			got += (size_t)done;
			idle = 0;
		}
		test_turn();
	}
	assert_int_equal(got, put);
	assert_memory_equal(test_got, test_bytes, put);
	test_pass(test_client[0], test_work[0], TEST_BIG);
	fd_close(&test_client[0]);
	test_ended(test_work[0]);
}

/* Frames of a stream whose reader is gone in the middle of them. */
static void
test_mux_bridge_break(void **state)
{
	size_t len = 0;

	(void)state;
	test_pass(test_client[0], test_work[0], 300000);
	while (write(test_client[0], test_bytes, 65536) > 0 && len < TEST_BIG) {
		len += 65536;
		test_turn();
	}
	fd_close(&test_work[0]);
	test_turn();
	(void)!write(test_client[0], test_bytes, 65536);
	test_turn();
	assert_int_equal(test_host.state, MUX_BRIDGE_RUNNING);
	assert_int_equal(test_inside.state, MUX_BRIDGE_RUNNING);
	assert_int_equal(test_host.link.used, 2);
	assert_int_equal(test_inside.link.used, 2);
	test_pass(test_work[1], test_client[1], TEST_BIG);
}

/* More clients than there are streams: the others wait to be accepted. */
static void
test_mux_bridge_many(void **state)
{
	struct sockaddr_in name;
	int listener = test_listener(71, &name);
	int client[MUX_LINK_CONNECTIONS + 4], served, last = -1;
	unsigned had = 0;
	size_t len, count;
	char byte;

	(void)state;
	for (unsigned i = 0; i < MUX_LINK_CONNECTIONS + 4; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(
		    connect(client[i], (struct sockaddr *)&name, sizeof(name)),
		    0);
		test_turn();
	}
	assert_int_equal(test_inside.link.used, MUX_LINK_CONNECTIONS);
	while (fd_receive(listener, &byte, 1, &len, &served, 1, &count) ==
	       RESULT_OK) {
		had++;
		(void)close(last);
		last = served;
	}
	assert_int_equal(had, MUX_LINK_CONNECTIONS - 3);
	(void)close(last);
	test_turn();
	for (unsigned i = 0; i < MUX_LINK_CONNECTIONS + 4; i++)
		(void)close(client[i]);
	test_turn();
	had = 0;
	while (fd_receive(listener, &byte, 1, &len, &served, 1, &count) ==
	       RESULT_OK) {
		had++;
		(void)close(served);
		test_turn();
	}
	assert_int_equal(had, 7);
	assert_int_equal(test_host.link.used, 3);
	assert_int_equal(test_inside.link.used, 3);
	(void)close(listener);
}

/* ---- ends ---- */

static void
test_mux_bridge_garbage(void **state)
{
	int fds[2];

	(void)state;
	assert_true(
	    write(test_inside.link_out, "GET / HTTP/1.0\r\n", 16) == 16);
	test_turn();
	assert_int_equal(test_host.state, MUX_BRIDGE_BROKEN);
	assert_string_equal(test_host.detail, "a frame of an unknown type");
	/* The other end sees the link go, and init its socket. */
	assert_int_equal(test_inside.state, MUX_BRIDGE_CLOSED);
	(void)fcntl(test_init, F_SETFL, 0);
	assert_int_equal(fd_receive(test_init, test_got, 100, &(size_t){0}, fds,
			     2, &(size_t){0}),
	    RESULT_EOF);
	test_ended(test_work[0]);
}

static void
test_mux_bridge_supervisor_gone(void **state)
{
	(void)state;
	fd_close(&test_supervisor);
	test_turn();
	assert_int_equal(test_host.state, MUX_BRIDGE_CLOSED);
	assert_int_equal(test_inside.state, MUX_BRIDGE_CLOSED);
}

/* What only one of them may say is refused from the other. */
static void
test_mux_bridge_wrong_side(void **state)
{
	(void)state;
	test_say(test_init, INIT_BYE, 0, NULL, 0);
	assert_int_equal(test_host.state, MUX_BRIDGE_BROKEN);
	assert_string_equal(test_host.detail, "a record it must not send");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_begin, test_end)
	const struct CMUnitTest tests[] = {
	    TEST(test_mux_bridge_records),
	    TEST(test_mux_bridge_order),
	    TEST(test_mux_bridge_trees),
	    TEST(test_mux_bridge_standard),
	    TEST(test_mux_bridge_connections),
	    TEST(test_mux_bridge_reset),
	    TEST(test_mux_bridge_stall),
	    TEST(test_mux_bridge_stall_standard),
	    TEST(test_mux_bridge_break),
	    TEST(test_mux_bridge_many),
	    TEST(test_mux_bridge_garbage),
	    TEST(test_mux_bridge_supervisor_gone),
	    TEST(test_mux_bridge_wrong_side),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
