/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters made from seccomp_table, in force: each row that allows lets
 * the call through, each that refuses answers with its error, what stands
 * in no row answers ENOSYS, and high bits in an argument open nothing.
 * Every attempt is a child of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/seccomp/seccomp_table.h"
#include "supervisor/init/init_filter.h"

#define HIGH 0x100000000UL
#define NAME_MAX_LEN 64

/* errno of one call under the filters; 0 when it worked. */
static int
outcome_with(long number, const unsigned long *args, bool owner)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		long done;

		if (init_filter_enter(owner) != 0)
			_exit(255);
		done = syscall(number, args[0], args[1], args[2], args[3],
		    args[4], args[5]);
		syscall(SYS_exit_group, done < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		return -WTERMSIG(status);
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status);
}

static int
outcome(long number, const unsigned long *args)
{
	return outcome_with(number, args, false);
}

/* Arguments that do no harm: every pointer and descriptor is bad. */
static const unsigned long harmless[6] = {-1UL, -1UL, -1UL, -1UL, -1UL, -1UL};

/* Calls that would end or stop the child, wait for ever, or signal others
 * whatever the arguments: they are shown to work by everything that runs. */
static const char *const unsafe[] = {"exit", "exit_group", "pause", "fork",
    "vfork", "clone", "rt_sigreturn", "rt_sigsuspend", "kill", "tkill",
    "tgkill", "restart_syscall", "munmap", "brk", "mprotect", "mremap", "sync",
    "seccomp", "landlock_restrict_self", NULL};

static int
is_unsafe(const char *name)
{
	for (unsigned i = 0; unsafe[i] != NULL; i++) {
		if (strcmp(unsafe[i], name) == 0)
			return 1;
	}
	return 0;
}

static int
next_name(const char **cursor, char name_r[NAME_MAX_LEN])
{
	size_t len = strcspn(*cursor, " ");

	if (len == 0 || len >= NAME_MAX_LEN)
		return 0;
	memcpy(name_r, *cursor, len);
	name_r[len] = '\0';
	*cursor += len;
	*cursor += strspn(*cursor, " ");
	return 1;
}

/* Whether this kernel has the call at all. */
static int
in_kernel(int number)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 &&
			      errno == ENOSYS
			  ? 1
			  : 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

static void
test_rows_without_condition(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (size_t i = 0; i < seccomp_table_count; i++) {
		const struct seccomp_rule *rule = &seccomp_table[i];
		const char *cursor = rule->names;
		char name[NAME_MAX_LEN];

		if (rule->conditions[0].compare != SECCOMP_COMPARE_NONE ||
		    rule->part == SECCOMP_PART_OWNER)
			continue;
		while (next_name(&cursor, name)) {
			int number = seccomp_syscall_resolve_name(name), got;

			if (number < 0 || is_unsafe(name))
				continue;
			got = outcome(number, harmless);
			if (rule->refuse_errno != 0 &&
			    got != rule->refuse_errno)
				fail_msg("%s: %d instead of %d", name, got,
				    rule->refuse_errno);
			if (rule->refuse_errno == 0 && got == ENOSYS &&
			    in_kernel(number))
				fail_msg("%s is not let through", name);
			tried++;
		}
	}
	assert_true(tried > 250);
}

/* What is in no row: obsolete, new, or nobody's. */
static void
test_default(void **state)
{
	static const int numbers[] = {SYS_modify_ldt, SYS_uselib, SYS_ustat,
	    SYS_sysfs, SYS__sysctl, SYS_memfd_secret, SYS_create_module,
	    SYS_fanotify_init + 1000, 999, 449 + 30};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int got = outcome(numbers[i], harmless);

		if (got != ENOSYS)
			fail_msg(
			    "call %d: %d instead of ENOSYS", numbers[i], got);
	}
}

struct attempt {
	const char *what;
	long number;
	unsigned long args[6];
	int expected; /* -2: anything but EPERM, ENOSYS and EAFNOSUPPORT */
};

#define PASSES (-2)

static const struct sched_param no_priority;

static const struct attempt attempts[] = {
    {"socket unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
    {"socket inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
    {"socket inet6", SYS_socket, {AF_INET6, SOCK_STREAM, 0}, PASSES},
    {"socket netlink route", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, 0},
    {"socket netlink audit", SYS_socket, {AF_NETLINK, SOCK_RAW, 9},
	EAFNOSUPPORT},
    {"socket netlink route, high bits", SYS_socket,
	{AF_NETLINK, SOCK_RAW, HIGH}, EAFNOSUPPORT},
    {"socket vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
    {"socket vsock, high bits", SYS_socket, {HIGH | AF_VSOCK, SOCK_STREAM, 0},
	EAFNOSUPPORT},
    {"socket unix, high bits", SYS_socket, {HIGH | AF_UNIX, SOCK_STREAM, 0},
	EAFNOSUPPORT},
    {"socket packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
    {"socket alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
    {"socket tcp", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6}, 0},
    {"socket udp", SYS_socket, {AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 17}, 0},
    {"socket udp6", SYS_socket, {AF_INET6, SOCK_DGRAM, 17}, PASSES},
    {"socket mptcp", SYS_socket, {AF_INET, SOCK_STREAM, 262}, EPROTONOSUPPORT},
    {"socket sctp", SYS_socket, {AF_INET, SOCK_STREAM, 132}, EPROTONOSUPPORT},
    {"socket sctp6 by type", SYS_socket, {AF_INET6, SOCK_SEQPACKET, 0}, ENOSYS},
    {"socket dccp by type", SYS_socket, {AF_INET, 6, 0}, ENOSYS},
    {"socket ping", SYS_socket, {AF_INET, SOCK_DGRAM, 1}, ENOSYS},
    {"socket tcp, high bits", SYS_socket, {AF_INET, SOCK_STREAM, HIGH | 6},
	EPROTONOSUPPORT},
    {"unix sequenced packets", SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}, 0},
    {"TCP_ULP", SYS_setsockopt, {-1UL, 6, 31, 0, 0}, EPERM},
    {"TCP_ULP, high bits", SYS_setsockopt, {-1UL, HIGH | 6, HIGH | 31, 0, 0},
	EPERM},
    {"TCP_NODELAY", SYS_setsockopt, {-1UL, 6, 1, 0, 0}, EBADF},
    {"sync", SYS_sync, {0}, ENOSYS},
    {"socket key", SYS_socket, {15, SOCK_RAW, 2}, ENOSYS},
    {"socketpair vsock", SYS_socketpair, {AF_VSOCK, SOCK_STREAM, 0, 0}, ENOSYS},
    {"clone user", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, ENOSYS},
    {"clone net", SYS_clone, {CLONE_NEWNET | SIGCHLD}, ENOSYS},
    {"clone cgroup", SYS_clone, {CLONE_NEWCGROUP | SIGCHLD}, ENOSYS},
    {"clone3", SYS_clone3, {0, 0}, ENOSYS},
    {"personality query", SYS_personality, {0xffffffff}, 0},
    {"personality no aslr", SYS_personality, {0x0040000}, ENOSYS},
    {"scheduler of pid 1", SYS_sched_setscheduler,
	{1, SCHED_IDLE, (unsigned long)&no_priority}, EPERM},
    {"scheduler of pid 1, high bits", SYS_sched_setscheduler,
	{HIGH | 1, SCHED_IDLE, (unsigned long)&no_priority}, EPERM},
    {"scheduler of itself", SYS_sched_setscheduler,
	{0, SCHED_OTHER, (unsigned long)&no_priority}, 0},
    {"scheduler of a stranger", SYS_sched_setscheduler,
	{0x3fffff, SCHED_OTHER, (unsigned long)&no_priority}, ESRCH},
    {"affinity of pid 1", SYS_sched_setaffinity, {1, 0, 0}, EPERM},
    {"attributes of pid 1", SYS_sched_setattr, {1, 0, 0}, EPERM},
    {"parameters of pid 1", SYS_sched_setparam, {1, 0}, EPERM},
    {"limits of pid 1", SYS_prlimit64, {1, 0, 0, 0}, EPERM},
    {"limits of itself", SYS_prlimit64, {0, 0, 0, 0}, 0},
    {"priority of pid 1", SYS_setpriority, {0, 1, 10}, EPERM},
    {"priority of pid 1, high bits", SYS_setpriority, {0, HIGH | 1, 10}, EPERM},
    {"priority of itself", SYS_setpriority, {0, 0, 10}, 0},
    {"priority of a group", SYS_setpriority, {1, 0, 10}, EPERM},
    {"priority of a group, high bits", SYS_setpriority, {HIGH | 1, 0, 10},
	EPERM},
    {"priority of a user", SYS_setpriority, {2, 0, 10}, EPERM},
    {"I/O priority of pid 1", SYS_ioprio_set, {1, 1, 3UL << 13}, EPERM},
    {"I/O priority of a group", SYS_ioprio_set, {2, 0, 3UL << 13}, EPERM},
    {"I/O priority of a user", SYS_ioprio_set, {3, 0, 3UL << 13}, EPERM},
    {"I/O priority of itself", SYS_ioprio_set, {1, 0, 2UL << 13 | 4}, 0},
    {"TIOCSTI", SYS_ioctl, {-1UL, 0x5412, 0}, EPERM},
    {"TIOCSTI, high bits", SYS_ioctl, {-1UL, HIGH | 0x5412, 0}, EPERM},
    {"TIOCLINUX", SYS_ioctl, {-1UL, 0x541c, 0}, EPERM},
    {"another ioctl", SYS_ioctl, {-1UL, 0x5413, 0}, EBADF},
};

static void
test_conditions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *try = &attempts[i];
		int got = outcome(try->number, try->args);

		if (try->expected == PASSES
			? got == EPERM || got == ENOSYS || got == EAFNOSUPPORT
			: got != try->expected)
			fail_msg("%s: %d instead of %d", try->what, got,
			    try->expected);
	}
}

/* x32 calls have the number's bit 30 set: no such process here. */
static void
test_other_architecture(void **state)
{
	(void)state;
#if defined(__x86_64__)
	assert_int_equal(outcome(0x40000000 | SYS_getpid, harmless), -SIGSYS);
#endif
}

/* No set-user-id and no set-group-id program, by any call, only where the
 * host is written; anything else goes on (EFAULT, EBADF: it got through). */
static void
test_owner(void **state)
{
	static const struct {
		long number;
		unsigned long args[6];
		int owner, other;
	} cases[] = {
	    {SYS_chmod, {-1UL, 04755}, EPERM, EFAULT},
	    {SYS_chmod, {-1UL, 02755}, EPERM, EFAULT},
	    {SYS_chmod, {-1UL, 0755}, EFAULT, EFAULT},
	    {SYS_chmod, {-1UL, 01777}, EFAULT, EFAULT},
	    {SYS_fchmod, {-1UL, 06755}, EPERM, EBADF},
	    {SYS_fchmod, {-1UL, HIGH | 04000}, EPERM, EBADF},
	    {SYS_fchmodat, {-1UL, -1UL, 04711}, EPERM, EFAULT},
	    {SYS_fchmodat, {-1UL, -1UL, 0711}, EFAULT, EFAULT},
	    {SYS_openat, {-1UL, -1UL, O_CREAT, 04700}, EPERM, EFAULT},
	    {SYS_openat, {-1UL, -1UL, O_CREAT, 02700}, EPERM, EFAULT},
	    {SYS_openat, {-1UL, -1UL, O_TMPFILE | 1, 04700}, EPERM, EFAULT},
	    {SYS_openat, {-1UL, -1UL, O_RDONLY, 04700}, EFAULT, EFAULT},
	    {SYS_openat, {-1UL, -1UL, O_CREAT, 0700}, EFAULT, EFAULT},
	    {SYS_open, {-1UL, O_CREAT, 04700}, EPERM, EFAULT},
	    {SYS_creat, {-1UL, 04700}, EPERM, EFAULT},
	    {SYS_mknod, {-1UL, S_IFREG | 04700}, EPERM, EFAULT},
	    {SYS_mknodat, {-1UL, -1UL, S_IFREG | 02700}, EPERM, EFAULT},
	    {SYS_openat2, {-1UL, -1UL, -1UL, 24}, ENOSYS, EFAULT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
		    outcome_with(cases[i].number, cases[i].args, true),
		    cases[i].owner);
		assert_int_equal(
		    outcome(cases[i].number, cases[i].args), cases[i].other);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows_without_condition),
	    cmocka_unit_test(test_default),
	    cmocka_unit_test(test_conditions),
	    cmocka_unit_test(test_owner),
	    cmocka_unit_test(test_other_architecture),
	};

	return cmocka_run_group_tests_name("init_filter", tests, NULL, NULL);
}
