/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-key's profile, tried: what no confined process may do, what this one
 * may not besides (it serves nobody's listener), and that what a key and a
 * call need still works, secret memory made after confinement included.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/secret.h"
#include "llm-broker/key/key_confine.h"
#include "llm-broker/key/key_pattern.h"
#include "llm-broker/key/upstream_tls.h"
#include "tests/support/confine_calls.h"

static struct confine_layers test_key_confine_layers;
static struct sockaddr_in test_key_confine_address;
static int test_key_confine_listener;

static int
test_key_confine_enter(void)
{
	char detail[256] = "";

	confine_preload();
	return key_confine_enter(0, true, &test_key_confine_layers, detail,
		   sizeof(detail)) == RESULT_OK
		   ? 0
		   : 1;
}

static void
i02_key_confine_forbidden(void **state)
{
	(void)state;
	confine_calls_check(confine_calls_forbidden,
	    confine_calls_forbidden_count, test_key_confine_enter);
}

static void
test_key_confine_calls(void **state)
{
	static char buffer[8];
	const struct confine_calls_row rows[] = {
		{"socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0,
		    CONFINE_CALLS_WORKED},
		{"socket inet6", SYS_socket, AF_INET6, SOCK_DGRAM, 0, 0,
		    CONFINE_CALLS_WORKED},
		{"connect", SYS_connect, -1, 0, 0, 0, CONFINE_CALLS_PASSED},
		{"memfd_secret", 447, 0, 0, 0, 0, CONFINE_CALLS_WORKED},
		{"memfd_secret with flags", 447, 1, 0, 0, 0,
		    CONFINE_CALLS_KILLED},
		{"accept4", SYS_accept4, -1, 0, 0, 0, CONFINE_CALLS_KILLED},
		{"accept", SYS_accept, -1, 0, 0, 0, CONFINE_CALLS_KILLED},
		{"splice", SYS_splice, -1, 0, -1, 0, CONFINE_CALLS_KILLED},
		{"pipe2", SYS_pipe2, (long)buffer, 0, 0, 0,
		    CONFINE_CALLS_KILLED},
		{"munlock", SYS_munlock, 0, 0, 0, 0, CONFINE_CALLS_KILLED},
		{"shutdown", SYS_shutdown, -1, 1, 0, 0, CONFINE_CALLS_KILLED},
#if !CONFINE_SANITIZED
		{"ioctl TIOCSTI", SYS_ioctl, 0, 0x5412, (long)"x", 0,
		    CONFINE_CALLS_KILLED},
		{"prctl dumpable", SYS_prctl, 4, 1, 0, 0, CONFINE_CALLS_KILLED},
#endif
	};

	(void)state;
	confine_calls_check(
	    rows, sizeof(rows) / sizeof(rows[0]), test_key_confine_enter);
}

/* A key comes: secret memory, its patterns (random salts, digests). */
static int
test_key_confine_key(void)
{
	static const char text[] = "sk-test-0123456789abcdef";
	struct secret *key = NULL;
	json_t *patterns = NULL;
	int status = 0;

	if (secret_new(sizeof(text) - 1, &key) != RESULT_OK)
		return 1;
	if (secret_set(key, text, sizeof(text) - 1) != RESULT_OK ||
	    key_pattern_build(key, &patterns) != RESULT_OK ||
	    json_array_size(patterns) != 5)
		status = 2;
	json_decref(patterns);
	secret_free(&key);
	return status;
}

/* A call goes out: connect, and TLS begins to speak. */
static int
test_key_confine_call(void)
{
	const struct sockaddr *address =
	    (const struct sockaddr *)&test_key_confine_address;
	int on = 1, error = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(error);
	struct upstream_wire wire;
	uint8_t byte;
	size_t got;

	if (connect(fd, address, sizeof(test_key_confine_address)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 ||
	    error != 0)
		return 1;
	upstream_wire_init(&wire, fd);
	if (upstream_wire_send(&wire, "x", 1) != RESULT_OK ||
	    upstream_wire_receive(&wire, &byte, 1, &got) != RESULT_NEED_MORE)
		return 2;
	upstream_wire_close(&wire);
	return 0;
}

static int
test_key_confine_all_layers(void)
{
	const struct confine_layers *layers = &test_key_confine_layers;

	return layers->seccomp && layers->landlock && layers->unprivileged &&
		       layers->not_dumpable && layers->no_core &&
		       layers->no_capabilities && layers->one_thread &&
		       layers->no_new_privs
		   ? 0
		   : 1;
}

static void
test_key_confine_works(void **state)
{
	(void)state;
	assert_int_equal(
	    confine_calls_run(test_key_confine_enter, test_key_confine_key), 0);
	assert_int_equal(
	    confine_calls_run(test_key_confine_enter, test_key_confine_call),
	    0);
	assert_int_equal(confine_calls_run(test_key_confine_enter,
			     test_key_confine_all_layers),
	    0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i02_key_confine_forbidden),
	    cmocka_unit_test(test_key_confine_calls),
	    cmocka_unit_test(test_key_confine_works),
	};
	socklen_t len = sizeof(test_key_confine_address);
	struct upstream_tls_library *library = NULL;
	int failed;
	struct sockaddr *address = (struct sockaddr *)&test_key_confine_address;

	test_key_confine_address.sin_family = AF_INET;
	test_key_confine_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	test_key_confine_listener = socket(AF_INET, SOCK_STREAM, 0);
	if (upstream_tls_library_new(&library) != RESULT_OK ||
	    bind(test_key_confine_listener, address, len) != 0 ||
	    listen(test_key_confine_listener, 4) != 0 ||
	    getsockname(test_key_confine_listener, address, &len) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	upstream_tls_library_free(&library);
	return failed;
}
