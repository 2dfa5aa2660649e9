/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts agents' connections. Called by broker.c and the event loop. Must
 * never spin when descriptors run out, nor let connections that ask nothing
 * keep the place of those that do.
 */
#include "llm-broker/broker_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "llm-broker/broker.h"

#define BROKER_LISTEN_BATCH 32U     /* connections per turn */
#define BROKER_LISTEN_PAUSE_MS 200U /* rest without descriptors */
#define BROKER_LISTEN_KEPT 64U      /* descriptors kept for lanes */
#define BROKER_LISTEN_WAITING 1024U /* agents that may owe us a request */

/* The oldest of a list gives up its place. */
static bool
broker_listen_evict(struct broker *broker, enum call_list list)
{
	struct call *oldest = TAILQ_FIRST(&broker->run.lists[list]);

	if (oldest == NULL)
		return false;
	call_io_tell(oldest, CALL_EVENT_EVICTED);
	return true;
}

/* Waiting and leaving ones are bounded; good agents are neither for long. */
static void
broker_listen_bound(struct broker *broker)
{
	const size_t *counts = broker->run.counts;

	if (counts[CALL_LIST_WAITING] >= BROKER_LISTEN_WAITING)
		(void)broker_listen_evict(broker, CALL_LIST_WAITING);
	if (counts[CALL_LIST_LEAVING] >= BROKER_LISTEN_WAITING)
		(void)broker_listen_evict(broker, CALL_LIST_LEAVING);
}

static void
broker_listen_pause(struct broker *broker)
{
	struct timeval rest = event_loop_timeval(BROKER_LISTEN_PAUSE_MS);

	for (size_t i = 0; i < broker->listen.count; i++)
		(void)event_del(broker->listen.ports[i].event);
	(void)event_add(broker->listen.resume, &rest);
}

static void
broker_listen_on_resume(evutil_socket_t fd, short what, void *context)
{
	struct broker *broker = context;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < broker->listen.count; i++)
		(void)event_add(broker->listen.ports[i].event, NULL);
}

/* Of the control socket, which lives as long as we do. */
static void
broker_listen_reserve(struct broker_listen *listen)
{
	listen->reserve_fd = fcntl(IPC_CONTROL_FD, F_DUPFD_CLOEXEC, 0);
}

/* No descriptor is left: use the kept one to turn the agent away, make the
 * oldest idle one leave, and rest. */
static void
broker_listen_shortage(struct broker_listen_port *port)
{
	struct broker *broker = port->broker;
	struct broker_listen *listen = &broker->listen;
	int fd;

	listen->shortages++;
	log_event(LOG_WARN_LEVEL, "descriptors_exhausted",
	    LOG_TEXT("remedy", "raise the limit of open files"));
	fd_close(&listen->reserve_fd);
	fd = fd_accept(port->fd, NULL);
	fd_close(&fd);
	if (!broker_listen_evict(broker, CALL_LIST_LEAVING))
		(void)broker_listen_evict(broker, CALL_LIST_WAITING);
	broker_listen_reserve(listen);
	broker_listen_pause(broker);
}

/* One connection. False: no more now. */
static bool
broker_listen_accept(struct broker_listen_port *port)
{
	struct broker *broker = port->broker;
	int fd = fd_accept(port->fd, NULL);
	bool short_of = fd >= 0 ? (size_t)fd >= broker->listen.files_max
				: errno == EMFILE || errno == ENFILE ||
				      errno == ENOBUFS || errno == ENOMEM;

	if (short_of) {
		fd_close(&fd);
		broker_listen_shortage(port);
		return false;
	}
	if (fd < 0 && errno == ESHUTDOWN)
		(void)event_del(port->event);
	if (fd < 0) /* others concern that one connection (accept(2)) */
		return errno != EAGAIN && errno != ESHUTDOWN;
	broker_keep_ticking(broker);
	broker_listen_bound(broker);
	call_io_accept(&broker->shared, &broker->run, fd);
	return true;
}

static void
broker_listen_on_event(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	for (unsigned i = 0; i < BROKER_LISTEN_BATCH; i++)
		if (!broker_listen_accept(context))
			return;
}

enum result
broker_listen_add(struct broker *broker, int fd)
{
	struct broker_listen *listen = &broker->listen;
	struct broker_listen_port *port = &listen->ports[listen->count];
	enum result result = RESULT_BAD;
	int on = 1;

	if (listen->count == BROKER_LISTEN_MAX) {
		fd_close(&fd);
		return RESULT_TOO_LONG;
	}
	port->broker = broker;
	port->event = NULL;
	if (fd_is_listener(fd) && fd_set_nonblocking(fd, true) == RESULT_OK) {
		result = RESULT_NO_MEMORY;
		port->event = event_new(broker->base, fd, EV_READ | EV_PERSIST,
		    broker_listen_on_event, port);
	}
	if (port->event == NULL || event_add(port->event, NULL) != 0) {
		if (port->event != NULL)
			event_free(port->event);
		fd_close(&fd);
		return result;
	}
	/* Accepted sockets inherit it. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	port->fd = fd;
	listen->count++;
	return RESULT_OK;
}

void
broker_listen_clear(struct broker *broker)
{
	struct broker_listen *listen = &broker->listen;

	(void)event_del(listen->resume);
	while (listen->count > 0) {
		struct broker_listen_port *port =
		    &listen->ports[--listen->count];

		event_free(port->event);
		fd_close(&port->fd);
	}
}

/* Descriptors that agents may use: an agent without a lane is of no use. */
static size_t
broker_listen_files_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return limit.rlim_cur > 4 * BROKER_LISTEN_KEPT
		   ? (size_t)limit.rlim_cur - BROKER_LISTEN_KEPT
		   : (size_t)limit.rlim_cur / 2;
}

enum result
broker_listen_init(struct broker *broker)
{
	struct broker_listen *listen = &broker->listen;

	broker_listen_reserve(listen);
	listen->files_max = broker_listen_files_max();
	listen->resume =
	    event_new(broker->base, -1, 0, broker_listen_on_resume, broker);
	return listen->resume != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

void
broker_listen_close(struct broker *broker)
{
	struct broker_listen *listen = &broker->listen;

	if (listen->resume != NULL) {
		broker_listen_clear(broker);
		event_free(listen->resume);
	}
	fd_close(&listen->reserve_fd);
}
