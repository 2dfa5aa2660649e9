/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's end over a daemon's connection: frames that come in Docker's
 * chunks, however they were cut, and what ends the link.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_bridge.h"

static struct mux_bridge test_mux_docker_bridge;
static int test_mux_docker_daemon, test_mux_docker_control;
static int test_mux_docker_out; /* the workload's standard output */

static void
test_mux_docker_turn(void)
{
	struct pollfd polls[MUX_BRIDGE_POLLS];
	int timeout;
	unsigned count =
	    mux_bridge_polls(&test_mux_docker_bridge, polls, 1, &timeout);

	assert_true(poll(polls, count, 0) >= 0);
	mux_bridge_turn(&test_mux_docker_bridge, polls, count, 1);
}

static int
test_mux_docker_begin(void **state)
{
	int link[2], control[2], out[2], streams[3] = {-1, -1, -1};

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), 0);
	assert_int_equal(fd_socketpair(control), RESULT_OK);
	assert_int_equal(pipe(out), 0);
	streams[1] = out[1];
	assert_true(mux_bridge_init(&test_mux_docker_bridge, MUX_LINK_HOST,
	    link[0], dup(link[0]), control[1], streams, 1));
	mux_bridge_by_docker(&test_mux_docker_bridge);
	test_mux_docker_daemon = link[1];
	test_mux_docker_control = control[0];
	test_mux_docker_out = out[0];
	assert_int_equal(fd_set_nonblocking(out[0], true), RESULT_OK);
	test_mux_docker_turn();
	return 0;
}

static int
test_mux_docker_end(void **state)
{
	(void)state;
	mux_bridge_close(&test_mux_docker_bridge, MUX_BRIDGE_CLOSED, "");
	fd_close(&test_mux_docker_daemon);
	fd_close(&test_mux_docker_control);
	fd_close(&test_mux_docker_out);
	return 0;
}

/* As the daemon sends: a chunk of at most so many bytes behind each header. */
static void
test_mux_docker_say(const uint8_t *bytes, size_t len, size_t most)
{
	for (size_t at = 0; at < len; at += most) {
		size_t part = most < len - at ? most : len - at;
		const uint8_t head[DOCKER_STREAM_HEADER] = {
		    1, 0, 0, 0, 0, 0, (uint8_t)(part >> 8), (uint8_t)part};

		assert_int_equal(
		    write(test_mux_docker_daemon, head, sizeof(head)),
		    sizeof(head));
		test_mux_docker_turn();
		assert_int_equal(
		    write(test_mux_docker_daemon, bytes + at, part), part);
		test_mux_docker_turn();
	}
}

static void
test_mux_docker_frame(const struct mux_frame *frame, size_t most)
{
	uint8_t bytes[MUX_FRAME_CONTROL_MAX];

	test_mux_docker_say(bytes, mux_frame_encode(frame, bytes), most);
}

static void
test_mux_docker_data(size_t most)
{
	static const char text[] = "what the workload says";
	const struct mux_frame hello = {.type = MUX_FRAME_HELLO,
	    .version = MUX_FRAME_VERSION,
	    .window = MUX_LINK_WINDOW};
	const struct mux_link *link = &test_mux_docker_bridge.link;
	struct mux_frame data = {.type = MUX_FRAME_DATA};
	uint8_t bytes[MUX_FRAME_HEADER + sizeof(text)];
	char got[sizeof(text)] = "";

	test_mux_docker_frame(&hello, most);
	assert_true(test_mux_docker_bridge.link.hello_heard);
	for (unsigned i = 0; i < MUX_LINK_STREAMS; i++) {
		if (link->streams[i].id != 0 &&
		    link->streams[i].kind == MUX_KIND_STDOUT)
			data.stream = link->streams[i].id;
	}
	data.length = sizeof(text);
	mux_frame_header(&data, bytes);
	memcpy(bytes + MUX_FRAME_HEADER, text, sizeof(text));
	test_mux_docker_say(bytes, sizeof(bytes), most);
	assert_int_equal(
	    read(test_mux_docker_out, got, sizeof(got)), sizeof(text));
	assert_string_equal(got, text);
	assert_int_equal(test_mux_docker_bridge.state, MUX_BRIDGE_RUNNING);
}

static void
test_mux_docker_whole(void **state)
{
	(void)state;
	test_mux_docker_data(4096);
}

static void
test_mux_docker_bytes(void **state)
{
	(void)state;
	test_mux_docker_data(1);
}

static void
test_mux_docker_stderr(void **state)
{
	(void)state;
	assert_int_equal(
	    write(test_mux_docker_daemon, "\2\0\0\0\0\0\0\1x", 9), 9);
	test_mux_docker_turn();
	assert_int_equal(test_mux_docker_bridge.state, MUX_BRIDGE_BROKEN);
	assert_string_equal(test_mux_docker_bridge.detail,
	    docker_stream_text(DOCKER_STREAM_BAD_KIND));
}

static void
test_mux_docker_cut(void **state)
{
	(void)state;
	assert_int_equal(write(test_mux_docker_daemon, "\1\0\0\0\0", 5), 5);
	test_mux_docker_turn();
	fd_close(&test_mux_docker_daemon);
	test_mux_docker_turn();
	assert_int_equal(test_mux_docker_bridge.state, MUX_BRIDGE_CLOSED);
	assert_string_equal(
	    test_mux_docker_bridge.detail, "the link ended within a frame");
}

#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(test_mux_docker_##name, \
	    test_mux_docker_begin, test_mux_docker_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(whole), TEST(bytes), TEST(stderr), TEST(cut)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
