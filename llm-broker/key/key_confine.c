/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls llm-key needs, and nothing else. Called once by main.c,
 * before a key or a foreign byte can come. Pairs and lanes arrive as
 * descriptors; sockets of our own are internet sockets that connect. Must
 * never gain open, exec, bind, listen, accept, clone, ptrace or a unix
 * socket.
 */
#include "llm-broker/key/key_confine.h"

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <sys/socket.h>

#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif

#define KEY_CONFINE_MEMORY (UINT64_C(1) << 30)

/* On top of confine_base (memory, loop, clock, open descriptors, ending). */
static const struct confine_syscall key_confine_syscalls[] = {
    {__NR_memfd_secret, CONFINE_ALLOW_ARG0, 0, "secret_new"},
    {__NR_ftruncate, CONFINE_ALLOW, 0, "secret_new"},
    {__NR_mlock, CONFINE_ALLOW, 0, "secret_new, without memfd_secret"},
    {__NR_socket, CONFINE_ALLOW_ARG0, AF_INET, "dial_open, c-ares"},
    {__NR_socket, CONFINE_ALLOW_ARG0, AF_INET6, "dial_open, c-ares"},
    {__NR_connect, CONFINE_ALLOW, 0, "dial_open, c-ares"},
    {__NR_getsockopt, CONFINE_ALLOW, 0,
	"dial_on_writable, key_lane_io_is_stream, key_lane_io_is_cut"},
    {__NR_setsockopt, CONFINE_ALLOW, 0, "TCP_NODELAY, c-ares"},
    {__NR_getsockname, CONFINE_ALLOW, 0, "c-ares"},
    {__NR_recvfrom, CONFINE_ALLOW, 0,
	"key_lane_io_read, upstream_wire_receive, c-ares"},
    {__NR_sendto, CONFINE_ALLOW, 0,
	"key_lane_net_put, upstream_wire_put, c-ares"},
    {__NR_ioctl, CONFINE_ALLOW_ARG1, FIONBIO, "c-ares"},
    {-1, CONFINE_ALLOW, 0, NULL},
};

enum result
key_confine_enter(uid_t uid, bool landlock, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size)
{
	struct confine_spec spec = {
	    .syscalls = key_confine_syscalls,
	    .paths = NULL,
	    .landlock_required = landlock,
	    .uid = uid != 0 ? uid : KEY_CONFINE_UID,
	    .gid = (gid_t)(uid != 0 ? uid : KEY_CONFINE_UID),
	    .memory_max = KEY_CONFINE_MEMORY,
	    .deny_tcp_bind = true,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
