/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads, writes and accepts of the tools port. Called by the loop and by
 * tools_link; it must never block, and never leave a client waiting that a
 * descriptor is missing for: then it rests and tries again.
 */
#include "supervisor/gate/tools_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"

#define TOOLS_IO_READS 4U    /* of one connection per turn of the loop */
#define TOOLS_IO_ACCEPTS 16U /* per turn */
#define TOOLS_IO_REST_MS 1000U
#define TOOLS_IO_LOOK_MS 250U /* is there room again? */

struct tools_io_end {
	struct tools_io *io;
	size_t connection;
	int fd;
	struct event *readable, *writable;
	bool reading, writing; /* armed */
};

struct tools_io {
	struct event_base *base;
	struct tools_port *port;
	struct tools_io_end ends[TOOLS_PORT_CONNS];
	int listener;
	struct event *acceptable, *timer;
	bool accepting, is_full;
	bool ended;             /* who passed connections is gone */
	uint64_t rest_until_ms; /* no descriptors: 0 when there are */
	char chunk[TOOLS_CONN_CHUNK];
};

static void
tools_io_close(struct tools_io_end *end)
{
	if (end->readable != NULL)
		event_free(end->readable);
	if (end->writable != NULL)
		event_free(end->writable);
	end->readable = end->writable = NULL;
	end->reading = end->writing = false;
	fd_close(&end->fd);
}

/* --- one connection ----------------------------------------------------- */

static void
tools_io_read(struct tools_io_end *end)
{
	struct tools_io *io = end->io;
	uint64_t now = event_loop_now_ms();
	ssize_t got;

	for (unsigned i = 0;
	     i < TOOLS_IO_READS && tools_port_wants(io->port, end->connection);
	     i++) {
		got = read(end->fd, io->chunk, sizeof(io->chunk));
		if (got > 0) {
			tools_port_bytes(io->port, end->connection, io->chunk,
			    (size_t)got, now);
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		tools_port_gone(io->port, end->connection, now);
		return;
	}
}

static void
tools_io_write(struct tools_io_end *end)
{
	struct tools_io *io = end->io;
	struct buffer *out = tools_port_output(io->port, end->connection);
	ssize_t put;

	while (out->len > 0) {
		put = write(end->fd, buffer_bytes_borrow(out), out->len);
		if (put > 0) {
			buffer_consume(out, (size_t)put);
			continue;
		}
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		tools_port_gone(io->port, end->connection, event_loop_now_ms());
		return;
	}
	tools_port_wrote(io->port, end->connection, event_loop_now_ms());
}

static void
tools_io_on_readable(evutil_socket_t fd, short what, void *context)
{
	struct tools_io_end *end = context;

	(void)fd;
	(void)what;
	end->reading = false;
	tools_io_read(end);
	tools_io_update(end->io);
}

static void
tools_io_on_writable(evutil_socket_t fd, short what, void *context)
{
	struct tools_io_end *end = context;

	(void)fd;
	(void)what;
	end->writing = false;
	tools_io_write(end);
	tools_io_update(end->io);
}

/* --- clients ------------------------------------------------------------ */

static void
tools_io_attach(struct tools_io *io, int fd)
{
	size_t evicted, connection;
	struct tools_io_end *end;

	connection = tools_port_accept(io->port, &evicted, event_loop_now_ms());
	if (evicted < TOOLS_PORT_CONNS)
		tools_io_close(&io->ends[evicted]);
	if (connection == TOOLS_PORT_CONNS) {
		fd_close(&fd);
		return;
	}
	end = &io->ends[connection];
	tools_io_close(end); /* it is free for the port: so is its end */
	end->fd = fd;
	end->readable =
	    event_new(io->base, fd, EV_READ, tools_io_on_readable, end);
	end->writable =
	    event_new(io->base, fd, EV_WRITE, tools_io_on_writable, end);
	if (end->readable == NULL || end->writable == NULL)
		tools_port_gone(io->port, connection, event_loop_now_ms());
}

static void
tools_io_on_client(evutil_socket_t listener, short what, void *context)
{
	struct tools_io *io = context;
	int fd;

	(void)what;
	io->accepting = false;
	for (unsigned i = 0; i < TOOLS_IO_ACCEPTS &&
			     tools_port_has_room(io->port, event_loop_now_ms());
	     i++) {
		fd = fd_accept(listener, NULL);
		if (fd >= 0) {
			tools_io_attach(io, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			log_event(LOG_WARN_LEVEL, "descriptors_exhausted");
			io->rest_until_ms =
			    event_loop_now_ms() + TOOLS_IO_REST_MS;
		}
		io->ended = io->ended || errno == ESHUTDOWN;
		/* Others concern that one client (accept(2)). */
		if (errno == EAGAIN || io->ended || io->rest_until_ms != 0)
			break;
	}
	tools_io_update(io);
}

/* --- what is waited for ------------------------------------------------- */

static void
tools_io_arm(struct event *event, bool *armed, bool want)
{
	if (want == *armed)
		return;
	if (!want)
		(void)event_del(event);
	else if (event_add(event, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "tools_event_add", strerror(errno));
	*armed = want;
}

static void
tools_io_update_end(struct tools_io_end *end)
{
	struct tools_port *port = end->io->port;

	if (end->fd < 0)
		return;
	if (!tools_port_is_open(port, end->connection)) {
		tools_io_close(end);
		return;
	}
	tools_io_arm(end->readable, &end->reading,
	    tools_port_wants(port, end->connection));
	tools_io_arm(end->writable, &end->writing,
	    tools_port_output(port, end->connection)->len > 0);
}

static void
tools_io_update_timer(struct tools_io *io)
{
	uint64_t now = event_loop_now_ms(), next = tools_port_next_ms(io->port);
	struct timeval wait;

	if (io->rest_until_ms != 0 && (next == 0 || io->rest_until_ms < next))
		next = io->rest_until_ms;
	if (io->is_full && (next == 0 || now + TOOLS_IO_LOOK_MS < next))
		next = now + TOOLS_IO_LOOK_MS;
	(void)event_del(io->timer);
	if (next == 0)
		return;
	wait = event_loop_timeval(next > now ? next - now : 0);
	if (event_add(io->timer, &wait) != 0)
		log_fatal(IPC_EXIT_CRASH, "tools_timer_add", strerror(errno));
}

void
tools_io_update(struct tools_io *io)
{
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		tools_io_update_end(&io->ends[i]);
	if (io->acceptable != NULL) {
		io->is_full =
		    !tools_port_has_room(io->port, event_loop_now_ms());
		tools_io_arm(io->acceptable, &io->accepting,
		    io->rest_until_ms == 0 && !io->is_full && !io->ended);
	}
	tools_io_update_timer(io);
}

static void
tools_io_on_time(evutil_socket_t fd, short what, void *context)
{
	struct tools_io *io = context;
	uint64_t now = event_loop_now_ms();

	(void)fd;
	(void)what;
	if (io->rest_until_ms != 0 && now >= io->rest_until_ms)
		io->rest_until_ms = 0;
	tools_port_time(io->port, now);
	tools_io_update(io);
}

/* --- making and giving -------------------------------------------------- */

enum result
tools_io_new(
    struct event_base *base, struct tools_port *port, struct tools_io **io_r)
{
	struct tools_io *io = calloc(1, sizeof(*io));

	*io_r = io;
	if (io == NULL)
		return RESULT_NO_MEMORY;
	io->base = base;
	io->port = port;
	io->listener = -1;
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		io->ends[i].io = io;
		io->ends[i].connection = i;
		io->ends[i].fd = -1;
	}
	io->timer = evtimer_new(base, tools_io_on_time, io);
	if (io->timer != NULL)
		return RESULT_OK;
	tools_io_free(io_r);
	return RESULT_NO_MEMORY;
}

void
tools_io_free(struct tools_io **io)
{
	if (*io == NULL)
		return;
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		tools_io_close(&(*io)->ends[i]);
	if ((*io)->acceptable != NULL)
		event_free((*io)->acceptable);
	if ((*io)->timer != NULL)
		event_free((*io)->timer);
	fd_close(&(*io)->listener);
	free(*io);
	*io = NULL;
}

enum result
tools_io_listen(struct tools_io *io, int fd)
{
	enum result result = RESULT_OK;

	if (io->listener >= 0)
		result = RESULT_EXISTS;
	else if (!fd_is_listener(fd) ||
		 fd_set_nonblocking(fd, true) != RESULT_OK)
		result = RESULT_BAD;
	if (result != RESULT_OK) {
		fd_close(&fd);
		return result;
	}
	io->acceptable =
	    event_new(io->base, fd, EV_READ, tools_io_on_client, io);
	if (io->acceptable == NULL) {
		fd_close(&fd);
		return RESULT_NO_MEMORY;
	}
	io->listener = fd;
	tools_io_update(io);
	return RESULT_OK;
}
