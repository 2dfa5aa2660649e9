/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener for one: its own client is accepted and heard, another one is
 * not, before and after.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/command/own_listener.h"

#define PATIENCE_MS 1500

/* True when somebody else can connect to where listener listens. */
static bool
test_own_listener_reached(int listener)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	struct pollfd writable;
	bool reached;

	assert_int_equal(
	    getsockname(listener, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	writable.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	writable.events = POLLOUT;
	assert_true(writable.fd >= 0);
	reached = connect(writable.fd, (struct sockaddr *)&address, len) == 0 ||
		  (errno == EINPROGRESS && poll(&writable, 1, PATIENCE_MS) > 0);
	close(writable.fd);
	return reached;
}

static void
test_own_listener_is_ours(void **state)
{
	int listener, client, accepted;
	char text[8] = "";

	(void)state;
	assert_int_equal(own_listener_make(&listener, &client), RESULT_OK);
	assert_false(test_own_listener_reached(listener));
	accepted = accept(listener, NULL, NULL);
	assert_true(accepted >= 0);
	assert_false(test_own_listener_reached(listener));
	assert_int_equal(send(client, "hello", 5, 0), 5);
	assert_int_equal(recv(accepted, text, sizeof(text), 0), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(send(accepted, "yes", 3, 0), 3);
	assert_int_equal(recv(client, text, sizeof(text), 0), 3);
	close(accepted);
	close(client);
	close(listener);
}

/* The same look at an ordinary one: it is reached. */
static void
test_own_listener_looks(void **state)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(
	    bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_true(test_own_listener_reached(listener));
	close(listener);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_own_listener_is_ours),
	    cmocka_unit_test(test_own_listener_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
