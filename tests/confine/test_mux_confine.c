/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's profile in mode mux, tried: what no confined process may do,
 * what this one may besides (pipes, splice, pairs of unix sockets, sealed
 * memory), and what it may not although its table stands near it: it never
 * makes another socket, accepts, dials, listens or opens.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/gate/mux_host.h"
#include "tests/support/confine_calls.h"

static int
test_mux_confine_enter(void)
{
	const struct confine_spec spec = {
	    .uid = 65534, .gid = 65534, .landlock_required = true};
	struct confine_layers layers;
	char detail[256] = "";

	confine_preload();
	return mux_host_confine(&spec, &layers, detail, sizeof(detail)) ==
		       RESULT_OK
		   ? 0
		   : 1;
}

static void
i02_mux_confine_forbidden(void **state)
{
	struct confine_calls_row rows[64];
	size_t count = 0, own = 0;

	(void)state;
	assert_true(confine_calls_forbidden_count <= 64);
	for (size_t i = 0; i < confine_calls_forbidden_count; i++) {
		rows[count] = confine_calls_forbidden[i];
		/* Its own, and tried below. */
		if (rows[count].number == SYS_socketpair ||
		    rows[count].number == SYS_memfd_create)
			own++;
		else
			count++;
	}
	assert_int_equal(own, 2);
	confine_calls_check(rows, count, test_mux_confine_enter);
}

static void
test_mux_confine_calls(void **state)
{
	static int ends[2];
	const struct confine_calls_row rows[] = {
	    {"pipe2", SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0,
		CONFINE_CALLS_WORKED},
	    {"fcntl F_SETPIPE_SZ", SYS_fcntl, -1, F_SETPIPE_SZ, 1 << 20, 0,
		CONFINE_CALLS_PASSED},
	    {"fcntl F_ADD_SEALS", SYS_fcntl, -1, F_ADD_SEALS, 0, 0,
		CONFINE_CALLS_PASSED},
	    {"memfd_create", SYS_memfd_create, (long)"x", 0, 0, 0,
		CONFINE_CALLS_WORKED},
	    {"socketpair unix", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0,
		(long)ends, CONFINE_CALLS_WORKED},
	    {"socketpair inet", SYS_socketpair, AF_INET, SOCK_STREAM, 0,
		(long)ends, CONFINE_CALLS_KILLED},
	    {"shutdown", SYS_shutdown, -1, SHUT_WR, 0, 0, CONFINE_CALLS_PASSED},
	    {"ppoll", SYS_ppoll, 0, -1, 0, 0, CONFINE_CALLS_PASSED},
	    {"socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0,
		CONFINE_CALLS_KILLED},
	    {"socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0,
		CONFINE_CALLS_KILLED},
	    {"connect", SYS_connect, -1, 0, 0, 0, CONFINE_CALLS_KILLED},
	    {"bind", SYS_bind, -1, 0, 0, 0, CONFINE_CALLS_KILLED},
	    {"bind inet", SYS_bind, -1, 0, 16, 0, CONFINE_CALLS_KILLED},
	    {"bind of no name", SYS_bind, -1, 0, 2, 0, CONFINE_CALLS_PASSED},
	    {"getpeername", SYS_getpeername, -1, 0, 0, 0, CONFINE_CALLS_PASSED},
	    {"listen", SYS_listen, -1, 1, 0, 0, CONFINE_CALLS_KILLED},
	    {"accept4", SYS_accept4, -1, 0, 0, 0, CONFINE_CALLS_KILLED},
	    {"vmsplice", SYS_vmsplice, -1, 0, 0, 0, CONFINE_CALLS_KILLED},
	    {"tee", SYS_tee, -1, -1, 1, 0, CONFINE_CALLS_KILLED},
	    {"sendfile", SYS_sendfile, -1, -1, 0, 1, CONFINE_CALLS_KILLED},
	    {"pwrite64", SYS_pwrite64, -1, (long)"x", 1, 0,
		CONFINE_CALLS_KILLED},
	    {"fcntl F_SETOWN", SYS_fcntl, -1, F_SETOWN, 0, 0,
		CONFINE_CALLS_KILLED},
	    {"fcntl F_NOTIFY", SYS_fcntl, -1, F_NOTIFY, 0, 0,
		CONFINE_CALLS_KILLED},
	};

	(void)state;
	confine_calls_check(
	    rows, sizeof(rows) / sizeof(rows[0]), test_mux_confine_enter);
}

/* What it is for: bytes of one pipe into another, by splice alone. */
static int
test_mux_confine_move(void)
{
	int from[2], to[2];
	char byte = '\0';

	if (pipe2(from, O_CLOEXEC) != 0 || pipe2(to, O_CLOEXEC) != 0)
		return 1;
	if (write(from[1], "x", 1) != 1 ||
	    splice(from[0], NULL, to[1], NULL, 1,
		SPLICE_F_MOVE | SPLICE_F_NONBLOCK) != 1)
		return 2;
	return read(to[0], &byte, 1) == 1 && byte == 'x' ? 0 : 3;
}

static void
test_mux_confine_works(void **state)
{
	(void)state;
	assert_int_equal(
	    confine_calls_run(test_mux_confine_enter, test_mux_confine_move),
	    0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i02_mux_confine_forbidden),
	    cmocka_unit_test(test_mux_confine_calls),
	    cmocka_unit_test(test_mux_confine_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
