/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hop without policy, as a measure for the egress proxy: accepts, dials
 * one fixed address, moves bytes both ways by splice(2) and passes ends on.
 * One process, one level-triggered epoll; pipes are lent while bytes are in
 * them, so that an idle connection owns none. No judgement, no limit, no
 * log, no deadline: never anything but a peer of benches.
 *   hop ADDRESS:PORT UPSTREAM:PORT [PIPE_BYTES [ROUNDS]]
 * ROUNDS is how many times a wakeup reads one side.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOP_EVENTS 256

struct hop_pipe {
	int read_fd, write_fd;
	struct hop_pipe *next;
};

struct hop_end {
	int fd;
	struct hop_end *other;
	struct hop_pipe *pipe; /* bytes read here, not yet written there */
	size_t held;
	uint32_t asked;  /* what epoll tells about it */
	bool connecting; /* dialled, no answer yet */
	bool eof, shut;  /* its FIN was read; ours was sent */
	bool closed;     /* freed after this batch of events */
	struct hop_end *next_closed;
};

static struct hop_pipe *hop_pipes;
static struct hop_end *hop_closed;
static struct sockaddr_in hop_upstream;
static size_t hop_pipe_bytes = 1U << 20;
static int hop_rounds = 4, hop_epoll;

static _Noreturn void
hop_fail(const char *what)
{
	fprintf(stderr, "hop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct hop_pipe *
hop_pipe_take(void)
{
	struct hop_pipe *pipe = hop_pipes;
	int fds[2];

	if (pipe != NULL) {
		hop_pipes = pipe->next;
		return pipe;
	}
	pipe = calloc(1, sizeof(*pipe));
	if (pipe == NULL || pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0)
		hop_fail("pipe");
	(void)fcntl(fds[1], F_SETPIPE_SZ, (int)hop_pipe_bytes);
	pipe->read_fd = fds[0];
	pipe->write_fd = fds[1];
	return pipe;
}

/* One with bytes in it is never used again. */
static void
hop_pipe_give(struct hop_end *end)
{
	struct hop_pipe *pipe = end->pipe;

	if (pipe == NULL)
		return;
	end->pipe = NULL;
	if (end->held > 0) {
		close(pipe->read_fd);
		close(pipe->write_fd);
		free(pipe);
		return;
	}
	pipe->next = hop_pipes;
	hop_pipes = pipe;
}

static void
hop_close(struct hop_end *end)
{
	struct hop_end *both[] = {end, end->other};

	if (end->closed)
		return;
	for (int i = 0; i < 2; i++) {
		hop_pipe_give(both[i]);
		close(both[i]->fd);
		both[i]->closed = true;
		both[i]->next_closed = hop_closed;
		hop_closed = both[i];
	}
}

/* Have epoll tell what is of use now, and no more: an end of which nothing
 * is wanted is not watched, so that its hanging up wakes nobody. */
static void
hop_ask(struct hop_end *end)
{
	struct epoll_event event = {.data.ptr = end};
	uint32_t before = end->asked;

	if (end->closed)
		return;
	if (end->connecting || end->other->held > 0)
		event.events |= EPOLLOUT;
	if (!end->eof && end->held == 0 && !end->connecting &&
	    !end->other->connecting)
		event.events |= EPOLLIN;
	if (event.events == before)
		return;
	end->asked = event.events;
	if (epoll_ctl(hop_epoll,
		before == 0         ? EPOLL_CTL_ADD
		: event.events == 0 ? EPOLL_CTL_DEL
				    : EPOLL_CTL_MOD,
		end->fd, &event) != 0)
		hop_fail("epoll_ctl");
}

/* Write what is held; false: no more now. */
static bool
hop_write(struct hop_end *from)
{
	ssize_t count = splice(from->pipe->read_fd, NULL, from->other->fd, NULL,
	    from->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (count < 0 && errno != EAGAIN && errno != EINTR)
		hop_close(from);
	if (count <= 0)
		return false;
	from->held -= (size_t)count;
	if (from->held == 0)
		hop_pipe_give(from);
	return true;
}

/* Read once; false: no more now. */
static bool
hop_read(struct hop_end *from)
{
	ssize_t count;

	from->pipe = hop_pipe_take();
	count = splice(from->fd, NULL, from->pipe->write_fd, NULL,
	    hop_pipe_bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (count > 0) {
		from->held = (size_t)count;
		return true;
	}
	hop_pipe_give(from);
	if (count == 0)
		from->eof = true;
	else if (errno != EAGAIN && errno != EINTR)
		hop_close(from);
	return false;
}

static void
hop_move(struct hop_end *from)
{
	bool more = true;

	for (int i = 0; more && !from->closed && i < hop_rounds; i++) {
		more = from->held > 0 || (!from->eof && hop_read(from));
		while (more && from->held > 0)
			more = hop_write(from);
	}
	if (from->closed || !from->eof || from->held > 0)
		return;
	if (!from->other->shut) {
		from->other->shut = true;
		(void)shutdown(from->other->fd, SHUT_WR);
	}
	if (from->shut)
		hop_close(from);
}

static void
hop_event(struct hop_end *end, uint32_t events)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (end->closed)
		return;
	if (end->connecting) {
		if (getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &error, &len) !=
			0 ||
		    error != 0) {
			hop_close(end);
			return;
		}
		end->connecting = false;
	} else {
		if (events & EPOLLERR)
			hop_close(end);
		if (events & (EPOLLIN | EPOLLHUP) && !end->closed)
			hop_move(end);
		if (events & EPOLLOUT && !end->closed)
			hop_move(end->other);
	}
	hop_ask(end);
	hop_ask(end->other);
}

static void
hop_accept(int listener)
{
	int fd, on = 1;

	while ((fd = accept4(
		    listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct hop_end *client = calloc(1, sizeof(*client));
		struct hop_end *upstream = calloc(1, sizeof(*upstream));

		if (client == NULL || upstream == NULL)
			hop_fail("memory");
		client->fd = fd;
		client->other = upstream;
		upstream->other = client;
		upstream->connecting = true;
		upstream->fd = socket(
		    AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (upstream->fd < 0 ||
		    (connect(upstream->fd, (struct sockaddr *)&hop_upstream,
			 sizeof(hop_upstream)) != 0 &&
			errno != EINPROGRESS))
			hop_fail("dial");
		(void)setsockopt(
		    upstream->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		hop_ask(upstream);
	}
}

static void
hop_address(const char *text, struct sockaddr_in *to)
{
	char host[64] = "";
	unsigned port = 0;

	if (sscanf(text, "%63[0-9.]:%u", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &to->sin_addr) != 1)
		hop_fail(text);
	to->sin_family = AF_INET;
	to->sin_port = htons((uint16_t)port);
}

static int
hop_listen(const char *text)
{
	struct sockaddr_in at = {0};
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	hop_address(text, &at);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 4096) != 0 ||
	    epoll_ctl(hop_epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		hop_fail(text);
	return fd;
}

static void
hop_loop(int listener)
{
	struct epoll_event events[HOP_EVENTS];

	for (;;) {
		int count = epoll_wait(hop_epoll, events, HOP_EVENTS, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == NULL)
				hop_accept(listener);
			else
				hop_event(events[i].data.ptr, events[i].events);
		}
		while (hop_closed != NULL) {
			struct hop_end *end = hop_closed;

			hop_closed = end->next_closed;
			free(end);
		}
	}
}

int
main(int argc, char **argv)
{
	struct rlimit files;

	if (argc < 3) {
		fprintf(stderr, "usage: hop ADDRESS:PORT UPSTREAM:PORT "
				"[PIPE_BYTES [ROUNDS]]\n");
		return 2;
	}
	if (argc > 3)
		hop_pipe_bytes = (size_t)atol(argv[3]);
	if (argc > 4)
		hop_rounds = atoi(argv[4]);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	hop_address(argv[2], &hop_upstream);
	hop_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (hop_epoll < 0)
		hop_fail("epoll");
	hop_loop(hop_listen(argv[1]));
}
