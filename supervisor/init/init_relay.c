/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay child (see the header): one poll loop, a fixed number of pairs,
 * a fixed buffer per direction, half-close kept. It looks at no byte. It is
 * the workload's uid in a Landlock domain of its own without any path, so
 * the worst a workload can do to it is to stop its own sockets.
 */
#include "supervisor/init/init_relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/init/init_child.h"
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_landlock.h"
#include "supervisor/init/init_listen.h"

#define INIT_RELAY_SERVICES 2U
#define INIT_RELAY_PAIRS 64U
#define INIT_RELAY_BUFFER 16384U
#define INIT_RELAY_POLLS (INIT_RELAY_SERVICES + 2U * INIT_RELAY_PAIRS)

/* One direction: bytes read from one end wait here for the other. */
struct init_relay_flow {
	char bytes[INIT_RELAY_BUFFER];
	size_t start, len;
	bool ended; /* nothing more comes */
	bool done;  /* and the other end knows */
};

/* Both ends are the same: flow[i] is what ends[i] sends. */
struct init_relay_pair {
	int ends[2]; /* -1 when the pair is free */
	struct init_relay_flow flow[2];
};

static struct init_relay_pair init_relay_pairs[INIT_RELAY_PAIRS];

static void
init_relay_close(struct init_relay_pair *pair)
{
	for (unsigned i = 0; i < 2; i++) {
		if (pair->ends[i] >= 0)
			close(pair->ends[i]);
		pair->ends[i] = -1;
		pair->flow[i].start = pair->flow[i].len = 0;
		pair->flow[i].ended = pair->flow[i].done = false;
	}
}

static struct init_relay_pair *
init_relay_free_pair(void)
{
	for (unsigned i = 0; i < INIT_RELAY_PAIRS; i++) {
		if (init_relay_pairs[i].ends[0] < 0)
			return &init_relay_pairs[i];
	}
	return NULL;
}

/* 0 once connecting is under way; polling tells the rest. */
static int
init_relay_dial(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
		0 &&
	    errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
init_relay_accept(int listener, uint16_t port)
{
	struct init_relay_pair *pair = init_relay_free_pair();
	int client;

	if (pair == NULL)
		return;
	client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (client < 0)
		return;
	pair->ends[0] = client;
	pair->ends[1] = init_relay_dial(port);
	if (pair->ends[1] < 0)
		init_relay_close(pair);
}

/* False: the pair is broken. read(2), so that descriptors sent along are
 * closed by the kernel and never arrive. */
static bool
init_relay_fill(struct init_relay_pair *pair, unsigned from)
{
	struct init_relay_flow *flow = &pair->flow[from];
	ssize_t got;

	if (flow->ended || flow->len > 0)
		return true;
	got = read(pair->ends[from], flow->bytes, sizeof(flow->bytes));
	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	flow->start = 0;
	flow->len = (size_t)got;
	flow->ended = got == 0;
	return true;
}

static bool
init_relay_drain(struct init_relay_pair *pair, unsigned from)
{
	struct init_relay_flow *flow = &pair->flow[from];
	int to = pair->ends[1 - from];

	if (flow->len > 0) {
		ssize_t put = send(
		    to, flow->bytes + flow->start, flow->len, MSG_NOSIGNAL);

		if (put < 0)
			return errno == EAGAIN || errno == EINTR;
		flow->start += (size_t)put;
		flow->len -= (size_t)put;
	}
	if (flow->ended && flow->len == 0 && !flow->done) {
		/* Not connected yet: try again when it is. */
		if (shutdown(to, SHUT_WR) != 0)
			return errno == ENOTCONN && from == 0;
		flow->done = true;
	}
	return true;
}

static void
init_relay_move(struct init_relay_pair *pair)
{
	bool alive = true;

	for (unsigned from = 0; alive && from < 2; from++)
		alive =
		    init_relay_fill(pair, from) && init_relay_drain(pair, from);
	if (!alive || (pair->flow[0].done && pair->flow[1].done))
		init_relay_close(pair);
}

/* A descriptor that waits for nothing is left out: it could report a hang-up
 * for ever. */
static void
init_relay_watch(
    const struct init_relay_pair *pair, unsigned end, struct pollfd *poll_r)
{
	const struct init_relay_flow *out = &pair->flow[end];
	const struct init_relay_flow *in = &pair->flow[1 - end];

	poll_r->events = 0;
	if (!out->ended && out->len == 0)
		poll_r->events |= POLLIN;
	if (in->len > 0 || (in->ended && !in->done))
		poll_r->events |= POLLOUT;
	poll_r->fd = poll_r->events != 0 ? pair->ends[end] : -1;
	poll_r->revents = 0;
}

static void
init_relay_loop(const int *listeners, const uint16_t *ports, unsigned count)
{
	struct pollfd polls[INIT_RELAY_POLLS];
	struct pollfd *ends = polls + INIT_RELAY_SERVICES;

	for (;;) {
		bool room = init_relay_free_pair() != NULL;

		for (unsigned i = 0; i < INIT_RELAY_SERVICES; i++)
			polls[i] = (struct pollfd){
			    i < count && room ? listeners[i] : -1, POLLIN, 0};
		for (unsigned i = 0; i < INIT_RELAY_PAIRS; i++) {
			init_relay_watch(&init_relay_pairs[i], 0, &ends[2 * i]);
			init_relay_watch(
			    &init_relay_pairs[i], 1, &ends[2 * i + 1]);
		}
		if (poll(polls, INIT_RELAY_POLLS, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		for (unsigned i = 0; i < INIT_RELAY_PAIRS; i++) {
			if (ends[2 * i].revents != 0 ||
			    ends[2 * i + 1].revents != 0)
				init_relay_move(&init_relay_pairs[i]);
		}
		for (unsigned i = 0; i < count; i++) {
			if (polls[i].revents != 0)
				init_relay_accept(listeners[i], ports[i]);
		}
	}
}

/* Does not return. */
static void
init_relay_child(const struct init_setup *setup, int *listeners,
    const uint16_t *ports, unsigned count)
{
	int error = init_child_keep(listeners, count);

	if (error == 0)
		error = init_landlock_nothing((int)setup->landlock_required);
	if (error == 0)
		error = init_filter_enter(false);
	if (error != 0)
		_exit(error);
	for (unsigned i = 0; i < INIT_RELAY_PAIRS; i++)
		init_relay_pairs[i].ends[0] = init_relay_pairs[i].ends[1] = -1;
	init_relay_loop(listeners, ports, count);
	_exit(EIO);
}

int
init_relay_start(const struct init_setup *setup, pid_t *pid_r)
{
	static const char *const paths[INIT_RELAY_SERVICES] = {
	    INIT_SOCKET_DIR "/llm.sock", INIT_SOCKET_DIR "/tools.sock"};
	const uint16_t asked[INIT_RELAY_SERVICES] = {
	    setup->relay_llm_port, setup->relay_tools_port};
	uint16_t ports[INIT_RELAY_SERVICES];
	int listeners[INIT_RELAY_SERVICES];
	unsigned count = 0;
	int error = 0;

	*pid_r = 0;
	for (unsigned i = 0; error == 0 && i < INIT_RELAY_SERVICES; i++) {
		if (asked[i] == 0)
			continue;
		ports[count] = asked[i];
		listeners[count] = init_listen_unix(paths[i]);
		if (listeners[count] < 0)
			error = errno;
		else
			count++;
	}
	if (error == 0 && count > 0) {
		*pid_r = init_child_fork();
		if (*pid_r == 0)
			init_relay_child(setup, listeners, ports, count);
		if (*pid_r < 0)
			error = errno;
	}
	while (count > 0)
		close(listeners[--count]);
	return error;
}
