/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls the proxy needs, and nothing else. Called once by
 * main.c, before the first foreign byte. Listening sockets arrive as
 * descriptors (they live in a sandbox's network namespace), so neither bind
 * nor listen is here; sockets of our own are internet sockets only. Must
 * never gain open, exec, bind, listen, clone, ptrace or a unix socket.
 */
#include "egress-proxy/proxy_confine.h"

#include <asm/unistd.h>
#include <sys/socket.h>

#define PROXY_CONFINE_MEMORY (UINT64_C(2) << 30)

static const struct confine_syscall proxy_confine_syscalls[] = {
    {__NR_epoll_wait, CONFINE_ALLOW, 0, "libevent: the loop"},
    {__NR_epoll_pwait, CONFINE_ALLOW, 0, "libevent: the loop"},
    {__NR_epoll_pwait2, CONFINE_ALLOW, 0, "libevent 2.2: the loop"},
    {__NR_epoll_ctl, CONFINE_ALLOW, 0, "libevent: event_add, event_del"},
    {__NR_accept4, CONFINE_ALLOW, 0, "proxy_on_accept"},
    {__NR_socket, CONFINE_ALLOW_ARG0, AF_INET, "dial, c-ares"},
    {__NR_socket, CONFINE_ALLOW_ARG0, AF_INET6, "dial, c-ares"},
    {__NR_connect, CONFINE_ALLOW, 0, "dial, c-ares: internet sockets only"},
    {__NR_getsockopt, CONFINE_ALLOW, 0, "dial: SO_ERROR; listener checks"},
    {__NR_setsockopt, CONFINE_ALLOW, 0, "TCP_NODELAY, SO_LINGER"},
    {__NR_getsockname, CONFINE_ALLOW, 0, "listener checks"},
    {__NR_getpeername, CONFINE_ALLOW, 0, "c-ares"},
    {__NR_shutdown, CONFINE_ALLOW, 0, "tunnel: half-close"},
    {__NR_close, CONFINE_ALLOW, 0, "every descriptor"},
    {__NR_read, CONFINE_ALLOW, 0, "c-ares over TCP"},
    {__NR_write, CONFINE_ALLOW, 0, "log, tunnel_hold"},
    {__NR_writev, CONFINE_ALLOW, 0, "c-ares over TCP, log"},
    {__NR_recvfrom, CONFINE_ALLOW, 0, "session_io, c-ares"},
    {__NR_sendto, CONFINE_ALLOW, 0, "session_io, c-ares"},
    {__NR_recvmsg, CONFINE_ALLOW, 0, "peer: control messages"},
    {__NR_sendmsg, CONFINE_ALLOW, 0, "peer: control messages"},
    {__NR_splice, CONFINE_ALLOW, 0, "tunnel"},
    {__NR_pipe2, CONFINE_ALLOW, 0, "splice_pipe_open"},
    {__NR_fcntl, CONFINE_ALLOW, 0, "flags, F_SETPIPE_SZ, the reserve"},
    {__NR_ioctl, CONFINE_ALLOW_ARG1, 0x5421, "c-ares: FIONBIO"},
    {__NR_brk, CONFINE_ALLOW, 0, "malloc"},
    {__NR_mmap, CONFINE_ALLOW_ARG2_MASKED, 0x3, "malloc: never executable"},
    {__NR_mprotect, CONFINE_ALLOW_ARG2_MASKED, 0x3, "malloc arenas"},
    {__NR_munmap, CONFINE_ALLOW, 0, "malloc"},
    {__NR_mremap, CONFINE_ALLOW, 0, "realloc"},
    {__NR_madvise, CONFINE_ALLOW, 0, "malloc"},
    {__NR_futex, CONFINE_ALLOW, 0, "libc locks"},
    {__NR_clock_gettime, CONFINE_ALLOW, 0, "where the vdso has no clock"},
    {__NR_gettimeofday, CONFINE_ALLOW, 0, "c-ares, libevent"},
    {__NR_time, CONFINE_ALLOW, 0, "c-ares"},
    {__NR_getrandom, CONFINE_ALLOW, 0, "c-ares: query ids"},
    {__NR_getpid, CONFINE_ALLOW, 0, "log"},
    {__NR_gettid, CONFINE_ALLOW, 0, "abort"},
    {__NR_tgkill, CONFINE_ALLOW, 0, "abort"},
    {__NR_rt_sigaction, CONFINE_ALLOW, 0, "abort"},
    {__NR_rt_sigprocmask, CONFINE_ALLOW, 0, "abort"},
    {__NR_rt_sigreturn, CONFINE_ALLOW, 0, "signal handlers"},
    {__NR_restart_syscall, CONFINE_ALLOW, 0, "the kernel, after SIGSTOP"},
    {__NR_sysinfo, CONFINE_ALLOW, 0, "qsort in dial_order"},
    {__NR_exit_group, CONFINE_ALLOW, 0, "main"},
    {__NR_exit, CONFINE_ALLOW, 0, "main"},
    {-1, CONFINE_ALLOW, 0, NULL},
};

enum result
proxy_confine_enter(uid_t uid, bool landlock, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size)
{
	struct confine_spec spec = {
	    .syscalls = proxy_confine_syscalls,
	    .paths = NULL,
	    .landlock_required = landlock,
	    .uid = uid != 0 ? uid : PROXY_CONFINE_UID,
	    .gid = (gid_t)(uid != 0 ? uid : PROXY_CONFINE_UID),
	    .memory_max = PROXY_CONFINE_MEMORY,
	    .files_max = 0,
	    .may_open = false,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
