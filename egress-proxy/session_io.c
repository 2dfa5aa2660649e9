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
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/dial.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "egress-proxy/exchange.h"
#include "egress-proxy/session_actions.h"
#include "egress-proxy/session_report.h"

#define SESSION_IO_PIPES_MAX 1024U
#define SESSION_IO_PIPE_SIZE (1U << 19)
#define SESSION_IO_PARENT_MAX (HTTP_HEAD_BYTES_MAX + 65536U)

struct session_io {
	struct session session; /* first: the two are one object */
	struct session_io_shared *shared;
	struct event client_event, upstream_event;
	int client_fd, upstream_fd;
	uint8_t client_can, upstream_can; /* TUNNEL_CAN_... not yet used */
	uint8_t waits; /* 0: on no list, 1: again, 2: throttled */
	uint8_t busy;  /* a step is running */
	struct tunnel tunnel;
	struct exchange *exchange;
	struct dns_query *query;
	struct dial *dial;
	TAILQ_ENTRY(session_io) wait;
};

static struct session_io *
session_io_of(struct session *session)
{
	return (struct session_io *)(void *)session;
}

static void session_io_pump(struct session_io *io);

/* Take a session off the list of those that have more to do. */
static void
session_io_unwait(struct session_io *io)
{
	if (io->waits == 1)
		TAILQ_REMOVE(&io->shared->again, io, wait);
	else if (io->waits == 2)
		TAILQ_REMOVE(&io->shared->throttled, io, wait);
	io->waits = 0;
}

static void
session_io_wait(struct session_io *io, uint8_t list)
{
	static const struct timeval now = {0, 0};

	session_io_unwait(io);
	io->waits = list;
	if (list == 2) {
		TAILQ_INSERT_TAIL(&io->shared->throttled, io, wait);
		return;
	}
	if (TAILQ_EMPTY(&io->shared->again))
		(void)event_add(io->shared->again_event, &now);
	TAILQ_INSERT_TAIL(&io->shared->again, io, wait);
}

static void
session_io_free(struct session_io *io)
{
	io->shared->counters.ended++;
	session_end(&io->session);
	free(io);
}

/* A step, then whatever can be done now; afterwards io may be gone. */
static void
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
	session_io_drive(session_io_of(session), event);
}

static uint8_t
session_io_can(short what)
{
	return (uint8_t)((what & EV_READ ? TUNNEL_CAN_READ : 0) |
			 (what & EV_WRITE ? TUNNEL_CAN_WRITE : 0) |
			 (what & EV_CLOSED ? TUNNEL_HUNG_UP : 0));
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

static void
session_io_on_upstream(evutil_socket_t fd, short what, void *context)
{
	struct session_io *io = context;

	(void)fd;
	io->upstream_can |= session_io_can(what);
	session_io_wake(io);
}

static void
session_io_watch(struct session_io *io, struct event *event, int fd,
    event_callback_fn callback)
{
	if (event_assign(event, io->shared->base, fd,
		EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, callback,
		io) != 0 ||
	    event_add(event, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "event_add_failed", strerror(errno));
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

/* PARENT: more of the corporate proxy's answer. */
static bool
session_io_read_parent(struct session_io *io)
{
	struct session *session = &io->session;
	enum session_event event;
	bool more;

	if (!(io->upstream_can & (TUNNEL_CAN_READ | TUNNEL_HUNG_UP)) ||
	    session->work->parent.len > HTTP_HEAD_BYTES_MAX)
		return false;
	event = session_io_read(io->shared, io->upstream_fd, &io->upstream_can,
	    &session->work->parent, HTTP_HEAD_BYTES_MAX, &more);
	if (event == SESSION_EVENT_CLIENT_BYTES)
		session_step(session, SESSION_EVENT_PARENT_BYTES);
	else if (event != SESSION_EVENT_COUNT)
		session_step(session, SESSION_EVENT_UPSTREAM_LOST);
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
		session_io_wait(io, 2);
}

static void
session_io_move_tunnel(struct session_io *io)
{
	struct tunnel *tunnel = &io->tunnel;
	enum tunnel_status status;

	tunnel_note(tunnel, 0, io->client_can);
	tunnel_note(tunnel, 1, io->upstream_can);
	io->client_can = io->upstream_can = 0;
	status = tunnel_continue(
	    tunnel, &io->shared->tunnel, &io->session.sandbox->quota);
	session_io_count(io, tunnel->ends[0].moved, tunnel->ends[1].moved);
	switch (status) {
	case TUNNEL_WAIT:
		return;
	case TUNNEL_AGAIN:
		session_io_wait(io, 1);
		return;
	case TUNNEL_THROTTLED:
		session_io_throttle(io);
		return;
	case TUNNEL_DONE:
		session_step(&io->session, SESSION_EVENT_MOVED_ALL);
		return;
	case TUNNEL_BROKEN:
		session_step(&io->session, SESSION_EVENT_MOVE_BROKEN);
		return;
	}
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
		session_io_wait(io, 1);
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
		case SESSION_PARENT:
			more = session_io_read_parent(io);
			break;
		case SESSION_LINGER:
			more = session_io_drain(io);
			break;
		case SESSION_TUNNEL:
			session_io_unwait(io);
			session_io_move_tunnel(io);
			more = io->session.state == SESSION_LINGER;
			break;
		case SESSION_EXCHANGE:
			session_io_unwait(io);
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
		session_io_wait(io, 1);
}

/* --- actions --- */

static uint64_t
session_io_now(struct session *session)
{
	(void)session;
	return event_loop_now_ms();
}

static void
session_io_on_answer(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct session_io *io = context;
	struct session_work *work = io->session.work;

	io->query = NULL;
	work->fault = result;
	if (result != RESULT_OK) {
		session_io_drive(io, SESSION_EVENT_LOOKUP_FAILED);
		return;
	}
	memcpy(work->answers, answer->addresses,
	    answer->count * sizeof(answer->addresses[0]));
	work->answer_count = answer->count;
	session_io_drive(io, SESSION_EVENT_RESOLVED);
}

static void
session_io_resolve(struct session *session)
{
	struct session_io *io = session_io_of(session);

	if (dns_lookup(io->shared->dns, &session->work->name,
		session_io_on_answer, io, &io->query) != RESULT_OK)
		deadline_wheel_arm(session->wheel, &session->deadline, 1);
}

static void
session_io_on_dialed(enum result result, int fd, const struct ip_addr *address,
    int error, void *context)
{
	struct session_io *io = context;

	(void)error;
	io->dial = NULL;
	io->session.work->fault = result;
	if (result != RESULT_OK) {
		session_io_drive(io, SESSION_EVENT_DIAL_FAILED);
		return;
	}
	io->upstream_fd = fd;
	io->session.address = *address;
	session_io_drive(io, SESSION_EVENT_DIALED);
}

static void
session_io_dial_to(struct session_io *io, const struct ip_addr *addresses,
    size_t count, uint16_t port)
{
	const struct dial_options options = {
	    .timeout_ms = (unsigned)io->shared->limits.dial_ms,
	    .attempt_delay_ms = 0,
	    .congestion = io->shared->config->congestion[0] != '\0'
			      ? io->shared->config->congestion
			      : NULL};

	if (dial_start(io->shared->base, addresses, count, port, &options,
		session_io_on_dialed, io, &io->dial) != RESULT_OK)
		deadline_wheel_arm(io->session.wheel, &io->session.deadline, 1);
}

/* The corporate proxy's own name was looked up: the host's configuration
 * names it, so its address is not judged. */
static void
session_io_on_parent(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct session_io *io = context;

	io->query = NULL;
	io->session.work->fault = result;
	if (result != RESULT_OK)
		session_io_drive(io, SESSION_EVENT_DIAL_FAILED);
	else
		session_io_dial_to(io, answer->addresses, answer->count,
		    io->shared->config->upstream_port);
}

static void
session_io_dial(struct session *session)
{
	struct session_io *io = session_io_of(session);
	const struct proxy_config *config = io->shared->config;

	if (config->upstream_port == 0)
		session_io_dial_to(io, session->work->answers,
		    session->work->answer_count, session->port);
	else if (config->upstream_address.family != 0)
		session_io_dial_to(
		    io, &config->upstream_address, 1, config->upstream_port);
	else if (dns_lookup(io->shared->dns, &config->upstream_name,
		     session_io_on_parent, io, &io->query) != RESULT_OK)
		deadline_wheel_arm(session->wheel, &session->deadline, 1);
}

static void
session_io_cancel(struct session *session)
{
	struct session_io *io = session_io_of(session);

	if (io->query != NULL)
		dns_cancel(&io->query);
	if (io->dial != NULL)
		dial_cancel(&io->dial);
}

/* The oldest that was answered but keeps its hello back. */
static bool
session_io_make_room(struct session *session)
{
	struct session_queue *opening =
	    &session->sandbox->lists[SESSION_LIST_OPENING];
	struct session *other;
	unsigned looked = 0;

	TAILQ_FOREACH(other, opening, link)
	{
		if (other != session && other->state == SESSION_HELLO) {
			session_io_of(session)->shared->counters.evicted++;
			session_io_tell(other, SESSION_EVENT_EVICTED);
			return true;
		}
		if (++looked == 64)
			break;
	}
	return false;
}

static enum result
session_io_send(int fd, const void *bytes, size_t len)
{
	ssize_t count;

	do
		count = send(fd, bytes, len, MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	return count == (ssize_t)len ? RESULT_OK : RESULT_CLOSED;
}

static enum result
session_io_send_client(struct session *session, const void *bytes, size_t len)
{
	return session_io_send(session_io_of(session)->client_fd, bytes, len);
}

static enum result
session_io_send_upstream(struct session *session, const void *bytes, size_t len)
{
	struct session_io *io = session_io_of(session);

	session_io_watch(
	    io, &io->upstream_event, io->upstream_fd, session_io_on_upstream);
	return session_io_send(io->upstream_fd, bytes, len);
}

static void
session_io_decided(struct session_io *io)
{
	io->shared->on_decision(&io->session, io->shared->context);
	if (!event_initialized(&io->upstream_event))
		session_io_watch(io, &io->upstream_event, io->upstream_fd,
		    session_io_on_upstream);
}

static enum result
session_io_start_tunnel(struct session *session)
{
	struct session_io *io = session_io_of(session);
	struct session_work *work = session->work;

	tunnel_start(&io->tunnel, io->client_fd, io->upstream_fd);
	if (tunnel_preload(&io->tunnel, 0,
		buffer_bytes_borrow(&work->in) + session->in_used,
		work->in.len - session->in_used) != RESULT_OK ||
	    tunnel_preload(&io->tunnel, 1, buffer_bytes_borrow(&work->parent),
		work->parent.len) != RESULT_OK)
		return RESULT_NO_MEMORY;
	io->shared->counters.tunnels++;
	session_io_decided(io);
	return RESULT_OK;
}

static enum result
session_io_start_exchange(struct session *session)
{
	struct session_io *io = session_io_of(session);
	const struct buffer *in = &session->work->in;
	const char *bytes = (const char *)buffer_bytes_borrow(in);
	struct connect_request request;
	enum result result;

	if (connect_request_parse(bytes, in->len, &request) !=
	    CONNECT_REQUEST_OK)
		return RESULT_INTERNAL; /* it was parsed before */
	result = exchange_new(io->client_fd, io->upstream_fd, &request,
	    bytes + session->in_used, in->len - session->in_used,
	    &io->exchange);
	if (result != RESULT_OK)
		return result;
	exchange_note(io->exchange, 0, TUNNEL_CAN_READ | TUNNEL_CAN_WRITE);
	io->shared->counters.exchanges++;
	session_io_decided(io);
	return RESULT_OK;
}

static void
session_io_close_fd(struct event *event, int *fd, bool reset)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (*fd < 0)
		return;
	if (event_initialized(event))
		(void)event_del(event);
	memset(event, 0, sizeof(*event));
	if (reset)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	fd_close(fd);
}

/* Give back all that moving needed. */
static void
session_io_stop(struct session_io *io)
{
	session_io_unwait(io);
	tunnel_stop(&io->tunnel, &io->shared->tunnel);
	exchange_free(&io->exchange);
}

static void
session_io_linger(struct session *session)
{
	struct session_io *io = session_io_of(session);

	session_io_stop(io);
	session_io_close_fd(&io->upstream_event, &io->upstream_fd, false);
	(void)shutdown(io->client_fd, SHUT_WR); /* gone: its event tells */
	io->client_can |= TUNNEL_CAN_READ;
}

static void
session_io_release(struct session *session, bool reset)
{
	struct session_io *io = session_io_of(session);

	session_io_stop(io);
	session_io_close_fd(&io->client_event, &io->client_fd, reset);
	session_io_close_fd(&io->upstream_event, &io->upstream_fd, reset);
}

static void
session_io_report(struct session *session)
{
	struct session_io *io = session_io_of(session);

	session_report_write(session, event_loop_now_ms());
	if (session->code == DENY_NONE)
		return;
	io->shared->counters.refused++;
	io->shared->on_decision(session, io->shared->context);
}

static const struct session_actions session_io_actions = {
    .now_ms = session_io_now,
    .resolve = session_io_resolve,
    .dial = session_io_dial,
    .make_room = session_io_make_room,
    .cancel = session_io_cancel,
    .send_client = session_io_send_client,
    .send_upstream = session_io_send_upstream,
    .start_tunnel = session_io_start_tunnel,
    .start_exchange = session_io_start_exchange,
    .linger = session_io_linger,
    .release = session_io_release,
    .report = session_io_report,
};

/* --- life --- */

static struct session_work *
session_io_work_new(const struct domain *name)
{
	struct session_work *work = calloc(1, sizeof(*work));

	if (work == NULL)
		return NULL;
	buffer_init(&work->in, SESSION_IN_MAX + TUNNEL_SCRATCH);
	buffer_init(&work->parent, SESSION_IO_PARENT_MAX);
	if (name != NULL)
		work->name = *name;
	return work;
}

static struct session_io *
session_io_new(struct session_io_shared *shared,
    struct session_sandbox *sandbox, const struct domain *name, uint16_t port)
{
	struct session_io *io = calloc(1, sizeof(*io));
	struct session *session;

	if (io == NULL)
		return NULL;
	session = &io->session;
	session->work = session_io_work_new(name);
	if (name != NULL) {
		session->host = strdup(name->name);
		session->kind = SESSION_KIND_DIRECT;
		session->port = port;
	}
	if (session->work == NULL || (name != NULL && session->host == NULL)) {
		free(session->host);
		free(session->work);
		free(io);
		return NULL;
	}
	session->actions = &session_io_actions;
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
		session_io_watch(
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
		session_io_unwait(io);
		session_io_wake(io);
	}
}

static void
session_io_on_again(evutil_socket_t fd, short what, void *context)
{
	struct session_io_shared *shared = context;

	(void)fd;
	(void)what;
	session_io_resume(&shared->again);
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
	limits->parent = config->upstream_port != 0;
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
