# SPDX-License-Identifier: Apache-2.0
"""Which errors a system call may end with when the machine is out of
something, and which calls are left alone and why."""

_FILES = ("EMFILE", "ENFILE", "ENOMEM")
_MEMORY = ("ENOMEM",)
_READ = ("EIO", "EINTR", "EAGAIN", "ENOMEM")
_WRITE = ("ENOSPC", "EIO", "EINTR", "EAGAIN", "ENOMEM")
_PATH = ("EIO", "ENOMEM", "EACCES")
_CHANGE = ("ENOSPC", "EIO", "EPERM", "ENOMEM")
_RIGHT = ("EPERM", "ENOMEM", "EINVAL")
_WAIT = ("EINTR",)
_SOCKET = ("ENOBUFS", "ENOMEM", "EPERM")

ERRNOS = {}
for _names, _errnos in (
        ("read readv pread64 preadv recvfrom recvmsg recvmmsg", _READ),
        ("write writev pwrite64 pwritev sendfile splice tee "
         "copy_file_range", _WRITE),
        ("sendto sendmsg sendmmsg", ("EAGAIN", "ENOBUFS", "EINTR", "ENOMEM")),
        ("open openat openat2", ("EMFILE", "ENFILE", "ENOMEM", "EIO",
                                 "EACCES", "EINTR")),
        ("socket socketpair pipe pipe2 eventfd2 epoll_create1 memfd_create "
         "timerfd_create signalfd4 inotify_init1 pidfd_open pidfd_getfd dup "
         "dup2 dup3 memfd_secret landlock_create_ruleset open_tree fsopen "
         "fsmount", _FILES),
        ("accept accept4", ("EMFILE", "ENFILE", "EAGAIN", "EINTR")),
        ("connect bind listen shutdown getsockopt setsockopt getsockname "
         "getpeername", _SOCKET),
        ("fork vfork clone clone3", ("EAGAIN", "ENOMEM", "EPERM")),
        ("execve execveat", ("ENOMEM", "EACCES", "EIO")),
        ("mmap mprotect mremap brk madvise mlock mlock2 munlock", _MEMORY),
        ("prctl seccomp landlock_add_rule landlock_restrict_self setuid "
         "setgid setreuid setregid setresuid setresgid setgroups capset "
         "capget setrlimit prlimit64 setsid setpgid keyctl unshare setns "
         "sethostname setdomainname personality arch_prctl "
         "setpriority sched_setaffinity", _RIGHT),
        ("mount umount2 move_mount mount_setattr fsconfig pivot_root chroot",
         ("EPERM", "ENOMEM", "EINVAL")),
        ("stat lstat fstat newfstatat statx statfs fstatfs readlink "
         "readlinkat access faccessat faccessat2 getdents64 lseek chdir "
         "fchdir getcwd uname sysinfo", _PATH),
        ("ftruncate truncate fallocate fsync fdatasync rename renameat "
         "renameat2 unlink unlinkat mkdir mkdirat rmdir link linkat symlink "
         "symlinkat mknod mknodat chmod fchmod fchmodat chown fchown lchown "
         "fchownat utimensat fsetxattr setxattr sync_file_range",
         _CHANGE),
        ("flock", ("EINTR", "ENOMEM")),
        ("fcntl", ("ENOMEM", "EPERM", "EINTR")),
        ("ioctl epoll_ctl inotify_add_watch timerfd_settime sigaltstack "
         "timer_create setitimer add_key request_key", _MEMORY),
        ("kill tgkill pidfd_send_signal", ("EPERM",)),
        ("poll ppoll select pselect6 epoll_wait epoll_pwait wait4 waitid "
         "nanosleep clock_nanosleep rt_sigtimedwait", _WAIT),
        ("getrandom", ("EINTR", "EAGAIN"))):
    for _name in _names.split():
        ERRNOS[_name] = _errnos

# Not failed: the kernel never fails them so, and a failure that is made up
# would be another act than the real one.
LEFT_OUT = {
    "close, close_range": "Linux closes the descriptor whatever it answers",
    "munmap": "of a whole mapping of ours it does not fail",
    "exit, exit_group, rt_sigreturn, restart_syscall": "they do not return",
    "futex, set_robust_list, rseq, set_tid_address": "the C library's own, "
    "without a way to fail that a program could meet",
    "getpid, getppid, gettid, getuid and the like, umask, sched_yield, "
    "rt_sigaction, rt_sigprocmask": "they cannot fail with valid arguments",
    "clock_gettime, gettimeofday, time": "answered without a system call",
}
