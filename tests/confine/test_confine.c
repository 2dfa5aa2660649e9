/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/confine, the filter: every forbidden call is tried in a child of
 * its own and must die or be refused, and gets an answer without the
 * filter; every needed one must work.
 */
#define CONFINE_INTERNAL
#include "common/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "tests/support/confine_run.h"

/* Raw, so that no library decides before the kernel does. */
#define TEST_TRY(name, call)                            \
	static int test_confine_try_##name(void)        \
	{                                               \
		return confine_run_errno((long)(call)); \
	}

TEST_TRY(socket, syscall(SYS_socket, AF_INET, SOCK_STREAM, 0))
TEST_TRY(socket_unix, syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
TEST_TRY(socket_vsock, syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0))
TEST_TRY(socketpair, syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, NULL))
TEST_TRY(connect, syscall(SYS_connect, 3, NULL, 0))
TEST_TRY(bind, syscall(SYS_bind, 3, NULL, 0))
TEST_TRY(listen, syscall(SYS_listen, 3, 1))
TEST_TRY(accept, syscall(SYS_accept4, 3, NULL, NULL, 0))
TEST_TRY(execve, syscall(SYS_execve, "/bin/true", NULL, NULL))
TEST_TRY(execveat, syscall(SYS_execveat, 0, "", NULL, NULL, AT_EMPTY_PATH))
TEST_TRY(ptrace, syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0))
TEST_TRY(clone, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
TEST_TRY(clone_user, syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0))
TEST_TRY(clone3, syscall(SYS_clone3, NULL, 0))
TEST_TRY(fork, syscall(SYS_fork))
TEST_TRY(vfork_thread, syscall(SYS_clone, CLONE_VM | CLONE_THREAD, 0))
TEST_TRY(unshare, syscall(SYS_unshare, CLONE_NEWUSER))
TEST_TRY(setns, syscall(SYS_setns, 0, 0))
TEST_TRY(io_uring, syscall(SYS_io_uring_setup, 1, NULL))
TEST_TRY(bpf, syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0))
TEST_TRY(perf, syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0))
TEST_TRY(userfaultfd, syscall(SYS_userfaultfd, 0))
TEST_TRY(keyctl, syscall(SYS_keyctl, 0, 0))
TEST_TRY(add_key, syscall(SYS_add_key, "user", "a", "b", 1, -3))
TEST_TRY(mount, syscall(SYS_mount, "a", "/", "tmpfs", 0, NULL))
TEST_TRY(fsopen, syscall(SYS_fsopen, "tmpfs", 0))
TEST_TRY(pivot_root, syscall(SYS_pivot_root, "/", "/"))
TEST_TRY(chroot, syscall(SYS_chroot, "/"))
TEST_TRY(chdir, syscall(SYS_chdir, "/"))
TEST_TRY(unlink, syscall(SYS_unlink, "/nowhere"))
TEST_TRY(rename, syscall(SYS_rename, "/nowhere", "/nowhere2"))
TEST_TRY(link, syscall(SYS_link, "/nowhere", "/nowhere2"))
TEST_TRY(symlink, syscall(SYS_symlink, "/nowhere", "/nowhere2"))
TEST_TRY(chmod, syscall(SYS_chmod, "/nowhere", 0))
TEST_TRY(mknod, syscall(SYS_mknod, "/nowhere", 0, 0))
TEST_TRY(truncate, syscall(SYS_truncate, "/nowhere", 0))
TEST_TRY(getdents, syscall(SYS_getdents64, 0, NULL, 0))
TEST_TRY(name_to_handle, syscall(SYS_name_to_handle_at, 0, "", NULL, NULL, 0))
TEST_TRY(open_by_handle, syscall(SYS_open_by_handle_at, 0, NULL, 0))
TEST_TRY(memfd_create, syscall(SYS_memfd_create, "x", 0))
TEST_TRY(memfd_secret, syscall(SYS_memfd_secret, 0))
TEST_TRY(kill, syscall(SYS_kill, 1, 0))
TEST_TRY(kill_all, syscall(SYS_kill, -1, 0))
TEST_TRY(tgkill_parent, syscall(SYS_tgkill, 1, 1, 0))
TEST_TRY(pidfd_open, syscall(SYS_pidfd_open, 1, 0))
TEST_TRY(pidfd_getfd, syscall(SYS_pidfd_getfd, 0, 0, 0))
TEST_TRY(process_vm_readv, syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0))
TEST_TRY(kcmp, syscall(SYS_kcmp, 1, 1, 0, 0, 0))
TEST_TRY(setuid, syscall(SYS_setuid, 0))
TEST_TRY(setresgid, syscall(SYS_setresgid, 0, 0, 0))
TEST_TRY(setgroups, syscall(SYS_setgroups, 0, NULL))
TEST_TRY(capset, syscall(SYS_capset, NULL, NULL))
TEST_TRY(personality, syscall(SYS_personality, 0))
TEST_TRY(seccomp, syscall(SYS_seccomp, 0, 0, NULL))
TEST_TRY(landlock, syscall(SYS_landlock_create_ruleset, NULL, 0, 1))
TEST_TRY(setrlimit, syscall(SYS_setrlimit, RLIMIT_NOFILE, NULL))
TEST_TRY(setpriority, syscall(SYS_setpriority, PRIO_PROCESS, 0, 0))
TEST_TRY(sched_setscheduler, syscall(SYS_sched_setscheduler, 0, 0, NULL))
TEST_TRY(quotactl, syscall(SYS_quotactl, 0, NULL, 0, NULL))
TEST_TRY(syslog, syscall(SYS_syslog, 10, NULL, 0))
TEST_TRY(reboot, syscall(SYS_reboot, 0, 0, 0, NULL))
TEST_TRY(init_module, syscall(SYS_init_module, NULL, 0, ""))
TEST_TRY(kexec, syscall(SYS_kexec_load, 0, 0, NULL, 0))
TEST_TRY(iopl, syscall(SYS_iopl, 3))
TEST_TRY(modify_ldt, syscall(SYS_modify_ldt, 0, NULL, 0))
TEST_TRY(shmget, syscall(SYS_shmget, 1, 4096, 0))
TEST_TRY(mq_open, syscall(SYS_mq_open, "x", 0, 0, NULL))
TEST_TRY(inotify, syscall(SYS_inotify_init1, 0))
TEST_TRY(fanotify, syscall(SYS_fanotify_init, 0, 0))
TEST_TRY(timer_create, syscall(SYS_timer_create, 0, NULL, NULL))
TEST_TRY(dup2, syscall(SYS_dup2, 0, 9))
TEST_TRY(splice, syscall(SYS_splice, 0, NULL, 1, NULL, 1, 0))
TEST_TRY(ioctl_tiocsti, syscall(SYS_ioctl, 0, 0x5412, "x"))
TEST_TRY(fcntl_setown, syscall(SYS_fcntl, 0, F_SETOWN, 1))
TEST_TRY(fcntl_setlk, syscall(SYS_fcntl, 0, F_SETLK, NULL))
TEST_TRY(mmap_exec, syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
TEST_TRY(mprotect_exec, syscall(SYS_mprotect, 0, 4096, PROT_EXEC))
TEST_TRY(pkey_mprotect, syscall(SYS_pkey_mprotect, 0, 4096, PROT_EXEC, -1))
TEST_TRY(remap_file_pages, syscall(SYS_remap_file_pages, 0, 0, 0, 0, 0))
TEST_TRY(unknown_call, syscall(1999))
TEST_TRY(x32_call, syscall(0x40000000 | SYS_getpid))

TEST_TRY(open, syscall(SYS_open, "/etc/passwd", O_RDONLY))
TEST_TRY(open_write, syscall(SYS_open, "/tmp/nowhere", O_CREAT | O_WRONLY, 0))
TEST_TRY(openat, syscall(SYS_openat, AT_FDCWD, "/etc/hosts", O_RDONLY))
TEST_TRY(openat2, syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0))
TEST_TRY(creat, syscall(SYS_creat, "/tmp/nowhere", 0))
TEST_TRY(stat, syscall(SYS_stat, "/etc/passwd", NULL))
TEST_TRY(newfstatat, syscall(SYS_newfstatat, AT_FDCWD, "/", NULL, 0))
TEST_TRY(statx, syscall(SYS_statx, AT_FDCWD, "/", 0, 0, NULL))
TEST_TRY(access, syscall(SYS_access, "/etc/passwd", R_OK))
TEST_TRY(faccessat2, syscall(SYS_faccessat2, AT_FDCWD, "/", R_OK, 0))
TEST_TRY(readlink, syscall(SYS_readlink, "/proc/self/exe", NULL, 0))
TEST_TRY(mkdir, syscall(SYS_mkdir, "/tmp/nowhere", 0))

/* A 32-bit call by the old gate: foreign architecture. */
static int
test_confine_try_int80(void)
{
#if defined(__x86_64__)
	long result = 20; /* getpid of i386 */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
	return result < 0 ? (int)-result : 0;
#else
	return confine_run_errno(syscall(1999));
#endif
}

struct test_confine_row {
	const char *name;
	confine_run_try *try;
};

#define ROW(name)                              \
	{                                      \
#name, test_confine_try_##name \
	}

static const struct test_confine_row test_confine_dies[] = {ROW(socket),
    ROW(socket_unix), ROW(socket_vsock), ROW(socketpair), ROW(connect),
    ROW(bind), ROW(listen), ROW(accept), ROW(execve), ROW(execveat),
    ROW(ptrace), ROW(clone), ROW(clone_user), ROW(clone3), ROW(fork),
    ROW(vfork_thread), ROW(unshare), ROW(setns), ROW(io_uring), ROW(bpf),
    ROW(perf), ROW(userfaultfd), ROW(keyctl), ROW(add_key), ROW(mount),
    ROW(fsopen), ROW(pivot_root), ROW(chroot), ROW(chdir), ROW(unlink),
    ROW(rename), ROW(link), ROW(symlink), ROW(chmod), ROW(mknod), ROW(truncate),
    ROW(getdents), ROW(name_to_handle), ROW(open_by_handle), ROW(memfd_create),
    ROW(memfd_secret), ROW(kill), ROW(kill_all), ROW(tgkill_parent),
    ROW(pidfd_open), ROW(pidfd_getfd), ROW(process_vm_readv), ROW(kcmp),
    ROW(setuid), ROW(setresgid), ROW(setgroups), ROW(capset), ROW(personality),
    ROW(seccomp), ROW(landlock), ROW(setrlimit), ROW(setpriority),
    ROW(sched_setscheduler), ROW(quotactl), ROW(syslog), ROW(reboot),
    ROW(init_module), ROW(kexec), ROW(iopl), ROW(modify_ldt), ROW(shmget),
    ROW(mq_open), ROW(inotify), ROW(fanotify), ROW(timer_create), ROW(dup2),
    ROW(splice), ROW(fcntl_setown), ROW(fcntl_setlk), ROW(mmap_exec),
    ROW(mprotect_exec), ROW(pkey_mprotect), ROW(remap_file_pages),
    ROW(unknown_call), ROW(x32_call), ROW(int80)};

static const struct test_confine_row test_confine_eacces[] = {ROW(open),
    ROW(open_write), ROW(openat), ROW(openat2), ROW(creat), ROW(stat),
    ROW(newfstatat), ROW(statx), ROW(access), ROW(faccessat2), ROW(readlink),
    ROW(mkdir)};

static void
test_confine_forbidden_dies(void **state)
{
	struct confine_spec spec = confine_run_spec();
	size_t i;
	int status;

	(void)state;
	for (i = 0;
	     i < sizeof(test_confine_dies) / sizeof(test_confine_dies[0]);
	     i++) {
		status = confine_run(&spec, NULL, test_confine_dies[i].try);
		if (!confine_run_killed(status))
			fail_msg("%s: wait status %#x, not SIGSYS",
			    test_confine_dies[i].name, (unsigned)status);
	}
}

/* The filter taken away: every call that dies with it gets an answer of
 * some kind without it (those that would end or stop the machine aside). */
static void
test_confine_filter_matters(void **state)
{
	struct confine_spec spec = confine_run_spec();
	struct confine_step steps[16];
	size_t i;
	int status;

	(void)state;
	confine_run_without(
	    steps, (const char *const[]){"seccomp", "", "", ""});
	for (i = 0;
	     i < sizeof(test_confine_dies) / sizeof(test_confine_dies[0]);
	     i++) {
		const char *name = test_confine_dies[i].name;

		if (strcmp(name, "kill_all") == 0 ||
		    strcmp(name, "fork") == 0 || strncmp(name, "clone", 5) == 0)
			continue;
		status = confine_run(&spec, steps, test_confine_dies[i].try);
		if (confine_run_killed(status))
			fail_msg("%s dies without the filter too", name);
	}
}

static void
test_confine_files_eacces(void **state)
{
	struct confine_spec spec = confine_run_spec();
	size_t i;
	int status;

	(void)state;
	for (i = 0;
	     i < sizeof(test_confine_eacces) / sizeof(test_confine_eacces[0]);
	     i++) {
		status = confine_run(&spec, NULL, test_confine_eacces[i].try);
		if (!confine_run_got(status, EACCES))
			fail_msg("%s: wait status %#x, not EACCES",
			    test_confine_eacces[i].name, (unsigned)status);
	}
}

/* What every process does: the loop, its socket, memory, time, the end. */
static int
test_confine_try_needed(void)
{
	struct timespec now;
	void *small[64], *big;
	int i, copy;
	char byte;

	for (i = 0; i < 64; i++)
		small[i] = malloc(20000);
	for (i = 0; i < 64; i++)
		free(small[i]);
	big = malloc(64 << 20);
	big = realloc(big, 80 << 20);
	if (big == NULL)
		return ENOMEM;
	free(big);
	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0)
		return 1;
	if (syscall(SYS_getrandom, &now, sizeof(now), 0) < 0)
		return 2;
	copy = fcntl(0, F_DUPFD_CLOEXEC, 10);
	if (copy < 0 || fcntl(copy, F_GETFD) != FD_CLOEXEC ||
	    fcntl(copy, F_GETFL) < 0)
		return 3;
	if (read(copy, &byte, 1) < 0 || close(copy) != 0)
		return 4;
	if (write(2, "", 0) != 0)
		return 5;
	return 0;
}

static int test_confine_pair[2];
static struct event_base *test_confine_loop;

static void
test_confine_on_readable(evutil_socket_t fd, short what, void *context)
{
	int *got = context, fds[1];
	size_t len, count;
	char bytes[8];

	(void)what;
	if (fd_receive(fd, bytes, sizeof(bytes), &len, fds, 1, &count) ==
		RESULT_OK &&
	    count == 1)
		*got = (int)len;
	event_loop_stop(test_confine_loop);
}

static int
test_confine_try_loop(void)
{
	struct event *event;
	int got = 0, zero = 0;

	event = event_new(test_confine_loop, test_confine_pair[1],
	    EV_READ | EV_PERSIST, test_confine_on_readable, &got);
	if (event == NULL || event_add(event, NULL) != 0 ||
	    fd_set_nonblocking(test_confine_pair[1], true) != RESULT_OK ||
	    fd_send(test_confine_pair[0], "abc", 3, &zero, 1) != RESULT_OK ||
	    event_loop_run(test_confine_loop) != RESULT_OK)
		return 1;
	event_free(event);
	return got == 3 ? 0 : 2;
}

static int
test_confine_try_abort(void)
{
	abort();
}

/* With exit handlers, a leak checker among them in sanitizer builds. */
static int
test_confine_try_exit(void)
{
	void *volatile leaked = malloc(1000);

	leaked = NULL;
	(void)leaked;
	exit(0);
}

static void
test_confine_needed_works(void **state)
{
	struct confine_spec spec = confine_run_spec();
	int status;

	(void)state;
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_try_needed)));
	assert_int_equal(event_loop_new(&test_confine_loop), RESULT_OK);
	assert_int_equal(fd_socketpair(test_confine_pair), RESULT_OK);
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_try_loop)));
	fd_close(&test_confine_pair[0]);
	fd_close(&test_confine_pair[1]);
	event_base_free(test_confine_loop);
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_try_exit)));
	/* a crash of our own dies under its own name */
	status = confine_run(&spec, NULL, test_confine_try_abort);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* Rows of a process's own table. */
static int
test_confine_try_socket_inet6(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : 0;
}

static void
test_confine_table_rows(void **state)
{
	static const struct confine_syscall rows[] = {
	    {SYS_socket, CONFINE_ALLOW_ARG0, AF_INET, "test"},
	    {SYS_socket, CONFINE_ALLOW_ARG0, AF_INET6, "test"},
	    {SYS_clone3, CONFINE_ENOSYS, 0, "test"},
	    {SYS_kill, CONFINE_EACCES, 0, "test"},
	    {SYS_unlink, CONFINE_ALLOW, 0, "test"},
	    {SYS_newfstatat, CONFINE_ALLOW, 0, "test"},
	    {SYS_fcntl, CONFINE_ALLOW_ARG1, F_SETOWN, "test"},
	    {-1, CONFINE_EACCES, 0, NULL}};
	struct confine_spec spec = confine_run_spec();

	(void)state;
	spec.syscalls = rows;
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_try_socket)));
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_try_socket_inet6)));
	assert_true(confine_run_killed(
	    confine_run(&spec, NULL, test_confine_try_socket_unix)));
	assert_true(confine_run_got(
	    confine_run(&spec, NULL, test_confine_try_clone3), ENOSYS));
	assert_true(confine_run_got(
	    confine_run(&spec, NULL, test_confine_try_kill), EACCES));
	/* through the filter; Landlock has the next word */
	assert_true(
	    confine_run_got(
		confine_run(&spec, NULL, test_confine_try_unlink), EACCES) ||
	    confine_run_got(
		confine_run(&spec, NULL, test_confine_try_unlink), ENOENT));
	assert_true(confine_run_got(
	    confine_run(&spec, NULL, test_confine_try_newfstatat), EFAULT));
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_try_needed)));
	assert_false(confine_run_killed(
	    confine_run(&spec, NULL, test_confine_try_fcntl_setown)));
	assert_true(confine_run_killed(
	    confine_run(&spec, NULL, test_confine_try_fcntl_setlk)));
}

static void
test_confine_ioctl(void **state)
{
	struct confine_spec spec = confine_run_spec();
	int status = confine_run(&spec, NULL, test_confine_try_ioctl_tiocsti);

	(void)state;
	/* a sanitizer asks whether its output is a terminal, so it gets an
	 * errno there */
	assert_true(
	    confine_run_killed(status) || confine_run_got(status, EACCES));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_confine_forbidden_dies),
	    cmocka_unit_test(test_confine_filter_matters),
	    cmocka_unit_test(test_confine_files_eacces),
	    cmocka_unit_test(test_confine_ioctl),
	    cmocka_unit_test(test_confine_needed_works),
	    cmocka_unit_test(test_confine_table_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
