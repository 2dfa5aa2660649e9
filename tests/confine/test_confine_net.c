/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/dns and common/dial inside a confined process: what their headers
 * say they need is enough, no file is wanted, and without it they die.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/dial.h"
#include "common/dns.h"
#include "common/event_loop.h"
#include "tests/support/confine_run.h"
#include "tests/support/dns_responder.h"

/* As common/dns.h and common/dial.h say. */
static const struct confine_syscall test_confine_net_rows[] = {
    {SYS_socket, CONFINE_ALLOW_ARG0, AF_INET, "dns, dial"},
    {SYS_connect, CONFINE_ALLOW, 0, "dns, dial"},
    {SYS_getsockopt, CONFINE_ALLOW, 0, "dial"},
    {SYS_sendto, CONFINE_ALLOW, 0, "dns"},
    {SYS_recvfrom, CONFINE_ALLOW, 0, "dns"},
    {SYS_setsockopt, CONFINE_ALLOW, 0, "dns over TCP"},
    {SYS_ioctl, CONFINE_ALLOW_ARG1, FIONBIO, "dns"},
    {-1, CONFINE_EACCES, 0, NULL}};

static struct event_base *test_confine_net_base;
static struct dns *test_confine_net_dns;
static uint16_t test_confine_net_port;
static int test_confine_net_result;

static void
test_confine_net_dialled(enum result result, int fd,
    const struct ip_addr *address, int error, void *context)
{
	(void)address;
	(void)error;
	(void)context;
	test_confine_net_result = result == RESULT_OK && fd >= 0 ? 0 : 3;
	event_loop_stop(test_confine_net_base);
}

static void
test_confine_net_found(
    enum result result, const struct dns_answer *answer, void *context)
{
	static const struct dial_options options = {.timeout_ms = 3000};
	struct ip_addr here = {4, {127, 0, 0, 1}};
	struct dial *dial;

	(void)context;
	test_confine_net_result = 2;
	if (result != RESULT_OK || answer->count != 2 ||
	    dial_start(test_confine_net_base, &here, 1, test_confine_net_port,
		&options, test_confine_net_dialled, NULL, &dial) != RESULT_OK)
		event_loop_stop(test_confine_net_base);
}

/* Over UDP, over TCP after a truncated answer, then a connection. */
static int
test_confine_net_try(const char *text)
{
	struct dns_query *query;
	struct domain name;

	test_confine_net_result = 1;
	if (domain_parse(text, strlen(text), &name) != DOMAIN_OK ||
	    dns_lookup(test_confine_net_dns, &name, test_confine_net_found,
		NULL, &query) != RESULT_OK ||
	    event_loop_run(test_confine_net_base) != RESULT_OK)
		return 1;
	return test_confine_net_result;
}

static int
test_confine_net_try_udp(void)
{
	return test_confine_net_try("good.example");
}

static int
test_confine_net_try_tcp(void)
{
	return test_confine_net_try("trunc.example");
}

/* The responder runs in a child of its own. */
static pid_t
test_confine_net_serve(struct dns_responder *responder)
{
	struct event_base *base;
	pid_t pid;

	assert_int_equal(event_loop_new(&base), RESULT_OK);
	dns_responder_open(responder, base);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		assert_int_equal(event_reinit(base), 0);
		alarm(30);
		(void)event_loop_run(base);
		_exit(0);
	}
	return pid;
}

static void
test_confine_net_works(void **state)
{
	struct dns_options options = {.timeout_ms = 3000};
	struct confine_spec spec = confine_run_spec();
	struct dns_responder responder;
	pid_t server = test_confine_net_serve(&responder);

	(void)state;
	options.servers = responder.address;
	test_confine_net_port = responder.port;
	assert_int_equal(event_loop_new(&test_confine_net_base), RESULT_OK);
	assert_int_equal(
	    dns_new(test_confine_net_base, &options, &test_confine_net_dns),
	    RESULT_OK);
	spec.syscalls = test_confine_net_rows;
	assert_int_equal(confine_run(&spec, NULL, test_confine_net_try_udp), 0);
	assert_int_equal(confine_run(&spec, NULL, test_confine_net_try_tcp), 0);
	/* without its rows the first socket is the end */
	spec.syscalls += 1;
	assert_true(confine_run_killed(
	    confine_run(&spec, NULL, test_confine_net_try_udp)));
	dns_free(&test_confine_net_dns);
	event_base_free(test_confine_net_base);
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, NULL, 0), server);
	dns_responder_close(&responder);
	event_base_free(responder.base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_confine_net_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
