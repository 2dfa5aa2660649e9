/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of the host that come and go, in a network namespace of the
 * test's own: each change is told, nothing else is, and what the kernel could
 * not keep counts as a change.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/engine/egress_plan.h"
#include "supervisor/engine/own_watch.h"

#define MANY 4096U /* messages, more than the kernel keeps for a socket */

static struct event_base *base;
static struct own_watch *watch;
static unsigned told;
static int control;

static void
on_changed(void *context)
{
	assert_ptr_equal(context, &told);
	told++;
}

/* lo gets this address; "0.0.0.0": it has none. */
static int
address(const char *text)
{
	struct sockaddr_in one = {.sin_family = AF_INET};
	struct ifreq request = {.ifr_name = "lo"};

	assert_int_equal(inet_pton(AF_INET, text, &one.sin_addr), 1);
	memcpy(&request.ifr_addr, &one, sizeof(one));
	return ioctl(control, SIOCSIFADDR, &request);
}

static unsigned
turn(void)
{
	told = 0;
	assert_int_not_equal(event_base_loop(base, EVLOOP_NONBLOCK), -1);
	return told;
}

static void
test_told(void **state)
{
	(void)state;
	assert_int_equal(turn(), 0);
	assert_int_equal(address("203.0.113.7"), 0);
	assert_int_equal(turn(), 1);
	assert_int_equal(turn(), 0); /* nothing is left */
	/* Several at once are one. */
	assert_int_equal(address("203.0.113.8"), 0);
	assert_int_equal(address("203.0.113.9"), 0);
	assert_int_equal(turn(), 1);
	assert_int_equal(turn(), 0);
	assert_int_equal(address("0.0.0.0"), 0);
	assert_int_equal(turn(), 1);
}

/* A link that goes up or down is no address. */
static void
test_other(void **state)
{
	struct ifreq request = {.ifr_name = "lo"};

	(void)state;
	request.ifr_mtu = 1400;
	assert_int_equal(ioctl(control, SIOCSIFMTU, &request), 0);
	assert_int_equal(turn(), 0);
}

static void
test_lost(void **state)
{
	char text[32];
	unsigned turns = 0;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(text, sizeof(text), "198.18.%u.%u",
		    i / 250 % 256, 1 + i % 250);
		assert_int_equal(address(text), 0);
	}
	while (turn() > 0)
		turns++;
	assert_true(turns > 0);
	/* And it hears again. */
	assert_int_equal(address("203.0.113.7"), 0);
	assert_int_equal(turn(), 1);
}

/* What is read again is what there is. */
static void
test_read(void **state)
{
	json_t *own = json_array();
	char *text;

	(void)state;
	assert_int_equal(address("203.0.113.21"), 0);
	assert_int_equal(egress_plan_own(own), RESULT_OK);
	text = json_dumps(own, JSON_COMPACT);
	assert_non_null(text);
	assert_non_null(strstr(text, "\"203.0.113.21/32\""));
	free(text);
	json_decref(own);
}

static int
setup(void **state)
{
	(void)state;
	if (unshare(geteuid() == 0 ? CLONE_NEWNET
				   : CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return -1;
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	base = event_base_new();
	return control >= 0 && base != NULL &&
		       own_watch_new(base, on_changed, &told, &watch) ==
			   RESULT_OK
		   ? 0
		   : -1;
}

static int
teardown(void **state)
{
	(void)state;
	own_watch_free(&watch);
	assert_null(watch);
	own_watch_free(&watch);
	event_base_free(base);
	return close(control);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_told),
	    cmocka_unit_test(test_other),
	    cmocka_unit_test(test_lost),
	    cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
