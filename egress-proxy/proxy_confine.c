/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls the proxy needs, and nothing else. Called once by
 * main.c, before the first foreign byte. Listening sockets arrive as
 * descriptors (they live in a sandbox's network namespace), so neither bind
 * nor listen is here; sockets of our own are internet sockets only. Must
 * never gain open, exec, bind, listen, clone, ptrace or a unix socket.
 */
#include "egress-proxy/proxy_confine.h"

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "common/fd.h"

#define PROXY_CONFINE_MEMORY (UINT64_C(2) << 30)

/* On top of confine_base (memory, loop, clock, open descriptors, ending). */
static const struct confine_syscall proxy_confine_syscalls[] = {
    {__NR_accept4, CONFINE_ALLOW, 0, "fd_accept"},
    {__NR_socket, CONFINE_ALLOW_ARG0, AF_INET, "dial_open, c-ares"},
    {__NR_socket, CONFINE_ALLOW_ARG0, AF_INET6, "dial_open, c-ares"},
    {__NR_connect, CONFINE_ALLOW, 0, "dial_open, c-ares"},
    {__NR_getsockopt, CONFINE_ALLOW, 0, "dial_on_writable, fd_is_listener"},
    {__NR_setsockopt, CONFINE_ALLOW, 0, "TCP_NODELAY, fd_reset"},
    {__NR_getsockname, CONFINE_ALLOW, 0, "c-ares"},
    {__NR_bind, CONFINE_ALLOW_ARG2, FD_MARK_LEN, "fd_reset: no port, a mark"},
    {__NR_getpeername, CONFINE_ALLOW, 0, "fd_was_reset"},
    {__NR_shutdown, CONFINE_ALLOW, 0, "tunnel_pass_end, session_net_linger"},
    {__NR_recvfrom, CONFINE_ALLOW, 0, "session_io_read, tunnel_copy, c-ares"},
    {__NR_sendto, CONFINE_ALLOW, 0,
	"session_net_send_client, tunnel_copy, c-ares"},
    {__NR_splice, CONFINE_ALLOW, 0, "tunnel_splice, tunnel_flush"},
    {__NR_pipe2, CONFINE_ALLOW, 0, "splice_pipe_open"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_SETPIPE_SZ, "splice_pipe_resize"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_GETPIPE_SZ, "splice_pipe_resize"},
    {__NR_ioctl, CONFINE_ALLOW_ARG1, FIONBIO, "c-ares"},
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
	    .deny_tcp_bind = true,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
