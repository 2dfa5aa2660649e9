/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of splice pipes. Called by tunnel.c, once per transfer. Must
 * never hand out a pipe with somebody else's bytes in it.
 */
#include "egress-proxy/splice_pipe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

void
splice_pipe_pool_init(
    struct splice_pipe_pool *pool, size_t open_max, size_t want)
{
	memset(pool, 0, sizeof(*pool));
	pool->open_max = open_max;
	pool->want = want;
}

static void
splice_pipe_close(struct splice_pipe_pool *pool, struct splice_pipe *pipe)
{
	fd_close(&pipe->read_fd);
	fd_close(&pipe->write_fd);
	free(pipe);
	pool->open--;
}

void
splice_pipe_pool_close(struct splice_pipe_pool *pool)
{
	while (pool->idle_count > 0)
		splice_pipe_close(pool, pool->idle[--pool->idle_count]);
}

/* The kernel may refuse the size: the pages of a user's pipes are limited
 * for all of its processes together. Then less; what was granted counts. */
static size_t
splice_pipe_resize(int fd, size_t want)
{
	int granted;

	for (; want >= SPLICE_PIPE_LEAST; want /= 4) {
		granted = fcntl(fd, F_SETPIPE_SZ, (int)want);
		if (granted > 0)
			return (size_t)granted;
	}
	granted = fcntl(fd, F_GETPIPE_SZ);
	return granted > 0 ? (size_t)granted : 0;
}

static enum result
splice_pipe_open(struct splice_pipe_pool *pool, struct splice_pipe **pipe_r)
{
	struct splice_pipe *pipe = calloc(1, sizeof(*pipe));
	int fds[2];

	if (pipe == NULL)
		return RESULT_NO_MEMORY;
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0) {
		free(pipe);
		return RESULT_SYSTEM;
	}
	pipe->read_fd = fds[0];
	pipe->write_fd = fds[1];
	/* A crowd of slow receivers shares what the user may have. */
	pipe->capacity = splice_pipe_resize(fds[1],
	    pool->open < SPLICE_PIPE_FULL ? pool->want : pool->want / 4);
	pool->open++;
	if (pipe->capacity < SPLICE_PIPE_LEAST) {
		splice_pipe_close(pool, pipe);
		return RESULT_SYSTEM;
	}
	*pipe_r = pipe;
	return RESULT_OK;
}

enum result
splice_pipe_take(struct splice_pipe_pool *pool, struct splice_pipe **pipe_r)
{
	*pipe_r = NULL;
	if (pool->idle_count > 0) {
		*pipe_r = pool->idle[--pool->idle_count];
		return RESULT_OK;
	}
	if (pool->open >= pool->open_max)
		return RESULT_TOO_LONG;
	return splice_pipe_open(pool, pipe_r);
}

void
splice_pipe_give(
    struct splice_pipe_pool *pool, struct splice_pipe **pipe, int empty)
{
	struct splice_pipe *given = *pipe;

	*pipe = NULL;
	if (given == NULL)
		return;
	if (!empty || pool->idle_count == SPLICE_PIPE_KEEP) {
		splice_pipe_close(pool, given);
		return;
	}
	pool->idle[pool->idle_count++] = given;
}

void
splice_pipe_trim(struct splice_pipe_pool *pool)
{
	while (pool->idle_count > 1)
		splice_pipe_close(pool, pool->idle[--pool->idle_count]);
}
