/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walls init tries in a throwaway child under exactly the workload's
 * uid, Landlock domain and filter: a name and what is tried. init knows no
 * expected outcome; the supervisor's wall_table does. The last ones are
 * controls that must work, so that a child in which everything fails does
 * not look like a safe one.
 */
#ifndef SUPERVISOR_INIT_WALL_LIST_H
#define SUPERVISOR_INIT_WALL_LIST_H

/* clang-format off */
#define INIT_WALL_LIST(WALL)						\
	WALL(UNSHARE_USER, "make a user namespace")			\
	WALL(UNSHARE_NET, "make a network namespace")			\
	WALL(CLONE_USER, "clone into a user namespace")			\
	WALL(CLONE3, "use clone3")					\
	WALL(SETNS, "enter a namespace")				\
	WALL(MOUNT, "mount a file system")				\
	WALL(REMOUNT, "make / writable")				\
	WALL(UMOUNT, "unmount /proc")					\
	WALL(FSOPEN, "open a file system")				\
	WALL(OPEN_TREE, "clone a mount")				\
	WALL(MOVE_MOUNT, "move a mount")				\
	WALL(PIVOT_ROOT, "change the root by pivot_root")		\
	WALL(CHROOT, "change the root by chroot")			\
	WALL(PTRACE, "trace a process")					\
	WALL(VM_READ, "read init's memory by process_vm_readv")		\
	WALL(VM_WRITE, "write init's memory by process_vm_writev")	\
	WALL(KCMP, "compare processes")					\
	WALL(PIDFD_GETFD, "take a descriptor of init")			\
	WALL(KEYCTL, "use the kernel's keyrings")			\
	WALL(ADD_KEY, "add a key")					\
	WALL(REQUEST_KEY, "request a key")				\
	WALL(BPF, "load a BPF program")					\
	WALL(PERF, "open performance events")				\
	WALL(USERFAULTFD, "handle page faults")				\
	WALL(IO_URING, "set up io_uring")				\
	WALL(NAME_TO_HANDLE, "ask for a file handle")			\
	WALL(OPEN_BY_HANDLE, "open by file handle")			\
	WALL(QUOTACTL, "manage quotas")					\
	WALL(PERSONALITY, "switch off address randomisation")		\
	WALL(SYSLOG, "read the kernel's log")				\
	WALL(VMSPLICE, "gift pages to a pipe")				\
	WALL(REBOOT, "reboot")						\
	WALL(KEXEC, "load a kernel")					\
	WALL(MODULE, "load a kernel module")				\
	WALL(SETHOSTNAME, "set the host name")				\
	WALL(SETTIME, "set the clock")					\
	WALL(SWAPON, "add swap")					\
	WALL(SETUID, "become root")					\
	WALL(CAPSET, "raise a capability")				\
	WALL(MKNOD, "make a device")					\
	WALL(VSOCK, "open a vsock socket")				\
	WALL(PACKET, "open a packet socket")				\
	WALL(ALG, "open a kernel crypto socket")			\
	WALL(NETLINK_AUDIT, "open an audit socket")			\
	WALL(SCTP, "open an SCTP socket")				\
	WALL(RAW, "open a raw socket")					\
	WALL(ROUTE4, "reach an IPv4 address")				\
	WALL(ROUTE6, "reach an IPv6 address")				\
	WALL(METADATA, "reach the metadata address")			\
	WALL(RESOLVER, "reach a name server at 127.0.0.1")		\
	WALL(SCHED_SCHEDULER, "set the scheduler of pid 1")		\
	WALL(SCHED_HIGH, "the same with high bits set in the pid")	\
	WALL(SCHED_PARAM, "set scheduling parameters of pid 1")		\
	WALL(SCHED_ATTR, "set scheduling attributes of pid 1")		\
	WALL(SCHED_AFFINITY, "set the CPUs of pid 1")			\
	WALL(PRIORITY_INIT, "set the priority of pid 1")		\
	WALL(PRIORITY_GROUP, "set priorities by process group")		\
	WALL(PRIORITY_USER, "set priorities by user")			\
	WALL(IOPRIO_INIT, "set the I/O priority of pid 1")		\
	WALL(IOPRIO_USER, "set I/O priorities by user")			\
	WALL(RLIMIT_INIT, "set a limit of pid 1")			\
	WALL(TERMINAL, "type into a terminal")				\
	WALL(INIT_MEMORY, "open /proc/1/mem")				\
	WALL(INIT_ENVIRON, "open /proc/1/environ")			\
	WALL(INIT_FD, "list /proc/1/fd")				\
	WALL(INIT_PIPES, "open what init has open")			\
	WALL(INIT_ROOT, "open /proc/1/root")				\
	WALL(WRITE_ROOT, "make a file in /")				\
	WALL(WRITE_PROC, "write below /proc")				\
	WALL(WRITE_SOCKETS, "make a file in /run/agentnode")		\
	WALL(EXEC_WRITABLE, "execute a file it wrote")			\
	WALL(SIGNAL_INIT, "signal init")				\
	WALL(SET_UID, "make a set-user-id program")			\
	WALL(CONTROL_WRITE, "control: write in each writable directory") \
	WALL(CONTROL_FORK, "control: fork")				\
	WALL(CONTROL_TCP, "control: open a TCP socket")			\
	WALL(CONTROL_UNIX, "control: make a unix socket pair")		\
	WALL(CONTROL_NETLINK, "control: ask for interfaces")		\
	WALL(CONTROL_NULL, "control: write to /dev/null")		\
	WALL(CONTROL_SCHED, "control: set its own scheduler")
/* clang-format on */

enum init_wall {
#define INIT_WALL_ENUM(name, text) INIT_WALL_##name,
	INIT_WALL_LIST(INIT_WALL_ENUM)
#undef INIT_WALL_ENUM
	INIT_WALL_COUNT
};

#endif
