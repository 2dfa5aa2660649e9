/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's profile, tried: under broker_confine_enter every forbidden
 * call ends the process by SIGSYS (the open and stat families give EACCES),
 * and what a call takes works: accept, a lane, bytes both ways.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "llm-broker/broker_confine.h"
#include "llm-broker/key_digest.h"

enum test_broker_confine_end {
	WORKED = 10,
	DENIED,
	PASSED, /* the filter lets it through, the kernel finds fault */
	SETUP,
	OTHER,
	KILLED = 100
};

struct test_broker_confine_row {
	const char *name;
	long number, a, b, c, d;
	enum test_broker_confine_end expected;
};

static void
test_broker_confine_enter(void)
{
	struct confine_layers layers;
	char detail[256] = "";

	if (broker_confine_enter(
		65534, true, &layers, detail, sizeof(detail)) != RESULT_OK ||
	    !layers.seccomp || !layers.landlock || !layers.unprivileged ||
	    !layers.not_dumpable || !layers.no_core ||
	    !layers.no_capabilities || !layers.one_thread ||
	    !layers.no_new_privs)
		_exit(SETUP);
}

static int
test_broker_confine_wait(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : OTHER;
	return WEXITSTATUS(status);
}

static int
test_broker_confine_try(const struct test_broker_confine_row *row)
{
	pid_t pid = fork();
	long result;

	if (pid != 0)
		return test_broker_confine_wait(pid);
	test_broker_confine_enter();
	result = syscall(row->number, row->a, row->b, row->c, row->d);
	_exit(result >= 0 ? WORKED : errno == EACCES ? DENIED : PASSED);
}

static void
test_broker_confine_calls(void **state)
{
	static char space[64];
	const struct test_broker_confine_row rows[] = {
	    {"socketpair unix", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0,
		(long)space, WORKED},
	    {"accept4", SYS_accept4, -1, 0, 0, 0, PASSED},
	    {"shutdown", SYS_shutdown, -1, 1, 0, 0, PASSED},
	    {"recvfrom", SYS_recvfrom, -1, (long)space, 1, 0, PASSED},
	    {"socketpair inet", SYS_socketpair, AF_INET, SOCK_STREAM, 0,
		(long)space, KILLED},
	    {"socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, KILLED},
	    {"socket inet6", SYS_socket, AF_INET6, SOCK_STREAM, 0, 0, KILLED},
	    {"socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, KILLED},
	    {"socket netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0, KILLED},
	    {"socket vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0, 0, KILLED},
	    {"connect", SYS_connect, -1, 0, 0, 0, KILLED},
	    {"bind", SYS_bind, -1, 0, 0, 0, KILLED},
	    {"bind inet", SYS_bind, -1, 0, 16, 0, KILLED},
	    {"bind of no name", SYS_bind, -1, 0, 2, 0, PASSED},
	    {"listen", SYS_listen, -1, 1, 0, 0, KILLED},
	    {"openat", SYS_openat, AT_FDCWD, (long)"/etc/passwd", 0, 0, DENIED},
	    {"openat proc", SYS_openat, AT_FDCWD, (long)"/proc/self/mem", 2, 0,
		DENIED},
	    {"newfstatat", SYS_newfstatat, AT_FDCWD, (long)"/", (long)space, 0,
		DENIED},
	    {"unlinkat", SYS_unlinkat, AT_FDCWD, (long)"/tmp/x", 0, 0, KILLED},
	    {"execve", SYS_execve, (long)"/bin/true", 0, 0, 0, KILLED},
	    {"clone", SYS_clone, SIGCHLD, 0, 0, 0, KILLED},
	    {"ptrace", SYS_ptrace, 0, 0, 0, 0, KILLED},
	    {"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0, KILLED},
	    {"kill", SYS_kill, 1, 0, 0, 0, KILLED},
	    {"splice", SYS_splice, -1, 0, -1, 0, KILLED},
	    {"pipe2", SYS_pipe2, (long)space, 0, 0, 0, KILLED},
	    {"memfd_create", SYS_memfd_create, (long)"x", 0, 0, 0, KILLED},
	    {"pidfd_open", SYS_pidfd_open, 1, 0, 0, 0, KILLED},
	    {"pidfd_getfd", SYS_pidfd_getfd, 1, 0, 0, 0, KILLED},
	    {"setns", SYS_setns, 0, 0, 0, 0, KILLED},
	    {"unshare", SYS_unshare, 0, 0, 0, 0, KILLED},
	    {"mount", SYS_mount, 0, 0, 0, 0, KILLED},
	    {"bpf", SYS_bpf, 0, 0, 0, 0, KILLED},
	    {"keyctl", SYS_keyctl, 0, 0, 0, 0, KILLED},
	    {"io_uring_setup", SYS_io_uring_setup, 1, 0, 0, 0, KILLED},
	    {"setuid", SYS_setuid, 0, 0, 0, 0, KILLED},
	    {"mmap exec", SYS_mmap, 0, 4096, 7, 0x22, KILLED},
	    {"mprotect exec", SYS_mprotect, 0, 4096, 5, 0, KILLED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int got = test_broker_confine_try(&rows[i]);

		if (got != (int)rows[i].expected)
			fail_msg("%s: expected %d, got %d", rows[i].name,
			    rows[i].expected, got);
	}
}

/* What one call takes, in order. pair: an agent and its listener. */
static int
test_broker_confine_serve(int listener)
{
	static const uint8_t salt[KEY_DIGEST_SALT];
	uint8_t digest[KEY_DIGEST_LEN];
	int agent = fd_accept(listener, NULL), lane[2];
	char byte = 0;

	if (agent < 0 || recv(agent, &byte, 1, 0) != 1 || byte != 'x')
		return 1;
	if (!fd_is_listener(listener))
		return 2;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lane) != 0 ||
	    fd_send(lane[0], "fd", 2, &agent, 1) != RESULT_OK ||
	    send(lane[0], "y", 1, MSG_NOSIGNAL) != 1)
		return 3;
	if (key_digest_make(salt, "text", 4, digest) != RESULT_OK)
		return 4;
	if (send(agent, "z", 1, MSG_NOSIGNAL) != 1 ||
	    shutdown(agent, SHUT_WR) != 0)
		return 5;
	return WORKED;
}

static void
test_broker_confine_works(void **state)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int agent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(
	    getsockname(listener, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(connect(agent, (struct sockaddr *)&address, len), 0);
	assert_int_equal(send(agent, "x", 1, 0), 1);
	assert_int_equal(key_digest_prepare(), RESULT_OK);
	pid = fork();
	if (pid == 0) {
		test_broker_confine_enter();
		_exit(test_broker_confine_serve(listener));
	}
	assert_int_equal(test_broker_confine_wait(pid), WORKED);
	assert_int_equal(recv(agent, &byte, 1, 0), 1);
	assert_int_equal(byte, 'z');
	close(agent);
	close(listener);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_broker_confine_calls),
	    cmocka_unit_test(test_broker_confine_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
