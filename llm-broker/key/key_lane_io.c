/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of lanes. Called by the loop and key_holder.c. Must never hold
 * more of a stream than one read, look at a byte of it, or touch a lane
 * after it was settled.
 */
#include "llm-broker/key/key_lane_io.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "llm-broker/key/key_lane_net.h"
#include "llm-broker/key/upstream_pool.h"

#define KEY_LANE_IO_READ LANE_DATA_MAX /* bytes of one read of either side */
#define KEY_LANE_IO_SCRATCH (sizeof(struct lane_frame) + LANE_DATA_MAX)
#define KEY_LANE_IO_CROWD 32U /* changes that are worth a trim */
#define KEY_LANE_IO_TRIM_MS 1000U
/* A head that waits for its connection, and one read behind it. */
#define KEY_LANE_IO_IN_MAX \
	(sizeof(struct lane_open) + LANE_HEAD_MAX + KEY_LANE_IO_READ)
/* One DATA frame, and the end behind it. */
#define KEY_LANE_IO_OUT_MAX \
	(KEY_LANE_IO_SCRATCH + 2 * sizeof(struct lane_frame))
#define KEY_LANE_IO_TURNS 4U /* reads of one side before others have theirs */

/* --- from the broker, up --- */

/* More of the lane may be taken: the upstream took what it was given. */
static bool
key_lane_io_may_feed(const struct key_lane_io *io)
{
	return key_lane_wants(&io->lane) &&
	       (io->upstream == NULL || io->lane.state != KEY_LANE_BODY ||
		   upstream_unsent(io->upstream) == 0);
}

/* One read; false: nothing is there. */
static bool
key_lane_io_read(struct key_lane_io *io)
{
	char *scratch = io->world->scratch;
	size_t room = io->in.max - io->in.len, taken = 0;
	ssize_t got;

	if (room > KEY_LANE_IO_READ)
		room = KEY_LANE_IO_READ;
	if (io->is_drained || room == 0)
		return false;
	do
		got = recv(io->fd, scratch, room, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		io->is_drained = true;
		io->is_short = false;
		if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			key_lane_gone(&io->lane, "the broker closed it");
		return false;
	}
	if ((size_t)got < room && !io->is_hung_up)
		io->is_drained = io->is_short = true;
	if (io->in.len == 0)
		taken = key_lane_take(&io->lane, scratch, (size_t)got);
	if (taken < (size_t)got && buffer_append(&io->in, scratch + taken,
				       (size_t)got - taken) != RESULT_OK)
		key_lane_gone(&io->lane, "out of memory");
	return true;
}

/* Offer what waits; its memory goes when nothing does. */
static void
key_lane_io_offer(struct key_lane_io *io)
{
	size_t taken;

	do {
		taken = key_lane_take(&io->lane,
		    (const char *)buffer_bytes_borrow(&io->in), io->in.len);
		buffer_consume(&io->in, taken);
	} while (taken > 0 && io->in.len > 0 && key_lane_io_may_feed(io));
	if (io->in.len == 0)
		buffer_free(&io->in);
}

static void key_lane_io_again(struct key_lane_io *io);

static void
key_lane_io_feed(struct key_lane_io *io)
{
	unsigned turns = 0;

	while (key_lane_io_may_feed(io)) {
		if (io->in.len > 0)
			key_lane_io_offer(io);
		if (!key_lane_io_may_feed(io) || !key_lane_io_read(io))
			return;
		if (++turns == KEY_LANE_IO_TURNS) {
			key_lane_io_again(io);
			return;
		}
	}
}

/* --- from the upstream, down --- */

static bool
key_lane_io_may_pump(const struct key_lane_io *io)
{
	return io->upstream != NULL && io->out.len == 0 &&
	       (io->lane.state == KEY_LANE_BODY ||
		   io->lane.state == KEY_LANE_ANSWER);
}

/* One frame's worth, or what came so far: it goes down before the kernel is
 * asked for more. The result is that of the last read. */
static enum result
key_lane_io_pump_one(struct key_lane_io *io)
{
	char *scratch = io->world->scratch;
	struct lane_frame frame = {
	    LANE_MAGIC, LANE_DATA, 0, io->lane.open.frame.call};
	enum result result;
	size_t len = 0, got;

	do {
		result = upstream_read(io->upstream,
		    scratch + sizeof(frame) + len, LANE_DATA_MAX - len, &got);
		len += got;
	} while (len < LANE_DATA_MAX && result == RESULT_OK &&
		 upstream_has_more(io->upstream));
	if (len == 0)
		return result;
	frame.value = (uint32_t)len;
	memcpy(scratch, &frame, sizeof(frame));
	key_lane_received(&io->lane, len);
	key_lane_net_put(io, scratch, sizeof(frame) + len);
	return result;
}

static void
key_lane_io_pump(struct key_lane_io *io)
{
	enum result result = RESULT_OK;
	unsigned turns = 0;

	while (result == RESULT_OK && key_lane_io_may_pump(io)) {
		if (turns++ == KEY_LANE_IO_TURNS) {
			key_lane_io_again(io);
			return;
		}
		result = key_lane_io_pump_one(io);
		if (result == RESULT_EOF || result == RESULT_CLOSED)
			key_lane_upstream_ended(
			    &io->lane, result == RESULT_EOF);
	}
	if (io->out.len > 0)
		key_lane_stalled(&io->lane, true);
}

/* --- events --- */

static void
key_lane_io_free(struct key_lane_io *io)
{
	struct key_lane_world *world = io->world;

	if (io->is_waiting)
		TAILQ_REMOVE(&world->again, io, wait);
	TAILQ_REMOVE(&world->lanes, io, link);
	world->lane_count--;
	deadline_wheel_clear(&world->lane_wheel, &io->deadline);
	upstream_pool_give(&io->upstream, false);
	(void)event_del(&io->on_read);
	(void)event_del(&io->on_write);
	buffer_free(&io->in);
	buffer_free(&io->out);
	fd_close(&io->fd);
	free(io);
}

/* Connections that came and went since memory was given back. */
static uint64_t
key_lane_io_changes(const struct key_lane_world *world)
{
	return world->upstreams.counters.handshakes +
	       world->upstreams.counters.closed - world->trimmed;
}

/* A handshake needs tens of kilobytes for a moment, a connection some for as
 * long as it lives; what a crowd of them left free inside the heap goes back
 * once it is over. */
static void
key_lane_io_trim(struct key_lane_world *world, uint64_t now_ms)
{
	if (key_lane_io_changes(world) < KEY_LANE_IO_CROWD ||
	    now_ms < world->trim_ms)
		return;
	(void)malloc_trim(0); /* 0: nothing to give */
	world->trimmed += key_lane_io_changes(world);
	world->trim_ms = now_ms + KEY_LANE_IO_TRIM_MS;
}

/* The wheels turn while something is armed. */
static void
key_lane_io_keep_time(struct key_lane_world *world)
{
	const struct timeval tick = event_loop_timeval(DEADLINE_WHEEL_TICK_MS);
	bool armed = world->lane_wheel.armed > 0 ||
		     world->upstream_wheel.armed > 0 ||
		     key_lane_io_changes(world) >= KEY_LANE_IO_CROWD;

	if (armed && !event_pending(world->tick, EV_TIMEOUT, NULL))
		(void)event_add(world->tick, &tick);
	else if (!armed)
		(void)event_del(world->tick);
}

/* Everything that can move moves; the lane may be gone afterwards. */
static void
key_lane_io_run(struct key_lane_io *io)
{
	struct key_lane_world *world = io->world;

	key_lane_io_feed(io);
	key_lane_io_pump(io);
	key_lane_io_feed(io); /* an end may have let it go on */
	if (io->lane.state == KEY_LANE_CLOSED) {
		if (io->lane.is_broken)
			world->on_broken(world->context);
		key_lane_io_free(io);
	}
	key_lane_net_tell(world);
	key_lane_io_keep_time(world);
}

static void
key_lane_io_again(struct key_lane_io *io)
{
	static const struct timeval now = {0, 0};
	struct key_lane_world *world = io->world;

	if (io->is_waiting)
		return;
	if (TAILQ_EMPTY(&world->again))
		(void)event_add(world->again_event, &now);
	TAILQ_INSERT_TAIL(&world->again, io, wait);
	io->is_waiting = true;
}

static void
key_lane_io_on_again(evutil_socket_t fd, short what, void *context)
{
	struct key_lane_world *world = context;
	struct key_lane_io_list now = TAILQ_HEAD_INITIALIZER(now);
	struct key_lane_io *io;

	(void)fd;
	(void)what;
	/* Those that come back wait for the next turn of the loop. A lane
	 * frees itself only from its own run. */
	TAILQ_CONCAT(&now, &world->again, wait);
	while ((io = TAILQ_FIRST(&now)) != NULL) {
		TAILQ_REMOVE(&now, io, wait);
		io->is_waiting = false;
		key_lane_io_run(io);
	}
}

void
key_lane_io_on_ready(void *context)
{
	struct key_lane_io *io = context;

	key_lane_ready(&io->lane);
	key_lane_io_run(io);
}

void
key_lane_io_on_failed(
    enum lane_failure failure, const char *detail, void *context)
{
	struct key_lane_io *io = context;

	io->upstream = NULL;
	key_lane_failed(&io->lane, failure, detail);
	key_lane_io_run(io);
}

void
key_lane_io_on_upstream(void *context)
{
	key_lane_io_run(context);
}

/* The other end closed, also with bytes of ours unread (that is an error of
 * the socket, not an end). */
static bool
key_lane_io_is_cut(const struct key_lane_io *io, short what)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return (what & EV_CLOSED) != 0 ||
	       getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 ||
	       error != 0;
}

static void
key_lane_io_on_read(evutil_socket_t fd, short what, void *context)
{
	struct key_lane_io *io = context;

	(void)fd;
	io->is_drained = io->is_short = false;
	if (what & EV_CLOSED)
		io->is_hung_up = true;
	/* A lane that reads sees the end by itself, behind what was said. */
	if (!key_lane_io_may_feed(io) && key_lane_io_is_cut(io, what))
		key_lane_gone(&io->lane, "the broker closed it");
	key_lane_io_run(io);
}

static void
key_lane_io_on_write(evutil_socket_t fd, short what, void *context)
{
	struct key_lane_io *io = context;
	ssize_t sent = 1;

	(void)what;
	while (io->out.len > 0 && sent > 0) {
		sent = send((int)fd, buffer_bytes_borrow(&io->out), io->out.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0)
			buffer_consume(&io->out, (size_t)sent);
		else if (sent < 0 && errno == EINTR)
			sent = 1;
	}
	if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		key_lane_gone(&io->lane, "the broker closed it");
	if (io->out.len == 0) {
		(void)event_del(&io->on_write);
		buffer_free(&io->out);
		key_lane_stalled(&io->lane, false);
	}
	key_lane_io_run(io);
}

static void
key_lane_io_on_lane_deadline(struct deadline *deadline, void *context)
{
	struct key_lane_io *io =
	    (struct key_lane_io *)(void *)((char *)deadline -
					   offsetof(
					       struct key_lane_io, deadline));

	(void)context;
	key_lane_deadline(&io->lane);
	key_lane_io_run(io);
}

static void
key_lane_io_on_upstream_deadline(struct deadline *deadline, void *context)
{
	(void)context;
	upstream_on_deadline(
	    (struct upstream *)(void *)((char *)deadline -
					offsetof(struct upstream, deadline)));
}

/* What may stand behind a short read. */
static void
key_lane_io_doubt(struct key_lane_world *world)
{
	struct key_lane_io *io, *next;
	bool again;

	for (io = TAILQ_FIRST(&world->lanes); io != NULL; io = next) {
		next = TAILQ_NEXT(io, link);
		again = io->is_short ||
			(io->upstream != NULL &&
			    upstream_wire_doubt(&io->upstream->wire));
		if (io->is_short)
			io->is_drained = io->is_short = false;
		if (again)
			key_lane_io_run(io);
	}
}

static void
key_lane_io_on_tick(evutil_socket_t fd, short what, void *context)
{
	struct key_lane_world *world = context;
	uint64_t now = event_loop_now_ms();

	(void)fd;
	(void)what;
	deadline_wheel_tick(
	    &world->lane_wheel, now, key_lane_io_on_lane_deadline, world);
	deadline_wheel_tick(&world->upstream_wheel, now,
	    key_lane_io_on_upstream_deadline, world);
	key_lane_io_doubt(world);
	key_lane_io_trim(world, now);
	key_lane_io_keep_time(world);
}

/* --- lanes --- */

static bool
key_lane_io_is_stream(int fd)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       domain == AF_UNIX;
}

enum result
key_lane_io_add(struct key_lane_world *world, int fd)
{
	struct key_lane_io *io;

	if (world->lane_count >= LANE_COUNT_MAX || !key_lane_io_is_stream(fd)) {
		fd_close(&fd);
		return world->lane_count >= LANE_COUNT_MAX ? RESULT_TOO_LONG
							   : RESULT_BAD;
	}
	io = calloc(1, sizeof(*io));
	if (io == NULL) {
		fd_close(&fd);
		return RESULT_NO_MEMORY;
	}
	key_lane_init(&io->lane, &key_lane_net_actions);
	io->world = world;
	io->fd = fd;
	buffer_init(&io->in, KEY_LANE_IO_IN_MAX);
	buffer_init(&io->out, KEY_LANE_IO_OUT_MAX);
	TAILQ_INSERT_TAIL(&world->lanes, io, link);
	world->lane_count++;
	if (event_assign(&io->on_read, world->base, fd,
		EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, key_lane_io_on_read,
		io) != 0 ||
	    event_assign(&io->on_write, world->base, fd,
		EV_WRITE | EV_ET | EV_PERSIST, key_lane_io_on_write, io) != 0 ||
	    event_add(&io->on_read, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "event_add_failed", strerror(errno));
	return RESULT_OK;
}

void
key_lane_io_drop_all(struct key_lane_world *world)
{
	struct key_lane_io *io, *next;

	for (io = TAILQ_FIRST(&world->lanes); io != NULL; io = next) {
		next = TAILQ_NEXT(io, link);
		key_lane_gone(&io->lane, "the broker is gone");
		key_lane_io_free(io);
	}
	key_lane_net_tell(world);
}

void
key_lane_io_key_changed(struct key_lane_world *world, size_t provider)
{
	struct key_site *site = &world->sites[provider];
	struct key_lane_io *io, *next;

	key_breaker_reset(&site->breaker);
	upstream_pool_renew(&site->upstream);
	for (io = TAILQ_FIRST(&world->lanes); io != NULL; io = next) {
		next = TAILQ_NEXT(io, link);
		if (io->lane.state != KEY_LANE_KEY || io->site != site)
			continue;
		key_lane_key_changed(&io->lane);
		key_lane_io_run(io);
	}
}

enum result
key_lane_io_init(struct key_lane_world *world)
{
	TAILQ_INIT(&world->lanes);
	TAILQ_INIT(&world->again);
	deadline_wheel_init(&world->lane_wheel, event_loop_now_ms());
	deadline_wheel_init(&world->upstream_wheel, event_loop_now_ms());
	world->upstreams.wheel = &world->upstream_wheel;
	world->tick =
	    event_new(world->base, -1, EV_PERSIST, key_lane_io_on_tick, world);
	world->again_event =
	    event_new(world->base, -1, 0, key_lane_io_on_again, world);
	world->scratch = malloc(KEY_LANE_IO_SCRATCH);
	if (world->tick == NULL || world->again_event == NULL ||
	    world->scratch == NULL)
		return RESULT_NO_MEMORY;
	return key_inject_new(&world->inject);
}

void
key_lane_io_close(struct key_lane_world *world)
{
	key_lane_io_drop_all(world);
	for (size_t i = 0; i < world->site_count; i++)
		upstream_pool_free(&world->sites[i].upstream);
	key_inject_free(&world->inject);
	if (world->tick != NULL)
		event_free(world->tick);
	if (world->again_event != NULL)
		event_free(world->again_event);
	free(world->scratch);
}
