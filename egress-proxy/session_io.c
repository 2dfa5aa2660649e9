/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets, lookups and dials of sessions. Called by proxy.c (accept, tick)
 * and by the event loop. A descriptor has one edge-triggered event; what it
 * said is kept in flags, and session_io_pump does what the state wants with
 * them. Must never read more than the state wants, nor free a session while
 * a step of it is running.
 */
#include "egress-proxy/session_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "egress-proxy/session_net.h"
#include "egress-proxy/session_work.h"

#define SESSION_IO_PIPES_MAX 1024U
#define SESSION_IO_PIPE_SIZE (1U << 20)

static void session_io_pump(struct session_io *io);

static void
session_io_free(struct session_io *io)
{
	io->shared->counters.ended++;
	session_end(&io->session);
	free(io);
}

/* A step, then whatever can be done now; afterwards io may be gone. */
void
session_io_drive(struct session_io *io, enum session_event event)
{
	if (io->busy) {
		session_step(&io->session, event);
		return;
	}
	io->busy = 1;
	session_step(&io->session, event);
	session_io_pump(io);
	io->busy = 0;
	if (io->session.state == SESSION_CLOSED)
		session_io_free(io);
}

void
session_io_tell(struct session *session, enum session_event event)
{
	session_io_drive(session_net_of(session), event);
}

/* An error of the socket (the other side reset it) comes as reading and
 * writing at once, without a word of closing, and no edge follows it: then a
 * short read is not the last word either. */
static uint8_t
session_io_can(short what)
{
	bool reads = (what & EV_READ) != 0, writes = (what & EV_WRITE) != 0;
	bool closed = (what & EV_CLOSED) != 0 || (reads && writes);

	return (uint8_t)((reads ? TUNNEL_CAN_READ : 0) |
			 (writes ? TUNNEL_CAN_WRITE : 0) |
			 (closed ? TUNNEL_HUNG_UP : 0));
}

/* Pump without an event of the story. */
static void
session_io_wake(struct session_io *io)
{
	io->busy = 1;
	session_io_pump(io);
	io->busy = 0;
	if (io->session.state == SESSION_CLOSED)
		session_io_free(io);
}

static void
session_io_on_client(evutil_socket_t fd, short what, void *context)
{
	struct session_io *io = context;

	(void)fd;
	io->client_can |= session_io_can(what);
	session_io_wake(io);
}

void
session_io_on_upstream(evutil_socket_t fd, short what, void *context)
{
	struct session_io *io = context;

	(void)fd;
	io->upstream_can |= session_io_can(what);
	session_io_wake(io);
}

/* --- reading before a tunnel --- */

/* One read of at most room bytes behind buffer. *more_r: try again. */
static enum session_event
session_io_read(struct session_io_shared *shared, int fd, uint8_t *can,
    struct buffer *buffer, size_t room, bool *more_r)
{
	size_t want = room < TUNNEL_SCRATCH ? room : TUNNEL_SCRATCH;
	ssize_t count = recv(fd, shared->tunnel.scratch, want, 0);

	*more_r = true;
	if (count > 0) {
		if ((size_t)count < want && !(*can & TUNNEL_HUNG_UP))
			*can &= (uint8_t)~TUNNEL_CAN_READ;
		if (buffer_append(buffer, shared->tunnel.scratch,
			(size_t)count) != RESULT_OK)
			return SESSION_EVENT_CLIENT_LOST;
		return SESSION_EVENT_CLIENT_BYTES;
	}
	if (count < 0 && errno == EINTR) {
		*more_r = false; /* CAN_READ stays: the next pump tries */
		return SESSION_EVENT_COUNT;
	}
	*can &= (uint8_t) ~(TUNNEL_CAN_READ | TUNNEL_HUNG_UP);
	if (count == 0)
		return SESSION_EVENT_CLIENT_END;
	if (errno == EAGAIN) {
		*more_r = false;
		return SESSION_EVENT_COUNT;
	}
	return SESSION_EVENT_CLIENT_LOST;
}

static size_t
session_io_room(const struct session *session)
{
	size_t len = session->work->in.len;
	size_t max = session->state == SESSION_HEAD
			 ? HTTP_HEAD_BYTES_MAX + 1
			 : session->in_used + CLIENT_HELLO_BYTES_MAX + 1;

	return max > len ? max - len : 0;
}

/* HEAD and HELLO: more of the client's bytes. False: nothing to do. */
static bool
session_io_read_client(struct session_io *io)
{
	struct session *session = &io->session;
	size_t room = session_io_room(session);
	enum session_event event;
	bool more;

	if (!(io->client_can & (TUNNEL_CAN_READ | TUNNEL_HUNG_UP)) || room == 0)
		return false;
	event = session_io_read(io->shared, io->client_fd, &io->client_can,
	    &session->work->in, room, &more);
	if (event != SESSION_EVENT_COUNT)
		session_step(session, event);
	return more;
}

/* LINGER: what the client still sends is dropped. */
static bool
session_io_drain(struct session_io *io)
{
	ssize_t count;

	if (!(io->client_can & (TUNNEL_CAN_READ | TUNNEL_HUNG_UP)))
		return false;
	count =
	    recv(io->client_fd, io->shared->tunnel.scratch, TUNNEL_SCRATCH, 0);
	if (count > 0)
		return true;
	io->client_can &= (uint8_t) ~(TUNNEL_CAN_READ | TUNNEL_HUNG_UP);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	session_step(&io->session,
	    count == 0 ? SESSION_EVENT_CLIENT_END : SESSION_EVENT_CLIENT_LOST);
	return true;
}

/* --- moving --- */

static void
session_io_count(struct session_io *io, uint64_t up, uint64_t down)
{
	struct session *session = &io->session;

	if (up == session->up_bytes && down == session->down_bytes)
		return;
	io->shared->counters.up_bytes += up - session->up_bytes;
	io->shared->counters.down_bytes += down - session->down_bytes;
	session->up_bytes = up;
	session->down_bytes = down;
	session->active_ms = event_loop_now_ms();
}

static void
session_io_throttle(struct session_io *io)
{
	if (egress_quota_exhausted(&io->session.sandbox->quota))
		session_step(&io->session, SESSION_EVENT_BYTE_LIMIT);
	else
		session_net_wait(io, SESSION_NET_THROTTLED);
}

/* While what was read waits for a slow receiver, each packet of a fast
 * sender would wake us for nothing: from the first such one on (useless)
 * the sender is not listened to, until all that had come was read. */
static void
session_io_hear(
    struct session_io *io, unsigned end, struct event *event, bool useless)
{
	if (session_net_hears(event)) {
		if (useless && tunnel_stuck(&io->tunnel, end))
			session_net_hear(event, false);
	} else if (tunnel_drained(&io->tunnel, end)) {
		session_net_hear(event, true);
	}
}

/* True: the session stands elsewhere now, and there may be more to do. */
static bool
session_io_move_tunnel(struct session_io *io)
{
	struct tunnel *tunnel = &io->tunnel;
	bool client_useless = (io->client_can & TUNNEL_CAN_READ) != 0 &&
			      tunnel_stuck(tunnel, 0),
	     upstream_useless = (io->upstream_can & TUNNEL_CAN_READ) != 0 &&
				tunnel_stuck(tunnel, 1);
	enum tunnel_status status;

	tunnel_note(tunnel, 0, io->client_can);
	tunnel_note(tunnel, 1, io->upstream_can);
	io->client_can = io->upstream_can = 0;
	status = tunnel_continue(
	    tunnel, &io->shared->tunnel, &io->session.sandbox->quota);
	session_io_count(io, tunnel->ends[0].moved, tunnel->ends[1].moved);
	if (status != TUNNEL_DONE && status != TUNNEL_BROKEN) {
		session_io_hear(io, 0, &io->client_event, client_useless);
		session_io_hear(io, 1, &io->upstream_event, upstream_useless);
	}
	switch (status) {
	case TUNNEL_WAIT:
		break;
	case TUNNEL_AGAIN:
		session_net_wait(io, SESSION_NET_AGAIN);
		break;
	case TUNNEL_THROTTLED:
		session_io_throttle(io);
		break;
	case TUNNEL_RETRY:
		session_step(&io->session, SESSION_EVENT_RETRY);
		return true;
	case TUNNEL_REFUSED:
		session_step(&io->session, SESSION_EVENT_SECOND_HELLO);
		return true;
	case TUNNEL_DONE:
		session_step(&io->session, SESSION_EVENT_MOVED_ALL);
		return true;
	case TUNNEL_BROKEN:
		session_step(&io->session, SESSION_EVENT_MOVE_BROKEN);
		return true;
	}
	return false;
}

/* RETRY: the server's bytes go on, the client's are collected. */
static bool
session_io_retry(struct session_io *io)
{
	uint8_t can = io->client_can;

	if (session_io_move_tunnel(io) || io->session.state != SESSION_RETRY)
		return true;
	io->client_can = can & (TUNNEL_CAN_READ | TUNNEL_HUNG_UP);
	return session_io_read_client(io);
}

static void
session_io_move_exchange(struct session_io *io)
{
	struct session *session = &io->session;
	enum exchange_status status;

	exchange_note(io->exchange, 0, io->client_can);
	exchange_note(io->exchange, 1, io->upstream_can);
	io->client_can = io->upstream_can = 0;
	status = exchange_continue(io->exchange, &session->sandbox->quota);
	session_io_count(io, exchange_up_bytes(io->exchange),
	    exchange_down_bytes(io->exchange));
	session->answered = session->down_bytes > 0;
	switch (status) {
	case EXCHANGE_WAIT:
		return;
	case EXCHANGE_AGAIN:
		session_net_wait(io, SESSION_NET_AGAIN);
		return;
	case EXCHANGE_THROTTLED:
		session_io_throttle(io);
		return;
	case EXCHANGE_DONE:
		session_step(session, SESSION_EVENT_MOVED_ALL);
		return;
	case EXCHANGE_BROKEN:
		session_step(session, SESSION_EVENT_MOVE_BROKEN);
		return;
	case EXCHANGE_BAD_REQUEST:
		session_step(session, SESSION_EVENT_BAD_REQUEST_BODY);
		return;
	case EXCHANGE_BAD_RESPONSE:
		session_step(session, SESSION_EVENT_BAD_RESPONSE);
		return;
	}
}

/* Do what the state wants with what the descriptors can do, until nothing
 * more is possible or the turn is over. */
static void
session_io_pump(struct session_io *io)
{
	bool more = true;

	for (unsigned turn = 0; more && turn < 64; turn++) {
		switch (io->session.state) {
		case SESSION_HEAD:
		case SESSION_HELLO:
			more = session_io_read_client(io);
			break;
		case SESSION_LINGER:
			more = session_io_drain(io);
			break;
		case SESSION_TUNNEL:
			session_net_unwait(io);
			more = session_io_move_tunnel(io);
			break;
		case SESSION_RETRY:
			session_net_unwait(io);
			more = session_io_retry(io);
			break;
		case SESSION_EXCHANGE:
			session_net_unwait(io);
			session_io_move_exchange(io);
			more = io->session.state == SESSION_LINGER;
			break;
		case SESSION_NEW:
		case SESSION_RESOLVE:
		case SESSION_DIAL:
		case SESSION_CLOSED:
		case SESSION_STATE_COUNT:
			more = false;
			break;
		}
	}
	if (more && io->session.state != SESSION_CLOSED)
		session_net_wait(io, SESSION_NET_AGAIN);
}

/* --- life --- */

static struct session_io *
session_io_new(struct session_io_shared *shared,
    struct session_sandbox *sandbox, const struct domain *name, uint16_t port)
{
	struct session_io *io = calloc(1, sizeof(*io));
	struct session *session;

	if (io == NULL)
		return NULL;
	session = &io->session;
	(void)session_work_new(name, &session->work);
	if (name != NULL) {
		session->host = strdup(name->name);
		session->kind = SESSION_KIND_DIRECT;
		session->port = port;
	}
	if (session->work == NULL || (name != NULL && session->host == NULL)) {
		free(session->host);
		session_work_free(&session->work);
		free(io);
		return NULL;
	}
	session->actions = &session_net_actions;
	session->limits = &shared->limits;
	session->wheel = &shared->wheel;
	session->sandbox = sandbox;
	session->id = ++shared->next_id;
	io->shared = shared;
	io->upstream_fd = -1;
	return io;
}

void
session_io_accept(struct session_io_shared *shared,
    struct session_sandbox *sandbox, int client_fd,
    const struct ip_addr *client, uint16_t client_port,
    const struct domain *name, uint16_t port)
{
	struct session_io *io = session_io_new(shared, sandbox, name, port);

	if (io == NULL) {
		fd_close(&client_fd);
		return;
	}
	shared->counters.accepted++;
	io->client_fd = client_fd;
	io->client_can = TUNNEL_CAN_READ; /* often its bytes are there */
	io->session.client = *client;
	io->session.client_port = client_port;
	session_begin(&io->session);
	io->busy = 1;
	session_step(&io->session, SESSION_EVENT_ACCEPTED);
	session_io_pump(io);
	io->busy = 0;
	if (io->session.state == SESSION_CLOSED)
		session_io_free(io);
	else
		session_net_watch(
		    io, &io->client_event, io->client_fd, session_io_on_client);
}

/* Everyone who waits now gets one more turn; who waits again is behind. */
static void
session_io_resume(struct session_io_queue *queue)
{
	struct session_io *io;
	size_t count = 0;

	TAILQ_FOREACH(io, queue, wait)
	count++;
	while (count-- > 0 && (io = TAILQ_FIRST(queue)) != NULL) {
		/* What ended has left the queue (session_net_stop).
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		session_net_unwait(io);
		session_io_wake(io);
	}
}

static void
session_io_on_again(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval now = {0, 0};
	struct session_io_shared *shared = context;

	(void)fd;
	(void)what;
	session_io_resume(&shared->again);
	if (!TAILQ_EMPTY(&shared->again))
		(void)event_add(shared->again_event, &now);
}

static void
session_io_on_deadline(struct deadline *deadline, void *context)
{
	struct session *session =
	    (struct session *)(void *)((char *)deadline -
				       offsetof(struct session, deadline));

	(void)context;
	session_io_tell(session, SESSION_EVENT_DEADLINE);
}

void
session_io_tick(struct session_io_shared *shared)
{
	deadline_wheel_tick(
	    &shared->wheel, event_loop_now_ms(), session_io_on_deadline, NULL);
	session_io_resume(&shared->throttled);
	splice_pipe_trim(&shared->tunnel.pipes);
}

enum result
session_io_shared_init(struct session_io_shared *shared,
    struct event_base *base, struct dns *dns, const struct proxy_config *config)
{
	struct session_limits *limits = &shared->limits;

	shared->base = base;
	shared->dns = dns;
	shared->config = config;
	limits->max_tunnels = (size_t)config->max_tunnels;
	limits->head_ms = (uint64_t)config->head_timeout_ms;
	limits->hello_ms = (uint64_t)config->hello_timeout_ms;
	limits->lookup_ms = (uint64_t)config->lookup_timeout_ms;
	limits->dial_ms = (uint64_t)config->dial_timeout_ms;
	limits->idle_ms = (uint64_t)config->idle_timeout_s * 1000;
	limits->total_ms = (uint64_t)config->total_timeout_s * 1000;
	TAILQ_INIT(&shared->again);
	TAILQ_INIT(&shared->throttled);
	deadline_wheel_init(&shared->wheel, event_loop_now_ms());
	splice_pipe_pool_init(
	    &shared->tunnel.pipes, SESSION_IO_PIPES_MAX, SESSION_IO_PIPE_SIZE);
	shared->tunnel.no_splice = !config->splice;
	shared->again_event =
	    event_new(base, -1, 0, session_io_on_again, shared);
	return shared->again_event != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

void
session_io_shared_close(struct session_io_shared *shared)
{
	splice_pipe_pool_close(&shared->tunnel.pipes);
	if (shared->again_event != NULL)
		event_free(shared->again_event);
	shared->again_event = NULL;
}
