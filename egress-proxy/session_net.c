/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What session.c has done for it, on real sockets: lookups, dials, short
 * writes, the start of a tunnel or exchange, the end of descriptors. Called
 * through the table at the end. Must never step a session itself before it
 * returns.
 */
#include "egress-proxy/session_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "egress-proxy/session_report.h"

struct session_io *
session_net_of(struct session *session)
{
	return (struct session_io *)(void *)session;
}

/* Take a session off the list of those that have more to do. */
void
session_net_unwait(struct session_io *io)
{
	if (io->waits == SESSION_NET_AGAIN)
		TAILQ_REMOVE(&io->shared->again, io, wait);
	else if (io->waits == SESSION_NET_THROTTLED)
		TAILQ_REMOVE(&io->shared->throttled, io, wait);
	io->waits = SESSION_NET_NOWHERE;
}

void
session_net_wait(struct session_io *io, enum session_net_waits list)
{
	static const struct timeval now = {0, 0};

	session_net_unwait(io);
	io->waits = (uint8_t)list;
	if (list == SESSION_NET_THROTTLED) {
		TAILQ_INSERT_TAIL(&io->shared->throttled, io, wait);
		return;
	}
	if (TAILQ_EMPTY(&io->shared->again))
		(void)event_add(io->shared->again_event, &now);
	TAILQ_INSERT_TAIL(&io->shared->again, io, wait);
}

void
session_net_watch(struct session_io *io, struct event *event, int fd,
    event_callback_fn callback)
{
	if (event_assign(event, io->shared->base, fd,
		EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, callback,
		io) != 0 ||
	    event_add(event, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "event_add_failed", strerror(errno));
}

bool
session_net_hears(const struct event *event)
{
	return (event_get_events(event) & EV_READ) != 0;
}

/* One call to the kernel: the loop's changes go in batches. */
void
session_net_hear(struct event *event, bool reads)
{
	short what = EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST;

	if (event_del(event) != 0 ||
	    event_assign(event, event_get_base(event), event_get_fd(event),
		(short)(reads ? what | EV_READ : what),
		event_get_callback(event),
		event_get_callback_arg(event)) != 0 ||
	    event_add(event, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "event_add_failed", strerror(errno));
}

static uint64_t
session_net_now(struct session *session)
{
	(void)session;
	return event_loop_now_ms();
}

static void
session_net_on_answer(
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

static enum result
session_net_resolve(struct session *session)
{
	struct session_io *io = session_net_of(session);

	return dns_lookup(io->shared->dns, &session->work->name,
	    session_net_on_answer, io, &io->query);
}

/* Watched at once: in this turn the dial's own event becomes ours by one
 * call. What it says before the tunnel starts is kept. */
static void
session_net_take_upstream(struct session_io *io, int fd)
{
	io->upstream_fd = fd;
	session_net_watch(io, &io->upstream_event, fd, session_io_on_upstream);
}

static void
session_net_on_dialed(enum result result, int fd, const struct ip_addr *address,
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
	session_net_take_upstream(io, fd);
	io->session.address = *address;
	session_io_drive(io, SESSION_EVENT_DIALED);
}

static struct dial_options
session_net_options(const struct session_io *io)
{
	const char *congestion = io->shared->config->congestion;

	return (struct dial_options){
	    .timeout_ms = (unsigned)io->shared->limits.dial_ms,
	    .attempt_delay_ms = 0,
	    .congestion = congestion[0] != '\0' ? congestion : NULL};
}

/* The corporate proxy leads to one of the judged addresses, or to none. */
static void
session_net_on_through(enum result result, int fd, const struct ip_addr *target,
    const struct buffer *rest, void *context)
{
	struct session_io *io = context;
	struct session *session = &io->session;

	io->parent = NULL;
	session->work->fault = result;
	if (result != RESULT_OK) {
		session_io_drive(io, SESSION_EVENT_DIAL_FAILED);
		return;
	}
	session_net_take_upstream(io, fd);
	session->address = *target;
	session_io_drive(
	    io, buffer_append(&session->work->parent, buffer_bytes_borrow(rest),
		    rest->len) == RESULT_OK
		    ? SESSION_EVENT_DIALED
		    : SESSION_EVENT_DIAL_FAILED);
}

/* Ask the corporate proxy for all that was judged. Its own addresses are
 * not judged: the host's configuration names it. */
static enum result
session_net_dial_through(
    struct session_io *io, const struct ip_addr *proxies, size_t count)
{
	const struct session *session = &io->session;
	const struct parent_dial_plan plan = {.proxies = proxies,
	    .proxy_count = count,
	    .proxy_port = io->shared->config->upstream.port,
	    .targets = session->work->answers,
	    .target_count = session->work->answer_count,
	    .target_port = session->port,
	    .options = session_net_options(io)};

	return parent_dial_start(
	    io->shared->base, &plan, session_net_on_through, io, &io->parent);
}

/* The corporate proxy's own name was looked up. */
static void
session_net_on_parent(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct session_io *io = context;

	io->query = NULL;
	if (result == RESULT_OK)
		result = session_net_dial_through(
		    io, answer->addresses, answer->count);
	io->session.work->fault = result;
	if (result != RESULT_OK)
		session_io_drive(io, SESSION_EVENT_DIAL_FAILED);
}

static enum result
session_net_dial(struct session *session)
{
	struct session_io *io = session_net_of(session);
	const struct proxy_config *config = io->shared->config;
	const struct dial_options options = session_net_options(io);

	if (config->upstream.port == 0)
		return dial_start(io->shared->base, session->work->answers,
		    session->work->answer_count, session->port, &options,
		    session_net_on_dialed, io, &io->dial);
	if (config->upstream.address.family != 0)
		return session_net_dial_through(
		    io, &config->upstream.address, 1);
	return dns_lookup(io->shared->dns, &config->upstream.name,
	    session_net_on_parent, io, &io->query);
}

static void
session_net_cancel(struct session *session)
{
	struct session_io *io = session_net_of(session);

	if (io->query != NULL)
		dns_cancel(&io->query);
	if (io->dial != NULL)
		dial_cancel(&io->dial);
	parent_dial_cancel(&io->parent);
}

/* The oldest that was answered but keeps its hello back. */
static bool
session_net_make_room(struct session *session)
{
	struct session_queue *opening =
	    &session->sandbox->lists[SESSION_LIST_OPENING];
	struct session *other;
	unsigned looked = 0;

	TAILQ_FOREACH(other, opening, link)
	{
		if (other != session && other->state == SESSION_HELLO) {
			session_net_of(session)->shared->counters.evicted++;
			session_io_tell(other, SESSION_EVENT_EVICTED);
			return true;
		}
		if (++looked == 64)
			break;
	}
	return false;
}

static enum result
session_net_send_client(
    struct session *session, const void *bytes, size_t len, bool last)
{
	const struct session_io *io = session_net_of(session);
	int flags = MSG_NOSIGNAL | (last ? MSG_MORE : 0);
	ssize_t count;

	if (io->tunnel.ends[1].held > 0)
		return RESULT_CLOSED; /* not into the middle of a record */
	do
		count = send(io->client_fd, bytes, len, flags);
	while (count < 0 && errno == EINTR);
	return count == (ssize_t)len ? RESULT_OK : RESULT_CLOSED;
}

static void
session_net_decided(struct session_io *io)
{
	io->shared->on_decision(&io->session, io->shared->context);
}

static enum result
session_net_start_tunnel(struct session *session)
{
	struct session_io *io = session_net_of(session);
	struct session_work *work = session->work;
	const uint8_t *bytes = buffer_bytes_borrow(&work->in);
	size_t count = work->in.len - session->in_used;
	enum result result;

	tunnel_start(&io->tunnel, io->client_fd, io->upstream_fd);
	if (session->raw)
		result = tunnel_preload(
		    &io->tunnel, 0, bytes + session->in_used, count);
	else
		result = tunnel_hello(&io->tunnel, bytes + session->in_used,
		    work->hello.at, count, 0);
	if (result != RESULT_OK ||
	    tunnel_preload(&io->tunnel, 1, buffer_bytes_borrow(&work->parent),
		work->parent.len) != RESULT_OK)
		return RESULT_NO_MEMORY;
	io->shared->counters.tunnels++;
	session_net_decided(io);
	return RESULT_OK;
}

/* What the client sends is heard of again, and may have come already. */
static enum result
session_net_take_back(struct session *session)
{
	struct session_io *io = session_net_of(session);
	const uint8_t *bytes;

	bytes = tunnel_behind_borrow(&io->tunnel, &session->work->paid);
	if (event_initialized(&io->client_event) &&
	    !session_net_hears(&io->client_event))
		session_net_hear(&io->client_event, true);
	io->client_can |= TUNNEL_CAN_READ;
	return buffer_append(&session->work->in, bytes, session->work->paid);
}

static enum result
session_net_resume_tunnel(struct session *session)
{
	struct session_work *work = session->work;

	return tunnel_hello(&session_net_of(session)->tunnel,
	    buffer_bytes_borrow(&work->in), work->hello.at, work->in.len,
	    work->paid);
}

static enum result
session_net_start_exchange(struct session *session)
{
	struct session_io *io = session_net_of(session);
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
	session_net_decided(io);
	return RESULT_OK;
}

static void
session_net_close_fd(struct event *event, int *fd, bool reset)
{
	if (*fd < 0)
		return;
	if (event_initialized(event))
		(void)event_del(event);
	memset(event, 0, sizeof(*event));
	if (reset)
		fd_reset(fd);
	else
		fd_close(fd);
}

/* Give back all that moving needed. */
static void
session_net_stop(struct session_io *io)
{
	session_net_unwait(io);
	tunnel_stop(&io->tunnel, &io->shared->tunnel);
	exchange_free(&io->exchange);
}

static void
session_net_linger(struct session *session)
{
	struct session_io *io = session_net_of(session);

	session_net_stop(io);
	session_net_close_fd(&io->upstream_event, &io->upstream_fd, false);
	(void)shutdown(io->client_fd, SHUT_WR); /* gone: its event tells */
	if (event_initialized(&io->client_event) &&
	    !session_net_hears(&io->client_event))
		session_net_hear(&io->client_event, true);
	/* One that moved took what was noted. */
	if (session->state == SESSION_EXCHANGE ||
	    session->state == SESSION_TUNNEL || session->state == SESSION_RETRY)
		io->client_can |= TUNNEL_CAN_READ;
}

static void
session_net_release(struct session *session, bool reset)
{
	struct session_io *io = session_net_of(session);

	session_net_stop(io);
	session_net_close_fd(&io->client_event, &io->client_fd, reset);
	session_net_close_fd(&io->upstream_event, &io->upstream_fd, reset);
}

static void
session_net_report(struct session *session)
{
	struct session_io *io = session_net_of(session);

	session_report_write(session, event_loop_now_ms());
	if (session->code == DENY_NONE)
		return;
	io->shared->counters.refused++;
	io->shared->on_decision(session, io->shared->context);
}

const struct session_actions session_net_actions = {
    .now_ms = session_net_now,
    .resolve = session_net_resolve,
    .dial = session_net_dial,
    .make_room = session_net_make_room,
    .cancel = session_net_cancel,
    .send_client = session_net_send_client,
    .start_tunnel = session_net_start_tunnel,
    .take_back = session_net_take_back,
    .resume_tunnel = session_net_resume_tunnel,
    .start_exchange = session_net_start_exchange,
    .linger = session_net_linger,
    .release = session_net_release,
    .report = session_net_report,
};
