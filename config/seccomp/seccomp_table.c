/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table (see the header). A call that is refused on purpose stands in a
 * row of its own with EPERM, so that a reader sees it and a test finds it;
 * calls nobody needs are simply absent. Names an architecture does not have
 * are left out when the programs are made for it.
 */
#include "config/seccomp/seccomp_table.h"

#include <errno.h>

/* clang-format off */
#define ALLOW(list) {SECCOMP_PART_BASE, 0, list, {{0}}}
#define ALLOW_IF(list, ...) {SECCOMP_PART_BASE, 0, list, {__VA_ARGS__}}
#define REFUSE(error, list) {SECCOMP_PART_BASE, error, list, {{0}}}
#define REFUSE_IF(error, list, ...) \
	{SECCOMP_PART_BASE, error, list, {__VA_ARGS__}}
#define GUARD_IF(list, ...) {SECCOMP_PART_GUARD, EPERM, list, {__VA_ARGS__}}
#define OWNER(error, list) {SECCOMP_PART_OWNER, error, list, {{0}}}
#define OWNER_IF(list, ...) {SECCOMP_PART_OWNER, EPERM, list, {__VA_ARGS__}}
#define EQUAL(n, v) {n, SECCOMP_COMPARE_EQUAL, v}
#define DIFFERS(n, v) {n, SECCOMP_COMPARE_DIFFERS, v}
#define AT_LEAST(n, v) {n, SECCOMP_COMPARE_AT_LEAST, v}
#define LOW32(n, v) {n, SECCOMP_COMPARE_LOW32, v}
#define NO_BIT(n, v) {n, SECCOMP_COMPARE_NO_BIT, v}
#define HAS_BIT(n, v) {n, SECCOMP_COMPARE_HAS_BIT, v}
/* clang-format on */

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
#define NAMESPACE_FLAGS 0x7e020000ULL

/* S_ISUID, S_ISGID, and when open looks at a mode. */
#define SET_UID 04000ULL
#define SET_GID 02000ULL
#define CREATES 0100ULL           /* O_CREAT */
#define CREATES_NONE 020000000ULL /* O_TMPFILE */

/* In a socket's type: sequenced packets, DCCP, packet. */
#define TYPES_ABOVE_RAW 0xcULL

const struct seccomp_rule seccomp_table[] = {
    /* Processes, threads, signals. */
    ALLOW("arch_prctl execve execveat exit exit_group fork vfork "
	  "wait4 waitid waitpid getpid getppid gettid getpgid "
	  "getpgrp setpgid getsid setsid set_tid_address "
	  "set_robust_list get_robust_list rseq membarrier futex "
	  "futex_waitv kill tkill tgkill pidfd_open "
	  "pidfd_send_signal process_mrelease rt_sigaction "
	  "rt_sigpending rt_sigprocmask rt_sigqueueinfo "
	  "rt_tgsigqueueinfo rt_sigreturn rt_sigsuspend "
	  "rt_sigtimedwait sigaltstack signalfd signalfd4 pause "
	  "restart_syscall alarm prctl seccomp "
	  "landlock_create_ruleset landlock_add_rule "
	  "landlock_restrict_self"),
    ALLOW_IF("clone", NO_BIT(0, NAMESPACE_FLAGS)),
    REFUSE(ENOSYS, "clone3"), /* its flags are in memory: use clone */

    /* Ids and capabilities: a process without privilege may ask, and drop. */
    ALLOW("getuid geteuid getgid getegid getresuid getresgid "
	  "getgroups setuid setgid setreuid setregid setresuid "
	  "setresgid setgroups setfsuid setfsgid capget capset"),

    /* Scheduling and limits; the guard part keeps them off pid 1. */
    ALLOW("sched_yield sched_getaffinity sched_getattr "
	  "sched_getparam sched_getscheduler sched_get_priority_max "
	  "sched_get_priority_min sched_rr_get_interval "
	  "sched_setaffinity sched_setattr sched_setparam "
	  "sched_setscheduler getpriority setpriority ioprio_get "
	  "ioprio_set getrlimit setrlimit prlimit64 getrusage "
	  "getcpu times"),
    GUARD_IF("sched_setaffinity sched_setattr sched_setparam "
	     "sched_setscheduler prlimit64",
	LOW32(0, 1)),
    GUARD_IF("setpriority ioprio_set", LOW32(1, 1)),
    GUARD_IF("setpriority", LOW32(0, 1)), /* PRIO_PGRP */
    GUARD_IF("setpriority", LOW32(0, 2)), /* PRIO_USER */
    GUARD_IF("ioprio_set", LOW32(0, 2)),  /* IOPRIO_WHO_PGRP */
    GUARD_IF("ioprio_set", LOW32(0, 3)),  /* IOPRIO_WHO_USER */

    /* Memory. */
    ALLOW("brk mmap munmap mremap remap_file_pages mprotect madvise "
	  "mincore msync mlock mlock2 mlockall munlock munlockall "
	  "memfd_create pkey_alloc pkey_free pkey_mprotect mbind "
	  "get_mempolicy set_mempolicy"),

    /* Files. sync and syncfs are absent: they would make the host write out
     * what is not this container's. */
    ALLOW("open openat openat2 creat close close_range read readv "
	  "pread64 preadv preadv2 write writev pwrite64 pwritev "
	  "pwritev2 lseek sendfile copy_file_range splice tee "
	  "readahead fadvise64 fallocate truncate ftruncate "
	  "fsync fdatasync sync_file_range flock fcntl dup "
	  "dup2 dup3 access faccessat faccessat2 stat lstat fstat "
	  "newfstatat statx statfs fstatfs getdents getdents64 "
	  "getcwd chdir fchdir chmod fchmod fchmodat chown fchown "
	  "fchownat lchown utime utimes futimesat utimensat umask "
	  "mkdir mkdirat mknod mknodat rmdir rename renameat "
	  "renameat2 link linkat symlink symlinkat unlink unlinkat "
	  "readlink readlinkat getxattr lgetxattr fgetxattr "
	  "listxattr llistxattr flistxattr setxattr lsetxattr "
	  "fsetxattr removexattr lremovexattr fremovexattr "
	  "inotify_init inotify_init1 inotify_add_watch "
	  "inotify_rm_watch io_setup io_submit io_cancel io_destroy "
	  "io_getevents"),

    /* Waiting. */
    ALLOW("poll ppoll select pselect6 epoll_create epoll_create1 "
	  "epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd "
	  "eventfd2 pipe pipe2 timer_create timer_delete "
	  "timer_getoverrun timer_gettime timer_settime "
	  "timerfd_create timerfd_gettime timerfd_settime getitimer "
	  "setitimer nanosleep clock_nanosleep clock_gettime "
	  "clock_getres gettimeofday time"),

    /* Sockets: unix, TCP and UDP, and route netlink, which language runtimes
     * ask for the interfaces. Vsock and others reach past the network
     * namespace, or into kernel code nobody here needs (SCTP, DCCP, MPTCP;
     * types above raw would choose them by themselves). */
    ALLOW_IF("socket", EQUAL(0, 1)),
    ALLOW_IF("socket", EQUAL(0, 2), NO_BIT(1, TYPES_ABOVE_RAW), EQUAL(2, 0)),
    ALLOW_IF("socket", EQUAL(0, 2), NO_BIT(1, TYPES_ABOVE_RAW), EQUAL(2, 6)),
    ALLOW_IF("socket", EQUAL(0, 2), NO_BIT(1, TYPES_ABOVE_RAW), EQUAL(2, 17)),
    ALLOW_IF("socket", EQUAL(0, 10), NO_BIT(1, TYPES_ABOVE_RAW), EQUAL(2, 0)),
    ALLOW_IF("socket", EQUAL(0, 10), NO_BIT(1, TYPES_ABOVE_RAW), EQUAL(2, 6)),
    ALLOW_IF("socket", EQUAL(0, 10), NO_BIT(1, TYPES_ABOVE_RAW), EQUAL(2, 17)),
    ALLOW_IF("socket", EQUAL(0, 16), EQUAL(2, 0)),
    REFUSE_IF(EPROTONOSUPPORT, "socket", EQUAL(0, 2), AT_LEAST(2, 18)),
    REFUSE_IF(EPROTONOSUPPORT, "socket", EQUAL(0, 10), AT_LEAST(2, 18)),
    REFUSE_IF(EAFNOSUPPORT, "socket", EQUAL(0, 16), DIFFERS(2, 0)),
    REFUSE_IF(EAFNOSUPPORT, "socket", AT_LEAST(0, 17)),
    ALLOW_IF("socketpair", EQUAL(0, 1)),
    /* TCP_ULP: loads protocol modules into the kernel's TCP. */
    GUARD_IF("setsockopt", LOW32(1, 6), LOW32(2, 31)),
    ALLOW("bind connect listen accept accept4 shutdown getsockname "
	  "getpeername getsockopt setsockopt sendto sendmsg "
	  "sendmmsg recvfrom recvmsg recvmmsg"),

    /* System V and POSIX inter-process communication: its namespace is the
     * container's. */
    ALLOW("shmget shmat shmctl shmdt semget semop semtimedop semctl "
	  "msgget msgsnd msgrcv msgctl mq_open mq_unlink "
	  "mq_timedsend mq_timedreceive mq_notify mq_getsetattr"),

    /* The rest. */
    ALLOW("ioctl uname sysinfo getrandom"),
    GUARD_IF("ioctl", LOW32(1, 0x5412)), /* TIOCSTI: types into a terminal */
    GUARD_IF("ioctl", LOW32(1, 0x541c)), /* TIOCLINUX: pastes into it */
    ALLOW_IF("personality", EQUAL(0, 0)),
    ALLOW_IF("personality", EQUAL(0, 0xffffffff)), /* only asks */

    /* Refused on purpose. */
    REFUSE(EPERM, "unshare setns mount umount umount2 fsopen fsconfig "
		  "fsmount fspick move_mount open_tree mount_setattr "
		  "pivot_root chroot quotactl quotactl_fd name_to_handle_at "
		  "open_by_handle_at"),
    REFUSE(EPERM, "ptrace process_vm_readv process_vm_writev "
		  "process_madvise kcmp pidfd_getfd perf_event_open bpf "
		  "userfaultfd io_uring_setup io_uring_enter "
		  "io_uring_register vmsplice move_pages migrate_pages"),
    REFUSE(EPERM, "keyctl add_key request_key"),
    REFUSE(EPERM, "syslog reboot kexec_load kexec_file_load init_module "
		  "finit_module delete_module acct swapon swapoff "
		  "sethostname setdomainname settimeofday clock_settime "
		  "clock_adjtime adjtimex iopl ioperm vhangup nfsservctl "
		  "lookup_dcookie fanotify_init fanotify_mark"),

    /* Where what is written is the host's: no set-user-id, no set-group-id.
     * The mode of openat2 is in memory: use openat. */
    OWNER_IF("chmod fchmod", HAS_BIT(1, SET_UID)),
    OWNER_IF("chmod fchmod", HAS_BIT(1, SET_GID)),
    OWNER_IF("fchmodat fchmodat2", HAS_BIT(2, SET_UID)),
    OWNER_IF("fchmodat fchmodat2", HAS_BIT(2, SET_GID)),
    OWNER_IF("open", HAS_BIT(1, CREATES), HAS_BIT(2, SET_UID)),
    OWNER_IF("open", HAS_BIT(1, CREATES), HAS_BIT(2, SET_GID)),
    OWNER_IF("open", HAS_BIT(1, CREATES_NONE), HAS_BIT(2, SET_UID)),
    OWNER_IF("open", HAS_BIT(1, CREATES_NONE), HAS_BIT(2, SET_GID)),
    OWNER_IF("openat", HAS_BIT(2, CREATES), HAS_BIT(3, SET_UID)),
    OWNER_IF("openat", HAS_BIT(2, CREATES), HAS_BIT(3, SET_GID)),
    OWNER_IF("openat", HAS_BIT(2, CREATES_NONE), HAS_BIT(3, SET_UID)),
    OWNER_IF("openat", HAS_BIT(2, CREATES_NONE), HAS_BIT(3, SET_GID)),
    OWNER_IF("creat", HAS_BIT(1, SET_UID)),
    OWNER_IF("creat", HAS_BIT(1, SET_GID)),
    OWNER_IF("mknod", HAS_BIT(1, SET_UID)),
    OWNER_IF("mknod", HAS_BIT(1, SET_GID)),
    OWNER_IF("mknodat", HAS_BIT(2, SET_UID)),
    OWNER_IF("mknodat", HAS_BIT(2, SET_GID)),
    OWNER(ENOSYS, "openat2"),
};

const size_t seccomp_table_count =
    sizeof(seccomp_table) / sizeof(seccomp_table[0]);
