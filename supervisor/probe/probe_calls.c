/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that must be refused, one probe each: namespaces, mounts,
 * other processes, keyrings, kernel interfaces, sockets. Pointers and
 * descriptors are bad on purpose: EFAULT, EBADF or EINVAL would mean that
 * the call got through to the kernel.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_try.h"

#define BAD (-1UL)
#define SESSION_KEYRING (-3UL)

struct probe_calls_row {
	long number;
	unsigned long args[6];
};

static int
probe_calls_attempt(const void *argument, volatile uint64_t *progress)
{
	const struct probe_calls_row *row = argument;
	const unsigned long *a = row->args;
	long done;

	(void)progress;
	done = syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return done < 0 ? errno : 0;
}

static bool
probe_calls_refused(int error)
{
	return error == EPERM || error == ENOSYS || error == EAFNOSUPPORT ||
	       error == EPROTONOSUPPORT;
}

static void
probe_calls_run(const struct probe *probe, const struct probe_options *options,
    struct probe_result *result)
{
	struct probe_try try = probe_try_run(probe_calls_attempt, probe->data);

	(void)options;
	if (try.end == PROBE_TRY_RETURNED)
		probe_say(result, probe_calls_refused(try.value), "%s",
		    probe_try_error(try.value));
	else
		probe_say(result, try.end == PROBE_TRY_KILLED,
		    try.end == PROBE_TRY_KILLED ? "killed by signal %d"
						: "could not be tried (%d)",
		    try.value);
}

static void
probe_calls_root(const struct probe *probe, const struct probe_options *options,
    struct probe_result *result)
{
	int error = setuid(0) == 0 ? 0 : errno;

	(void)probe;
	(void)options;
	probe_say(
	    result, probe_try_no_root(error), "%s", probe_try_error(error));
}

/* clang-format off */
#define CALL(name, number, ...) \
	{name, probe_calls_run, \
	    &(const struct probe_calls_row) {number, {__VA_ARGS__}}}
/* clang-format on */

static const struct probe probe_calls[] = {
    CALL("namespace_user", SYS_unshare, CLONE_NEWUSER),
    CALL("namespace_net", SYS_unshare, CLONE_NEWNET),
    CALL("namespace_mount", SYS_unshare, CLONE_NEWNS),
    CALL("namespace_enter", SYS_setns, BAD, CLONE_NEWNET),
    CALL("clone_user", SYS_clone, CLONE_NEWUSER | SIGCHLD),
    CALL("clone3", SYS_clone3, BAD, 88),
    CALL("mount", SYS_mount, BAD, BAD, BAD, 0, 0),
    CALL("mount_bind", SYS_mount, BAD, BAD, BAD, MS_BIND, 0),
    CALL("mount_umount", SYS_umount2, BAD, MNT_DETACH),
    CALL("mount_new_api", SYS_fsopen, BAD, 0),
    CALL("mount_open_tree", SYS_open_tree, BAD, BAD, 1),
    CALL("pivot_root", SYS_pivot_root, BAD, BAD),
    CALL("chroot", SYS_chroot, BAD),
    CALL("ptrace", SYS_ptrace, PTRACE_ATTACH, 1, 0, 0),
    CALL("vm_read", SYS_process_vm_readv, 1, BAD, 1, BAD, 1, 0),
    CALL("vm_write", SYS_process_vm_writev, 1, BAD, 1, BAD, 1, 0),
    CALL("pidfd_getfd", SYS_pidfd_getfd, BAD, 3, 0),
    CALL("kcmp", SYS_kcmp, 1, 1, 0, 0, 0),
    CALL("keyctl", SYS_keyctl, 0, SESSION_KEYRING, 1),
    CALL("keyctl_add", SYS_add_key, BAD, BAD, BAD, 1, SESSION_KEYRING),
    CALL("keyctl_request", SYS_request_key, BAD, BAD, 0, 0),
    CALL("io_uring", SYS_io_uring_setup, 1, BAD),
    CALL("bpf", SYS_bpf, 0, BAD, 48),
    CALL("perf", SYS_perf_event_open, BAD, 0, BAD, BAD, 0),
    CALL("userfaultfd", SYS_userfaultfd, 1),
    CALL("file_handle", SYS_open_by_handle_at, BAD, BAD, 0),
    CALL("file_handle_name", SYS_name_to_handle_at, BAD, BAD, BAD, BAD, 0),
    CALL("kernel_log", SYS_syslog, 10, 0, 0),
    CALL("kernel_module", SYS_finit_module, BAD, BAD, 0),
    CALL("kernel_load", SYS_kexec_load, 0, 0, BAD, 0),
    CALL("reboot", SYS_reboot, 0, 0, 0, 0),
    CALL("quota", SYS_quotactl, 0, BAD, 0, BAD),
    CALL("personality", SYS_personality, 0x0040000),
    CALL("socket_vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0),
    CALL("socket_vsock_high", SYS_socket, 0x100000000UL | AF_VSOCK, SOCK_STREAM,
	0),
    CALL("socket_packet", SYS_socket, AF_PACKET, SOCK_RAW, 0),
    CALL("socket_alg", SYS_socket, AF_ALG, SOCK_SEQPACKET, 0),
    CALL("socket_raw", SYS_socket, AF_INET, SOCK_RAW, 6),
    CALL("socket_sctp", SYS_socket, AF_INET, SOCK_STREAM, 132),
    CALL("socket_dccp", SYS_socket, AF_INET, 6, 0),
    CALL("socket_netlink", SYS_socket, AF_NETLINK, SOCK_RAW,
	NETLINK_KOBJECT_UEVENT),
    CALL("clock", SYS_clock_settime, 0, BAD),
    CALL("host_name_set", SYS_sethostname, BAD, 4),
    {"uid_root", probe_calls_root, NULL},
};

const struct probe_list probe_calls_list = {
    probe_calls, sizeof(probe_calls) / sizeof(probe_calls[0])};
