/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls the broker needs, and nothing else. Called once by
 * main.c, before the first foreign byte. It accepts on handed listeners and
 * makes pairs for lanes; it dials nothing, so socket and connect are not
 * here. Must never gain socket, connect, open, exec, bind, listen or clone.
 */
#include "llm-broker/broker_confine.h"

#include <asm/unistd.h>
#include <sys/socket.h>

#include "common/fd.h"

#define BROKER_CONFINE_MEMORY (UINT64_C(2) << 30)

/* On top of confine_base (memory, loop, clock, open descriptors, ending). */
static const struct confine_syscall broker_confine_syscalls[] = {
    {__NR_accept4, CONFINE_ALLOW, 0, "fd_accept"},
    {__NR_socketpair, CONFINE_ALLOW_ARG0, AF_UNIX, "lane_client_connect"},
    {__NR_getsockopt, CONFINE_ALLOW, 0, "fd_is_listener, call_io_is_reset"},
    {__NR_setsockopt, CONFINE_ALLOW, 0, "TCP_NODELAY, fd_reset"},
    {__NR_bind, CONFINE_ALLOW_ARG2, FD_MARK_LEN, "fd_reset: no port, a mark"},
    {__NR_shutdown, CONFINE_ALLOW, 0, "call_net_linger"},
    {__NR_recvfrom, CONFINE_ALLOW, 0, "call_io_read, lane_client_read"},
    {__NR_sendto, CONFINE_ALLOW, 0, "call_io_flush, lane_client_release"},
    {-1, CONFINE_ALLOW, 0, NULL},
};

enum result
broker_confine_enter(uid_t uid, bool landlock, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size)
{
	struct confine_spec spec = {
	    .syscalls = broker_confine_syscalls,
	    .paths = NULL,
	    .landlock_required = landlock,
	    .uid = uid != 0 ? uid : BROKER_CONFINE_UID,
	    .gid = (gid_t)(uid != 0 ? uid : BROKER_CONFINE_UID),
	    .memory_max = BROKER_CONFINE_MEMORY,
	    .deny_tcp_bind = true,
	    .deny_tcp_connect = true,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
