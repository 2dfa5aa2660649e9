/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The egress proxy's profile, tried: in a child under proxy_confine_enter
 * each forbidden call must end the process by SIGSYS (or, for the open and
 * stat families, give EACCES), and what a connection needs must work.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "egress-proxy/proxy_confine.h"

#define TEST_PROXY_CONFINE_WORKED 10
#define TEST_PROXY_CONFINE_EACCES 11
#define TEST_PROXY_CONFINE_OTHER 12
#define TEST_PROXY_CONFINE_SETUP 13
#define TEST_PROXY_CONFINE_KILLED 100

#define KILLED TEST_PROXY_CONFINE_KILLED
#define DENIED TEST_PROXY_CONFINE_EACCES
#define WORKED TEST_PROXY_CONFINE_WORKED
/* The filter lets it through; the kernel finds fault with the arguments. */
#define PASSED TEST_PROXY_CONFINE_OTHER

struct test_proxy_confine_row {
	const char *name;
	long number, a, b, c, d;
	int expected;
};

static void
test_proxy_confine_enter(void)
{
	struct confine_layers layers;
	char detail[256] = "";

	if (proxy_confine_enter(65534, true, &layers, detail, sizeof(detail)) !=
	    RESULT_OK)
		_exit(TEST_PROXY_CONFINE_SETUP);
}

static int
test_proxy_confine_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : 99;
	return WEXITSTATUS(status);
}

static int
test_proxy_confine_try(const struct test_proxy_confine_row *row)
{
	pid_t pid = fork();
	long result;

	assert_true(pid >= 0);
	if (pid > 0)
		return test_proxy_confine_end(pid);
	test_proxy_confine_enter();
	result = syscall(row->number, row->a, row->b, row->c, row->d);
	_exit(result >= 0 ? WORKED : errno == EACCES ? DENIED : PASSED);
}

static void
test_proxy_confine_calls(void **state)
{
	static char buffer[8];
	const struct test_proxy_confine_row rows[] = {
		{"socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, WORKED},
		{"socket inet6", SYS_socket, AF_INET6, SOCK_DGRAM, 0, 0,
		    WORKED},
		{"socket raw", SYS_socket, AF_INET, SOCK_RAW, 1, 0, PASSED},
		{"pipe2", SYS_pipe2, (long)buffer, O_NONBLOCK, 0, 0, WORKED},
		{"accept4", SYS_accept4, -1, 0, 0, 0, PASSED},
		{"connect", SYS_connect, -1, 0, 0, 0, PASSED},
		{"shutdown", SYS_shutdown, -1, 1, 0, 0, PASSED},
		{"F_SETPIPE_SZ", SYS_fcntl, -1, F_SETPIPE_SZ, 4096, 0, PASSED},
		{"socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, KILLED},
		{"socket netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0,
		    KILLED},
		{"socket vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0, 0,
		    KILLED},
		{"socket packet", SYS_socket, AF_PACKET, SOCK_RAW, 0, 0,
		    KILLED},
		{"socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0,
		    (long)buffer, KILLED},
		{"bind", SYS_bind, -1, 0, 0, 0, KILLED},
		{"bind inet", SYS_bind, -1, 0, 16, 0, KILLED},
		{"bind of no name", SYS_bind, -1, 0, 2, 0, PASSED},
		{"getpeername", SYS_getpeername, -1, 0, 0, 0, PASSED},
		{"listen", SYS_listen, -1, 1, 0, 0, KILLED},
		{"openat", SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY,
		    0, DENIED},
		{"openat proc", SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
		    O_RDONLY, 0, DENIED},
		{"newfstatat", SYS_newfstatat, AT_FDCWD, (long)"/",
		    (long)buffer, 0, DENIED},
		{"readlinkat", SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe",
		    (long)buffer, 8, DENIED},
		{"unlinkat", SYS_unlinkat, AT_FDCWD, (long)"/tmp/x", 0, 0,
		    KILLED},
		{"execve", SYS_execve, (long)"/bin/true", 0, 0, 0, KILLED},
		{"execveat", SYS_execveat, AT_FDCWD, (long)"/bin/true", 0, 0,
		    KILLED},
		{"clone", SYS_clone, SIGCHLD, 0, 0, 0, KILLED},
		{"ptrace", SYS_ptrace, 0, 0, 0, 0, KILLED},
		{"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0, KILLED},
		{"kill", SYS_kill, 1, 0, 0, 0, KILLED},
		{"mount", SYS_mount, 0, 0, 0, 0, KILLED},
		{"unshare", SYS_unshare, 0, 0, 0, 0, KILLED},
		{"setns", SYS_setns, 0, 0, 0, 0, KILLED},
		{"bpf", SYS_bpf, 0, 0, 0, 0, KILLED},
		{"keyctl", SYS_keyctl, 0, 0, 0, 0, KILLED},
		{"io_uring_setup", SYS_io_uring_setup, 1, 0, 0, 0, KILLED},
		{"userfaultfd", SYS_userfaultfd, 0, 0, 0, 0, KILLED},
		{"memfd_create", SYS_memfd_create, (long)"x", 0, 0, 0, KILLED},
		{"pidfd_open", SYS_pidfd_open, 1, 0, 0, 0, KILLED},
		{"pidfd_getfd", SYS_pidfd_getfd, 1, 0, 0, 0, KILLED},
		{"setuid", SYS_setuid, 0, 0, 0, 0, KILLED},
		{"mmap exec", SYS_mmap, 0, 4096, 7, 0x22, KILLED},
		{"mprotect exec", SYS_mprotect, 0, 4096, 5, 0, KILLED},
		{"fcntl F_SETOWN", SYS_fcntl, 0, F_SETOWN, 1, 0, KILLED},
#if !defined(__SANITIZE_ADDRESS__)
		{"ioctl TIOCSTI", SYS_ioctl, 0, 0x5412, (long)"x", 0, KILLED},
#endif
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int got = test_proxy_confine_try(&rows[i]);

		if (got != rows[i].expected)
			fail_msg("%s: expected %d, got %d", rows[i].name,
			    rows[i].expected, got);
	}
}

static int
test_proxy_confine_listen(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)address, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &len), 0);
	return fd;
}

/* What one connection takes, in order: accept, dial, splice, half-close. */
static int
test_proxy_confine_serve(int listener, const struct sockaddr_in *address)
{
	const struct linger now = {1, 0};
	int client, accepted, error = 1, fds[2];
	socklen_t len = sizeof(error);
	char byte = 0;

	client = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(client, (const struct sockaddr *)address,
		sizeof(*address)) != 0 ||
	    getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &len) != 0 ||
	    error != 0)
		return 1;
	accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (accepted < 0 || send(client, "x", 1, MSG_NOSIGNAL) != 1 ||
	    pipe2(fds, O_CLOEXEC) != 0 ||
	    fcntl(fds[1], F_SETPIPE_SZ, 65536) < 65536)
		return 2;
	if (splice(accepted, NULL, fds[1], NULL, 1, SPLICE_F_MOVE) != 1 ||
	    splice(fds[0], NULL, accepted, NULL, 1, SPLICE_F_MOVE) != 1 ||
	    recv(client, &byte, 1, 0) != 1 || byte != 'x')
		return 3;
	if (shutdown(client, SHUT_WR) != 0 || recv(accepted, &byte, 1, 0) != 0)
		return 4;
	if (setsockopt(accepted, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) !=
		0 ||
	    close(accepted) != 0)
		return 5;
	return 0;
}

static void
test_proxy_confine_works(void **state)
{
	struct sockaddr_in address;
	int listener = test_proxy_confine_listen(&address);
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		test_proxy_confine_enter();
		_exit(test_proxy_confine_serve(listener, &address));
	}
	assert_int_equal(test_proxy_confine_end(pid), 0);
	close(listener);
}

/* Nothing is missing: the kernel was asked, not the calls believed. */
static void
test_proxy_confine_layers(void **state)
{
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct confine_layers layers;
		char detail[256] = "";

		if (proxy_confine_enter(
			0, true, &layers, detail, sizeof(detail)) != RESULT_OK)
			_exit(1);
		_exit(layers.seccomp && layers.landlock &&
			      layers.unprivileged && layers.not_dumpable &&
			      layers.no_core && layers.no_capabilities &&
			      layers.one_thread && layers.no_new_privs
			  ? 0
			  : 2);
	}
	assert_int_equal(test_proxy_confine_end(pid), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_proxy_confine_calls),
	    cmocka_unit_test(test_proxy_confine_works),
	    cmocka_unit_test(test_proxy_confine_layers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
