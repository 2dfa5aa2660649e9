/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's reads and writes. Called by main.c and the loop; it must never
 * block, and never read what the gate cannot take.
 */
#include "supervisor/gate/gate_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "supervisor/gate/gate_view.h"

#define GATE_IO_READS 4U       /* reads of one stream per turn of the loop */
#define GATE_IO_FLUSH_MS 1000U /* after something happened */

struct gate_io_end {
	struct gate_io *io;
	enum gate_stream stream;
	int fd;
	struct event *event;
	bool always_ready; /* epoll cannot wait for it */
	bool armed;
};

struct gate_io {
	struct event_base *base;
	struct gate *gate;
	void (*done)(void *context);
	void (*turn)(void *context); /* or NULL */
	void *context;
	struct gate_io_end ends[GATE_STREAM_COUNT];
	struct event *timer;
	struct event *flush; /* writes the log's pending summaries */
	int probe_fd;        /* an epoll of its own: can this be waited for? */
	bool is_done;
	char chunk[MCP_LINE_CHUNK];
};

static const char *const gate_io_names[GATE_STREAM_COUNT] = {
    [GATE_CLIENT_IN] = "client_in",
    [GATE_CLIENT_OUT] = "client_out",
    [GATE_CLIENT_ERR] = "client_err",
    [GATE_WORK_IN] = "work_in",
    [GATE_WORK_OUT] = "work_out",
    [GATE_WORK_ERR] = "work_err",
};

static bool
gate_io_is_input(enum gate_stream stream)
{
	return stream == GATE_CLIENT_IN || stream == GATE_WORK_OUT ||
	       stream == GATE_WORK_ERR;
}

static void gate_io_update(struct gate_io *io);

static void
gate_io_step(struct gate_io *io, enum gate_event_kind kind,
    enum gate_stream stream, const char *bytes, size_t len)
{
	struct gate_event event = {.kind = kind,
	    .stream = stream,
	    .bytes = bytes,
	    .len = len,
	    .text = bytes,
	    .now_ms = event_loop_now_ms()};

	gate_step(io->gate, &event);
}

static void
gate_io_broken(struct gate_io *io, enum gate_stream stream, int error)
{
	struct gate_event event = {.kind = GATE_EVENT_BROKEN,
	    .stream = stream,
	    .error = error,
	    .now_ms = event_loop_now_ms()};

	gate_step(io->gate, &event);
}

static void
gate_io_close(struct gate_io_end *end)
{
	if (end->event != NULL) {
		event_free(end->event);
		end->event = NULL;
	}
	end->armed = false;
	fd_close(&end->fd);
}

/* --- one end ------------------------------------------------------------ */

static void
gate_io_read(struct gate_io_end *end)
{
	struct gate_io *io = end->io;
	unsigned i;
	ssize_t got;

	for (i = 0; i < GATE_IO_READS && gate_view_wants(io->gate, end->stream);
	     i++) {
		got = read(end->fd, io->chunk, sizeof(io->chunk));
		if (got > 0) {
			gate_io_step(io, GATE_EVENT_BYTES, end->stream,
			    io->chunk, (size_t)got);
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		gate_io_close(end);
		gate_io_step(io, GATE_EVENT_EOF, end->stream, NULL, 0);
		return;
	}
}

static void
gate_io_write(struct gate_io_end *end)
{
	struct gate_io *io = end->io;
	struct buffer *out = gate_view_output(io->gate, end->stream);
	ssize_t put;
	int error;

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
		error = put < 0 ? errno : EIO;
		gate_io_close(end);
		gate_io_broken(io, end->stream, error);
		return;
	}
	gate_io_step(io, GATE_EVENT_ROOM, end->stream, NULL, 0);
}

static void
gate_io_ready(evutil_socket_t fd, short what, void *context)
{
	struct gate_io_end *end = context;
	struct gate_io *io = end->io;

	(void)fd;
	(void)what;
	end->armed = false;
	if (gate_io_is_input(end->stream))
		gate_io_read(end);
	else
		gate_io_write(end);
	gate_io_update(io);
}

/* --- all ends ----------------------------------------------------------- */

static void
gate_io_arm(struct gate_io_end *end, bool want)
{
	/* Of what is always ready: by a timer, so that everything else of the
	 * loop has its turn; what is active is run again at once. */
	const struct timeval now = {0, 0};

	if (want == end->armed)
		return;
	if (!want) {
		(void)event_del(end->event);
	} else if (event_add(end->event, end->always_ready ? &now : NULL) !=
		   0) {
		log_fatal(IPC_EXIT_CRASH, "gate_event_add", strerror(errno));
	}
	end->armed = want;
}

/* Outputs that have nothing more to come, and an output whose reader can
 * no longer be there, are closed; the rest waits for what it needs. */
static void
gate_io_update_end(struct gate_io_end *end)
{
	struct gate *gate = end->io->gate;
	struct buffer *out;

	if (end->fd < 0)
		return;
	if (gate_io_is_input(end->stream)) {
		gate_io_arm(end, gate_view_wants(gate, end->stream));
		return;
	}
	out = gate_view_output(gate, end->stream);
	if (out->len == 0 && gate_view_is_finished(gate, end->stream))
		gate_io_close(end);
	else
		gate_io_arm(end, out->len > 0);
}

static void
gate_io_time(evutil_socket_t fd, short what, void *context)
{
	struct gate_io *io = context;

	(void)fd;
	(void)what;
	gate_io_step(io, GATE_EVENT_TIME, GATE_STREAM_COUNT, NULL, 0);
	gate_io_update(io);
}

static void
gate_io_flush(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	(void)context;
	log_flush();
}

static void
gate_io_update_timer(struct gate_io *io)
{
	uint64_t now = event_loop_now_ms(),
		 next = gate_view_next_ms(io->gate, now);
	struct timeval wait;

	if (event_pending(io->flush, EV_TIMEOUT, NULL) == 0) {
		wait = event_loop_timeval(GATE_IO_FLUSH_MS);
		(void)event_add(io->flush, &wait);
	}
	(void)event_del(io->timer);
	if (next == 0)
		return;
	wait = event_loop_timeval(next > now ? next - now : 0);
	if (event_add(io->timer, &wait) != 0)
		log_fatal(IPC_EXIT_CRASH, "gate_timer_add", strerror(errno));
}

static void
gate_io_update(struct gate_io *io)
{
	size_t i;

	for (i = 0; i < GATE_STREAM_COUNT; i++)
		gate_io_update_end(&io->ends[i]);
	gate_io_update_timer(io);
	if (io->turn != NULL)
		io->turn(io->context);
	if (io->gate->state != GATE_DONE || io->is_done)
		return;
	io->is_done = true;
	for (i = 0; i < GATE_STREAM_COUNT; i++)
		gate_io_close(&io->ends[i]);
	io->done(io->context);
}

/* --- making and giving -------------------------------------------------- */

enum result
gate_io_new(struct event_base *base, struct gate *gate,
    void (*done)(void *context), void *context, struct gate_io **io_r)
{
	struct gate_io *io = calloc(1, sizeof(*io));
	size_t i;

	*io_r = NULL;
	if (io == NULL)
		return RESULT_NO_MEMORY;
	io->base = base;
	io->gate = gate;
	io->done = done;
	io->context = context;
	for (i = 0; i < GATE_STREAM_COUNT; i++) {
		io->ends[i].io = io;
		io->ends[i].stream = (enum gate_stream)i;
		io->ends[i].fd = -1;
	}
	io->probe_fd = epoll_create1(EPOLL_CLOEXEC);
	io->timer = evtimer_new(base, gate_io_time, io);
	io->flush = evtimer_new(base, gate_io_flush, io);
	if (io->probe_fd < 0 || io->timer == NULL || io->flush == NULL) {
		gate_io_free(&io);
		return RESULT_SYSTEM;
	}
	*io_r = io;
	return RESULT_OK;
}

void
gate_io_free(struct gate_io **io)
{
	size_t i;

	if (*io == NULL)
		return;
	for (i = 0; i < GATE_STREAM_COUNT; i++)
		gate_io_close(&(*io)->ends[i]);
	if ((*io)->timer != NULL)
		event_free((*io)->timer);
	if ((*io)->flush != NULL)
		event_free((*io)->flush);
	fd_close(&(*io)->probe_fd);
	free(*io);
	*io = NULL;
}

/* Files and /dev/null cannot be waited for: epoll says EPERM. */
static bool
gate_io_can_wait(const struct gate_io *io, int fd)
{
	struct epoll_event none;

	memset(&none, 0, sizeof(none));
	if (epoll_ctl(io->probe_fd, EPOLL_CTL_ADD, fd, &none) != 0)
		return errno != EPERM;
	(void)epoll_ctl(io->probe_fd, EPOLL_CTL_DEL, fd, &none);
	return true;
}

static enum result
gate_io_attach(struct gate_io *io, struct gate_io_end *end, int fd)
{
	bool can_wait = gate_io_can_wait(io, fd);
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (can_wait && (flags & O_NONBLOCK) == 0))
		return RESULT_BAD;
	end->always_ready = !can_wait;
	end->event = event_new(io->base, can_wait ? fd : -1,
	    gate_io_is_input(end->stream) ? EV_READ : EV_WRITE, gate_io_ready,
	    end);
	if (end->event == NULL)
		return RESULT_NO_MEMORY;
	end->fd = fd;
	io->gate->present[end->stream] = true;
	return RESULT_OK;
}

enum result
gate_io_add(struct gate_io *io, const char *name, int fd)
{
	enum result result = RESULT_NOT_FOUND;
	size_t i;

	for (i = 0; i < GATE_STREAM_COUNT; i++) {
		if (strcmp(gate_io_names[i], name) == 0)
			break;
	}
	if (i < GATE_STREAM_COUNT)
		result = io->gate->present[i]
			     ? RESULT_EXISTS
			     : gate_io_attach(io, &io->ends[i], fd);
	if (result != RESULT_OK)
		fd_close(&fd);
	return result;
}

bool
gate_io_is_complete(const struct gate_io *io)
{
	const bool *present = io->gate->present;
	bool work = present[GATE_WORK_OUT] && present[GATE_WORK_ERR] &&
		    present[GATE_WORK_IN] && present[GATE_CLIENT_OUT];

	if (io->gate->options.mode == GATE_BUILD)
		return present[GATE_WORK_OUT];
	if (io->gate->options.mode == GATE_AGENT)
		return present[GATE_WORK_OUT] && present[GATE_WORK_ERR] &&
		       present[GATE_CLIENT_OUT];
	if (io->gate->options.mode == GATE_CALLER)
		return present[GATE_WORK_IN] && present[GATE_WORK_OUT] &&
		       present[GATE_WORK_ERR];
	return work &&
	       (io->gate->options.mode != GATE_MCP || present[GATE_CLIENT_IN]);
}

void
gate_io_start(struct gate_io *io)
{
	gate_io_step(io, GATE_EVENT_START, GATE_STREAM_COUNT, NULL, 0);
	gate_io_update(io);
}

void
gate_io_set_turn(struct gate_io *io, void (*turn)(void *context))
{
	io->turn = turn;
}

void
gate_io_job(struct gate_io *io, uint64_t id, bool list, const char *tool,
    const char *bytes, size_t len)
{
	struct gate_event event = {.kind = GATE_EVENT_JOB,
	    .stream = GATE_STREAM_COUNT,
	    .bytes = bytes,
	    .len = len,
	    .text = tool,
	    .id = id,
	    .list = list,
	    .now_ms = event_loop_now_ms()};

	gate_step(io->gate, &event);
	gate_io_update(io);
}

void
gate_io_cancel(struct gate_io *io, uint64_t id)
{
	struct gate_event event = {.kind = GATE_EVENT_CANCEL,
	    .stream = GATE_STREAM_COUNT,
	    .id = id,
	    .now_ms = event_loop_now_ms()};

	gate_step(io->gate, &event);
	gate_io_update(io);
}

void
gate_io_guarded(
    struct gate_io *io, uint64_t id, const char *code, const char *detail)
{
	struct gate_event event = {.kind = GATE_EVENT_GUARDED,
	    .stream = GATE_STREAM_COUNT,
	    .bytes = detail,
	    .text = code,
	    .id = id,
	    .now_ms = event_loop_now_ms()};

	gate_step(io->gate, &event);
	gate_io_update(io);
}

void
gate_io_result(struct gate_io *io, const char *bytes, size_t len)
{
	gate_io_step(io, GATE_EVENT_RESULT, GATE_STREAM_COUNT, bytes, len);
	gate_io_update(io);
}

void
gate_io_ended(struct gate_io *io, const char *how, bool failed,
    const struct gate_pack_facts *facts)
{
	struct gate_event event = {.kind = GATE_EVENT_ENDED,
	    .stream = GATE_STREAM_COUNT,
	    .text = how,
	    .failed = failed,
	    .facts = facts,
	    .now_ms = event_loop_now_ms()};

	gate_step(io->gate, &event);
	gate_io_update(io);
}
