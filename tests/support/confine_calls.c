/* SPDX-License-Identifier: Apache-2.0 */
/* See confine_calls.h. */
#include "tests/support/confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLED CONFINE_CALLS_KILLED
#define DENIED CONFINE_CALLS_EACCES
#define PASSWD ((long)"/etc/passwd")
#define SOMEWHERE ((long)"/tmp/x")

static char confine_calls_buffer[16];
#define BUFFER ((long)confine_calls_buffer)

const struct confine_calls_row confine_calls_forbidden[] = {
    {"openat", SYS_openat, AT_FDCWD, PASSWD, O_RDONLY, 0, DENIED},
    {"openat proc", SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDONLY, 0,
	DENIED},
    {"newfstatat", SYS_newfstatat, AT_FDCWD, (long)"/", BUFFER, 0, DENIED},
    {"readlinkat", SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", BUFFER, 8,
	DENIED},
    {"mkdirat", SYS_mkdirat, AT_FDCWD, SOMEWHERE, 0700, 0, DENIED},
    {"unlinkat", SYS_unlinkat, AT_FDCWD, SOMEWHERE, 0, 0, KILLED},
    {"renameat2", SYS_renameat2, AT_FDCWD, SOMEWHERE, AT_FDCWD, SOMEWHERE,
	KILLED},
    {"socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, KILLED},
    {"socket netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0, KILLED},
    {"socket vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0, 0, KILLED},
    {"socket packet", SYS_socket, AF_PACKET, SOCK_RAW, 0, 0, KILLED},
    {"socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, BUFFER, KILLED},
    {"bind", SYS_bind, -1, 0, 0, 0, KILLED},
    {"listen", SYS_listen, -1, 1, 0, 0, KILLED},
    {"execve", SYS_execve, (long)"/bin/true", 0, 0, 0, KILLED},
    {"execveat", SYS_execveat, AT_FDCWD, (long)"/bin/true", 0, 0, KILLED},
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
    {"mmap exec", SYS_mmap, 0, 4096, 7, 0x22, KILLED},
    {"mprotect exec", SYS_mprotect, 0, 4096, 5, 0, KILLED},
    {"fcntl F_SETOWN", SYS_fcntl, 0, F_SETOWN, 1, 0, KILLED},
};
const size_t confine_calls_forbidden_count =
    sizeof(confine_calls_forbidden) / sizeof(confine_calls_forbidden[0]);

static int
confine_calls_end(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? CONFINE_CALLS_KILLED
						  : CONFINE_CALLS_ENDED;
	return WEXITSTATUS(status);
}

static enum confine_calls_outcome
confine_calls_try(
    const struct confine_calls_row *row, confine_calls_enter *enter)
{
	pid_t pid = fork();
	long result;

	assert_true(pid >= 0);
	if (pid > 0)
		return (enum confine_calls_outcome)confine_calls_end(pid);
	if (enter() != 0)
		_exit(CONFINE_CALLS_SETUP);
	result = syscall(row->number, row->a, row->b, row->c, row->d);
	_exit(result >= 0       ? CONFINE_CALLS_WORKED
	      : errno == EACCES ? CONFINE_CALLS_EACCES
				: CONFINE_CALLS_PASSED);
}

void
confine_calls_check(const struct confine_calls_row *rows, size_t count,
    confine_calls_enter *enter)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < count; i++) {
		enum confine_calls_outcome got =
		    confine_calls_try(&rows[i], enter);

		if (got == rows[i].expected)
			continue;
		print_error("%s: expected %d, got %d\n", rows[i].name,
		    rows[i].expected, got);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

int
confine_calls_run(confine_calls_enter *enter, int (*inside)(void))
{
	pid_t pid = fork();
	int end;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (enter() != 0)
			_exit(CONFINE_CALLS_SETUP);
		_exit(inside());
	}
	end = confine_calls_end(pid);
	return end >= CONFINE_CALLS_WORKED ? -end : end;
}
