/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's profile, tried: in a child under gate_confine_enter each
 * forbidden call must end the process by SIGSYS (or, for the open and stat
 * families, give EACCES), and moving bytes must still work.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/gate/gate_confine.h"

/* What became of the child. */
#define TEST_GATE_CONFINE_WORKED 10
#define TEST_GATE_CONFINE_EACCES 11
#define TEST_GATE_CONFINE_OTHER 12
#define TEST_GATE_CONFINE_SETUP 13
#define TEST_GATE_CONFINE_KILLED 100

struct test_gate_confine_row {
	const char *name;
	long number, a, b, c, d;
	int expected;
};

static int test_gate_confine_pipe[2];

static int
test_gate_confine_verdict(long result)
{
	if (result >= 0)
		return TEST_GATE_CONFINE_WORKED;
	return errno == EACCES ? TEST_GATE_CONFINE_EACCES
			       : TEST_GATE_CONFINE_OTHER;
}

static int
test_gate_confine_try(
    const struct test_gate_confine_row *row, enum gate_mode mode)
{
	struct gate_config config = {.uid = 65534};
	struct confine_layers layers;
	char detail[256];
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		config.options.line_max = 1 << 20;
		config.options.mode = mode;
		if (gate_confine_enter(
			&config, &layers, detail, sizeof(detail)) != RESULT_OK)
			_exit(TEST_GATE_CONFINE_SETUP);
		_exit(test_gate_confine_verdict(
		    syscall(row->number, row->a, row->b, row->c, row->d)));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? TEST_GATE_CONFINE_KILLED
						  : TEST_GATE_CONFINE_OTHER;
	return WEXITSTATUS(status);
}

#define KILLED TEST_GATE_CONFINE_KILLED
#define DENIED TEST_GATE_CONFINE_EACCES
#define WORKED TEST_GATE_CONFINE_WORKED

static void
test_gate_confine_calls(void **state)
{
	static char buffer[8];
	const struct test_gate_confine_row rows[] = {
	    {"write", SYS_write, test_gate_confine_pipe[1], (long)"x", 1, 0,
		WORKED},
	    {"read", SYS_read, test_gate_confine_pipe[0], (long)buffer, 1, 0,
		WORKED},
	    {"fcntl F_GETFL", SYS_fcntl, test_gate_confine_pipe[0], F_GETFL, 0,
		0, WORKED},
	    {"openat", SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY, 0,
		DENIED},
	    {"openat proc", SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
		O_RDONLY, 0, DENIED},
	    {"newfstatat", SYS_newfstatat, AT_FDCWD, (long)"/", (long)buffer, 0,
		DENIED},
	    {"mkdirat", SYS_mkdirat, AT_FDCWD, (long)"/tmp/x", 0700, 0, DENIED},
	    {"unlinkat", SYS_unlinkat, AT_FDCWD, (long)"/tmp/x", 0, 0, KILLED},
	    {"renameat2", SYS_renameat2, AT_FDCWD, (long)"/tmp/x", AT_FDCWD,
		(long)"/tmp/y", KILLED},
	    {"socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, KILLED},
	    {"socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, KILLED},
	    {"socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0,
		(long)buffer, KILLED},
	    {"connect", SYS_connect, 0, 0, 0, 0, KILLED},
	    {"bind", SYS_bind, 0, 0, 0, 0, KILLED},
	    {"listen", SYS_listen, 0, 1, 0, 0, KILLED},
	    {"accept4", SYS_accept4, 0, 0, 0, 0, KILLED},
	    {"execve", SYS_execve, (long)"/bin/true", 0, 0, 0, KILLED},
	    {"execveat", SYS_execveat, AT_FDCWD, (long)"/bin/true", 0, 0,
		KILLED},
	    {"clone", SYS_clone, SIGCHLD, 0, 0, 0, KILLED},
	    {"ptrace", SYS_ptrace, 0, 0, 0, 0, KILLED},
	    {"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0, KILLED},
	    {"kill", SYS_kill, 1, 0, 0, 0, KILLED},
	    {"kill own group", SYS_kill, 0, SIGKILL, 0, 0, KILLED},
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
	    {"pipe2", SYS_pipe2, (long)buffer, 0, 0, 0, KILLED},
	    {"mmap exec", SYS_mmap, 0, 4096, 7, 0x22, KILLED},
	    {"ioctl TIOCSTI", SYS_ioctl, 0, 0x5412, (long)"x", 0, KILLED},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int got = test_gate_confine_try(&rows[i], GATE_MCP);

#if defined(__SANITIZE_ADDRESS__)
		/* The sanitizer's run time asks terminals; see confine.c. */
		if (rows[i].number == SYS_ioctl)
			continue;
#endif
		if (got != rows[i].expected)
			fail_msg("%s: expected %d, got %d", rows[i].name,
			    rows[i].expected, got);
	}
}

/* What the modes with descriptors of their own may do besides, and what
 * they may not either. A bad descriptor shows that the call got through. */
static void
test_gate_confine_modes(void **state)
{
	const struct {
		struct test_gate_confine_row row;
		int caller;
	} rows[] = {
	    {{"accept4", SYS_accept4, -1, 0, 0, 0, TEST_GATE_CONFINE_OTHER},
		KILLED},
	    {{"getsockopt", SYS_getsockopt, -1, 0, 0, 0,
		 TEST_GATE_CONFINE_OTHER},
		KILLED},
	    {{"memfd_create", SYS_memfd_create, (long)"x", 0, 0, 0, WORKED},
		WORKED},
	    {{"pwrite64", SYS_pwrite64, -1, (long)"x", 1, 0,
		 TEST_GATE_CONFINE_OTHER},
		TEST_GATE_CONFINE_OTHER},
	    {{"fcntl F_ADD_SEALS", SYS_fcntl, -1, F_ADD_SEALS, 0, 0,
		 TEST_GATE_CONFINE_OTHER},
		TEST_GATE_CONFINE_OTHER},
	    {{"fcntl F_SETOWN", SYS_fcntl, -1, F_SETOWN, 0, 0, KILLED}, KILLED},
	    {{"socket", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, KILLED},
		KILLED},
	    {{"accept", SYS_accept, -1, 0, 0, 0, KILLED}, KILLED},
	    {{"bind", SYS_bind, 0, 0, 0, 0, KILLED}, KILLED},
	    {{"listen", SYS_listen, 0, 1, 0, 0, KILLED}, KILLED},
	    {{"connect", SYS_connect, 0, 0, 0, 0, KILLED}, KILLED},
	    {{"setsockopt", SYS_setsockopt, -1, 0, 0, 0, KILLED}, KILLED},
	    {{"sendto", SYS_sendto, -1, 0, 0, 0, KILLED}, KILLED},
	    {{"openat", SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY, 0,
		 DENIED},
		DENIED},
	    {{"execveat memfd", SYS_execveat, -1, (long)"", 0, 0, KILLED},
		KILLED},
	    {{"mmap exec", SYS_mmap, 0, 4096, 7, 0x22, KILLED}, KILLED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int agent = test_gate_confine_try(&rows[i].row, GATE_AGENT);
		int caller = test_gate_confine_try(&rows[i].row, GATE_CALLER);

		if (agent != rows[i].row.expected)
			fail_msg("agent, %s: expected %d, got %d",
			    rows[i].row.name, rows[i].row.expected, agent);
		if (caller != rows[i].caller)
			fail_msg("caller, %s: expected %d, got %d",
			    rows[i].row.name, rows[i].caller, caller);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_confine_calls),
	    cmocka_unit_test(test_gate_confine_modes),
	};

	if (pipe(test_gate_confine_pipe) != 0 ||
	    write(test_gate_confine_pipe[1], "ab", 2) != 2)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
