/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of load tests: a TCP server on one loopback address, one
 * process, one epoll. What it does with a connection is its mode:
 *   byte    read something, answer one byte, close
 *   hold    read something, answer one byte, keep the connection
 *   source  read something, then send for ever
 *   sink    read for ever
 *   echo    send back what comes
 * Prints `ready`; ends with its parent or on SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
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

#define LOAD_UPSTREAM_FDS 65536
#define LOAD_UPSTREAM_CHUNK (1U << 18)

enum load_upstream_mode {
	LOAD_UPSTREAM_BYTE,
	LOAD_UPSTREAM_HOLD,
	LOAD_UPSTREAM_SOURCE,
	LOAD_UPSTREAM_SINK,
	LOAD_UPSTREAM_ECHO,
	LOAD_UPSTREAM_MODES
};

static const char *const load_upstream_modes[] = {
    "byte", "hold", "source", "sink", "echo"};

static enum load_upstream_mode load_upstream_mode;
static char load_upstream_bytes[LOAD_UPSTREAM_CHUNK];
static bool load_upstream_started[LOAD_UPSTREAM_FDS]; /* got its hello */

static _Noreturn void
load_upstream_fail(const char *what)
{
	fprintf(stderr, "load_upstream: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int
load_upstream_listen(const char *address, const char *congestion)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char host[64] = "";
	unsigned port = 0;
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sscanf(address, "%63[0-9.]:%u", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &to.sin_addr) != 1)
		load_upstream_fail(address);
	to.sin_port = htons((uint16_t)port);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
	    listen(fd, 4096) != 0)
		load_upstream_fail(address);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (congestion != NULL)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
		    (socklen_t)strlen(congestion));
	return fd;
}

static void
load_upstream_accept(int epoll, int listener)
{
	for (;;) {
		int fd =
		    accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event event = {
		    .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};

		if (fd < 0)
			return;
		if (fd >= LOAD_UPSTREAM_FDS ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
			close(fd);
			return;
		}
		load_upstream_started[fd] = false;
	}
}

/* Read what is there; false: the connection is over. */
static bool
load_upstream_read(int fd)
{
	bool echo = load_upstream_mode == LOAD_UPSTREAM_ECHO;
	ssize_t count;

	for (;;) {
		count = recv(fd, load_upstream_bytes, LOAD_UPSTREAM_CHUNK,
		    echo || !load_upstream_started[fd] ? 0 : MSG_TRUNC);
		if (count == 0)
			return false;
		if (count < 0)
			return errno == EAGAIN || errno == EINTR;
		load_upstream_started[fd] = true;
		if (echo && send(fd, load_upstream_bytes, (size_t)count,
				MSG_NOSIGNAL) != count)
			return false;
		if (load_upstream_mode == LOAD_UPSTREAM_BYTE)
			return false;
		if (load_upstream_mode == LOAD_UPSTREAM_HOLD)
			(void)send(fd, "x", 1, MSG_NOSIGNAL);
	}
}

static bool
load_upstream_write(int fd)
{
	/* A turn is bounded, so that every tunnel gets its share. */
	for (int i = 0; i < 8; i++) {
		ssize_t count = send(
		    fd, load_upstream_bytes, LOAD_UPSTREAM_CHUNK, MSG_NOSIGNAL);

		if (count < 0)
			return errno == EAGAIN || errno == EINTR;
	}
	return true;
}

static void
load_upstream_serve(int epoll, int fd)
{
	bool open = load_upstream_read(fd);
	struct epoll_event event = {
	    .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.fd = fd};

	if (!open && load_upstream_mode == LOAD_UPSTREAM_BYTE &&
	    load_upstream_started[fd])
		(void)send(fd, "x", 1, MSG_NOSIGNAL);
	if (open && load_upstream_mode == LOAD_UPSTREAM_SOURCE &&
	    load_upstream_started[fd]) {
		open = load_upstream_write(fd);
		/* Ask for the edge again: there may be room left. */
		if (open)
			(void)epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
	}
	if (!open)
		close(fd);
}

int
main(int argc, char **argv)
{
	struct epoll_event events[256], event = {.events = EPOLLIN};
	struct rlimit files;
	int listener, epoll = epoll_create1(EPOLL_CLOEXEC);

	if (argc < 3) {
		fprintf(stderr,
		    "usage: load_upstream ADDRESS:PORT MODE [CONGESTION]\n");
		return 2;
	}
	while (load_upstream_mode < LOAD_UPSTREAM_MODES &&
	       strcmp(argv[2], load_upstream_modes[load_upstream_mode]) != 0)
		load_upstream_mode++;
	if (load_upstream_mode == LOAD_UPSTREAM_MODES)
		load_upstream_fail(argv[2]);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	listener = load_upstream_listen(argv[1], argc > 3 ? argv[3] : NULL);
	event.data.fd = listener;
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0)
		load_upstream_fail("epoll");
	puts("ready");
	fflush(stdout);
	for (;;) {
		int count = epoll_wait(epoll, events, 256, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				load_upstream_accept(epoll, listener);
			else
				load_upstream_serve(epoll, events[i].data.fd);
		}
	}
}
