/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes for splice(2), taken from a pool only while bytes are in flight: an
 * idle tunnel owns none. The pool hands out the pipe given back last, whose
 * pages are warm, and keeps a bounded number. Used by tunnel.c.
 */
#ifndef EGRESS_PROXY_SPLICE_PIPE_H
#define EGRESS_PROXY_SPLICE_PIPE_H

#include <stddef.h>

#include "common/result.h"

#define SPLICE_PIPE_KEEP 16U     /* idle pipes kept open */
#define SPLICE_PIPE_FULL 32U     /* of the wanted size; more: a quarter */
#define SPLICE_PIPE_LEAST 65536U /* bytes; through less a copy is cheaper */

struct splice_pipe {
	int read_fd, write_fd;
	size_t capacity; /* bytes the kernel granted */
};

struct splice_pipe_pool {
	struct splice_pipe *idle[SPLICE_PIPE_KEEP];
	size_t idle_count;
	size_t open;     /* pipes that exist, idle or lent */
	size_t open_max; /* never more than this */
	size_t want;     /* capacity asked for, bytes */
};

void splice_pipe_pool_init(
    struct splice_pipe_pool *pool, size_t open_max, size_t want);
void splice_pipe_pool_close(struct splice_pipe_pool *pool);

/* An empty pipe. RESULT_TOO_LONG: open_max are lent; RESULT_SYSTEM: no
 * descriptor, memory, or pages for SPLICE_PIPE_LEAST. The caller then copies
 * through memory instead. */
enum result splice_pipe_take(
    struct splice_pipe_pool *pool, struct splice_pipe **pipe_r);

/* Give a pipe back and clear the pointer; accepts NULL. One that still
 * holds bytes (empty is 0) is closed: bytes never change tunnels. */
void splice_pipe_give(
    struct splice_pipe_pool *pool, struct splice_pipe **pipe, int empty);

/* Close all idle pipes but one: call now and then. What a burst needed is
 * not held against the user's other processes. */
void splice_pipe_trim(struct splice_pipe_pool *pool);

#endif
