/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The throwaway child (see the header): forked by init before `go`, becomes
 * exactly what the workload will be, tries what must fail, writes errnos
 * into shared memory and ends. It judges nothing.
 */
#include "supervisor/init/init_walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/init/init_guest.h"
#include "supervisor/init/init_status.h"
#include "supervisor/init/init_workload.h"

#define INIT_WALLS_TIMEOUT_MS 5000
#define INIT_WALLS_INIT 1UL /* the pid of init */
#define INIT_WALLS_HIGH_PID 0x100000001UL
#define ARG(x) ((uintptr_t)(x))

struct init_walls_call {
	enum init_wall wall;
	long number;
	uintptr_t args[6];
};

static const int init_walls_zero[16];
static const struct timespec init_walls_no_time = {.tv_nsec = -1};
static const struct sched_param init_walls_param;
static const struct __user_cap_header_struct init_walls_cap_header = {
    .version = _LINUX_CAPABILITY_VERSION_3};
static const struct __user_cap_data_struct init_walls_caps[2] = {
    {.effective = 1U << CAP_SYS_ADMIN, .permitted = 1U << CAP_SYS_ADMIN}};
/* size, policy SCHED_IDLE */
static const uint32_t init_walls_sched_attr[14] = {56, 5};

static const struct init_walls_call init_walls_calls[] = {
    {INIT_WALL_UNSHARE_USER, SYS_unshare, {CLONE_NEWUSER}},
    {INIT_WALL_UNSHARE_NET, SYS_unshare, {CLONE_NEWNET}},
    {INIT_WALL_SETNS, SYS_setns, {0, 0}},
    {INIT_WALL_MOUNT, SYS_mount,
	{ARG("none"), ARG("/tmp"), ARG("tmpfs"), 0, 0}},
    {INIT_WALL_REMOUNT, SYS_mount,
	{ARG("none"), ARG("/"), 0, MS_REMOUNT | MS_BIND, 0}},
    {INIT_WALL_UMOUNT, SYS_umount2, {ARG("/proc"), MNT_DETACH}},
    {INIT_WALL_FSOPEN, SYS_fsopen, {ARG("tmpfs"), 0}},
    {INIT_WALL_OPEN_TREE, SYS_open_tree, {-100UL, ARG("/"), 1}},
    {INIT_WALL_MOVE_MOUNT, SYS_move_mount,
	{-100UL, ARG("/proc"), -100UL, ARG("/tmp"), 0}},
    {INIT_WALL_PIVOT_ROOT, SYS_pivot_root, {ARG("/tmp"), ARG("/tmp")}},
    {INIT_WALL_CHROOT, SYS_chroot, {ARG("/tmp")}},
    {INIT_WALL_PTRACE, SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
    {INIT_WALL_VM_READ, SYS_process_vm_readv, {INIT_WALLS_INIT}},
    {INIT_WALL_VM_WRITE, SYS_process_vm_writev, {INIT_WALLS_INIT}},
    {INIT_WALL_KCMP, SYS_kcmp, {INIT_WALLS_INIT, INIT_WALLS_INIT, 0}},
    {INIT_WALL_PIDFD_GETFD, SYS_pidfd_getfd, {-1UL, 3, 0}},
    {INIT_WALL_KEYCTL, SYS_keyctl,
	{KEYCTL_GET_KEYRING_ID, -3UL /* session */, 1}},
    {INIT_WALL_ADD_KEY, SYS_add_key,
	{ARG("user"), ARG("wall"), ARG("x"), 1, -3UL}},
    {INIT_WALL_REQUEST_KEY, SYS_request_key, {ARG("user"), ARG("wall"), 0, 0}},
    {INIT_WALL_BPF, SYS_bpf, {5, ARG(init_walls_zero), 48}},
    {INIT_WALL_PERF, SYS_perf_event_open,
	{ARG(init_walls_zero), 0, -1UL, -1UL, 0}},
    {INIT_WALL_USERFAULTFD, SYS_userfaultfd, {1}},
    {INIT_WALL_IO_URING, SYS_io_uring_setup, {1, 0}},
    {INIT_WALL_NAME_TO_HANDLE, SYS_name_to_handle_at,
	{-100UL, ARG("/"), 0, 0, 0}},
    {INIT_WALL_OPEN_BY_HANDLE, SYS_open_by_handle_at, {-100UL, 0, 0}},
    {INIT_WALL_QUOTACTL, SYS_quotactl, {0, 0, 0, 0}},
    {INIT_WALL_PERSONALITY, SYS_personality, {ADDR_NO_RANDOMIZE}},
    {INIT_WALL_SYSLOG, SYS_syslog, {10, 0, 0}},
    {INIT_WALL_VMSPLICE, SYS_vmsplice, {-1UL, 0, 0, 0}},
    {INIT_WALL_REBOOT, SYS_reboot, {0xfee1dead, 672274793, 0, 0}},
    {INIT_WALL_KEXEC, SYS_kexec_load, {0, 0, 0, 0}},
    {INIT_WALL_MODULE, SYS_init_module, {0, 0, 0}},
    {INIT_WALL_SETHOSTNAME, SYS_sethostname, {ARG("wall"), 4}},
    {INIT_WALL_SETTIME, SYS_clock_settime, {0, ARG(&init_walls_no_time)}},
    {INIT_WALL_SWAPON, SYS_swapon, {ARG("/tmp"), 0}},
    {INIT_WALL_SETUID, SYS_setuid, {0}},
    {INIT_WALL_CAPSET, SYS_capset,
	{ARG(&init_walls_cap_header), ARG(init_walls_caps)}},
    {INIT_WALL_VSOCK, SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}},
    {INIT_WALL_PACKET, SYS_socket, {AF_PACKET, SOCK_DGRAM, 0}},
    {INIT_WALL_ALG, SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}},
    {INIT_WALL_NETLINK_AUDIT, SYS_socket,
	{AF_NETLINK, SOCK_RAW, NETLINK_AUDIT}},
    {INIT_WALL_SCTP, SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}},
    {INIT_WALL_RAW, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_TCP}},
    {INIT_WALL_SCHED_SCHEDULER, SYS_sched_setscheduler,
	{INIT_WALLS_INIT, 5 /* SCHED_IDLE */, ARG(&init_walls_param)}},
    {INIT_WALL_SCHED_HIGH, SYS_sched_setscheduler,
	{INIT_WALLS_HIGH_PID, 5, ARG(&init_walls_param)}},
    {INIT_WALL_SCHED_PARAM, SYS_sched_setparam,
	{INIT_WALLS_INIT, ARG(&init_walls_param)}},
    {INIT_WALL_SCHED_ATTR, SYS_sched_setattr,
	{INIT_WALLS_INIT, ARG(init_walls_sched_attr), 0}},
    {INIT_WALL_SCHED_AFFINITY, SYS_sched_setaffinity,
	{INIT_WALLS_INIT, sizeof(init_walls_zero), ARG(init_walls_zero)}},
    {INIT_WALL_PRIORITY_INIT, SYS_setpriority,
	{PRIO_PROCESS, INIT_WALLS_INIT, 19}},
    {INIT_WALL_PRIORITY_GROUP, SYS_setpriority,
	{PRIO_PGRP, INIT_WALLS_INIT, 19}},
    {INIT_WALL_PRIORITY_USER, SYS_setpriority, {PRIO_USER, 0, 19}},
    {INIT_WALL_IOPRIO_INIT, SYS_ioprio_set, {1, INIT_WALLS_INIT, 3U << 13}},
    {INIT_WALL_IOPRIO_USER, SYS_ioprio_set, {3, 0, 3U << 13}},
    {INIT_WALL_RLIMIT_INIT, SYS_prlimit64,
	{INIT_WALLS_INIT, RLIMIT_NOFILE, 0, 0}},
    {INIT_WALL_TERMINAL, SYS_ioctl, {0, 0x5412 /* TIOCSTI */, ARG("x")}},
    {INIT_WALL_SIGNAL_INIT, SYS_kill, {INIT_WALLS_INIT, 0}},
    {INIT_WALL_CONTROL_TCP, SYS_socket, {AF_INET, SOCK_STREAM, 0}},
    {INIT_WALL_CONTROL_NETLINK, SYS_socket,
	{AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}},
    {INIT_WALL_CONTROL_SCHED, SYS_sched_setscheduler,
	{0, 0 /* SCHED_OTHER */, ARG(&init_walls_param)}},
};

static void
init_walls_try_calls(int32_t *walls)
{
	size_t count = sizeof(init_walls_calls) / sizeof(init_walls_calls[0]);

	for (size_t i = 0; i < count; i++) {
		const struct init_walls_call *call = &init_walls_calls[i];
		long done = syscall(call->number, call->args[0], call->args[1],
		    call->args[2], call->args[3], call->args[4], call->args[5]);

		walls[call->wall] = done < 0 ? errno : 0;
	}
}

/* Does not return. */
static void
init_walls_child(const struct init_setup *setup, struct init_report *report)
{
	int error = init_guest_lower();

	if (error == 0)
		error = init_workload_become(setup);

	/* exec makes a program dumpable, which opens its own /proc files;
	 * without that the attempts there would fail for another reason. */
	if (error == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		error = errno;
	if (error == 0)
		error = init_status_read(&report->status);
	if (error != 0)
		_exit(error);
	for (unsigned i = 0; i < init_wall_tries_count; i++)
		report->walls[init_wall_tries[i].wall] =
		    init_wall_tries[i].attempt(setup);
	init_walls_try_calls(report->walls);
	_exit(0);
}

/* Waits for the child, not for ever: it alone holds the other end of the
 * pipe (not every kernel that init runs in has pidfd_open). */
int
init_walls_finish(struct init_walls *walls)
{
	struct pollfd end = {.fd = walls->ends[0], .events = POLLIN};
	int status, ready;

	close(walls->ends[1]);
	do
		ready = poll(&end, 1, INIT_WALLS_TIMEOUT_MS);
	while (ready < 0 && errno == EINTR);
	close(walls->ends[0]);
	if (ready != 1)
		(void)kill(walls->child, SIGKILL);
	while (waitpid(walls->child, &status, 0) < 0) {
		if (errno != EINTR)
			return errno;
	}
	if (ready != 1)
		return ETIMEDOUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* Both ends stay open here meanwhile: the child tries each number that it
 * has, and under none of them may init have opened another file. */
int
init_walls_start(const struct init_setup *setup, struct init_report *report,
    struct init_walls *walls_r)
{
	int error;

	for (unsigned i = 0; i < INIT_WALL_COUNT; i++)
		report->walls[i] = -1;
	if (pipe2(walls_r->ends, O_CLOEXEC) != 0)
		return errno;
	walls_r->child = fork();
	if (walls_r->child == 0)
		init_walls_child(setup, report);
	if (walls_r->child > 0)
		return 0;
	error = errno;
	close(walls_r->ends[0]);
	close(walls_r->ends[1]);
	return error;
}
