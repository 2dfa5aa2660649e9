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
#include "llm-broker/key/key_lane_up.h"
#include "llm-broker/key/upstream_pool.h"

#define KEY_LANE_IO_SCRATCH (sizeof(struct lane_frame) + LANE_DATA_MAX)
#define KEY_LANE_IO_CROWD 32U /* changes that are worth a trim */
#define KEY_LANE_IO_TRIM_MS 1000U
/* One DATA frame, and the end behind it. */
#define KEY_LANE_IO_OUT_MAX \
	(KEY_LANE_IO_SCRATCH + 2 * sizeof(struct lane_frame))

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
	size_t max =
	    key_lane_net_is_first(io) ? LANE_TRUNK_DATA_MAX : LANE_DATA_MAX;

	do {
		result = upstream_read(io->upstream,
		    scratch + sizeof(frame) + len, max - len, &got);
		len += got;
	} while (len < max && result == RESULT_OK &&
		 upstream_has_more(io->upstream));
	if (len == 0)
		return result;
	frame.value = (uint32_t)len;
	memcpy(scratch, &frame, sizeof(frame));
	key_lane_received(&io->lane, len);
	key_lane_net_put(io, scratch, sizeof(frame) + len);
	explicit_bzero(scratch, sizeof(frame) + len); /* it may hold a key */
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
	lane_trunk_unseat(&io->seat);
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

static bool
key_lane_io_is_crowd(const struct key_lane_world *world)
{
	return world->is_crowd ||
	       key_lane_io_changes(world) >= KEY_LANE_IO_CROWD;
}

/* A handshake needs tens of kilobytes for a moment, a connection some for as
 * long as it lives; what a crowd of them left free inside the heap goes back
 * while it comes, and once more when it is over. */
static void
key_lane_io_trim(struct key_lane_world *world, uint64_t now_ms)
{
	uint64_t changes = key_lane_io_changes(world);

	if (!key_lane_io_is_crowd(world) || now_ms < world->trim_ms)
		return;
	(void)malloc_trim(0); /* 0: nothing to give */
	world->is_crowd = changes >= KEY_LANE_IO_CROWD;
	world->trimmed += changes;
	world->trim_ms = now_ms + KEY_LANE_IO_TRIM_MS;
}

/* The wheels turn while something is armed. */
static void
key_lane_io_keep_time(struct key_lane_world *world)
{
	const struct timeval tick = event_loop_timeval(DEADLINE_WHEEL_TICK_MS);
	bool armed = world->lane_wheel.armed > 0 ||
		     world->upstream_wheel.armed > 0 ||
		     key_lane_io_is_crowd(world);

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

	key_lane_up_feed(io);
	key_lane_io_pump(io);
	key_lane_up_feed(io); /* an end may have let it go on */
	if (io->lane.state == KEY_LANE_CLOSED) {
		if (io->lane.is_broken)
			world->on_broken(world->context);
		key_lane_io_free(io);
	}
	if (world->line.is_due) /* behind what others wait for */
		event_active(world->tell_event, EV_TIMEOUT, 0);
	key_lane_io_keep_time(world);
}

static void
key_lane_io_on_tell(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	key_lane_net_tell(context);
}

void
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
	struct key_lane_io *io = context;

	if (io->world->quick.since_ns != 0)
		quick_wait_came(&io->world->quick, quick_wait_now_ns());
	key_lane_io_run(io);
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

/* Bytes of this lane that came by the trunk. */
static void
key_lane_io_on_bytes(struct lane_seat *seat, const char *bytes, size_t len)
{
	struct key_lane_io *io =
	    (struct key_lane_io *)(void *)((char *)seat -
					   offsetof(struct key_lane_io, seat));

	key_lane_up_take(io, bytes, len);
	key_lane_io_run(io);
}

static void
key_lane_io_on_trunk_end(const char *what, void *context)
{
	struct key_lane_world *world = context;

	if (what != NULL)
		world->on_broken(world->context);
	/* The broker is gone, which each lane sees by itself. */
}

static const struct lane_trunk_handlers key_lane_io_trunk_handlers = {
    .on_bytes = key_lane_io_on_bytes, .on_end = key_lane_io_on_trunk_end};

/* The lane is closed at the other end: what was said of it before that
 * stands in the trunk. */
static void
key_lane_io_cut(struct key_lane_world *world, uint32_t number)
{
	struct lane_seat *seat;
	struct key_lane_io *io;

	lane_trunk_drain(&world->trunk);
	seat = lane_trunk_find(&world->trunk, number);
	if (seat == NULL)
		return;
	io = (struct key_lane_io *)(void *)((char *)seat -
					    offsetof(struct key_lane_io, seat));
	if (!key_lane_up_reads(io))
		key_lane_gone(&io->lane, "the broker closed it");
	key_lane_io_run(io);
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
	if (!key_lane_up_reads(io) && key_lane_io_is_cut(io, what))
		key_lane_io_cut(io->world, io->seat.number);
	else
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

static void
key_lane_io_watch(struct key_lane_io *io)
{
	struct event_base *base = io->world->base;

	if (event_assign(&io->on_read, base, io->fd,
		EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, key_lane_io_on_read,
		io) != 0 ||
	    event_assign(&io->on_write, base, io->fd,
		EV_WRITE | EV_ET | EV_PERSIST, key_lane_io_on_write, io) != 0 ||
	    event_add(&io->on_read, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "event_add_failed", strerror(errno));
}

static enum result
key_lane_io_add_lane(struct key_lane_world *world, int fd)
{
	struct key_lane_io *io = calloc(1, sizeof(*io));

	if (io == NULL)
		return RESULT_NO_MEMORY;
	key_lane_init(&io->lane, &key_lane_net_actions);
	io->world = world;
	io->fd = fd;
	buffer_init(&io->in, KEY_LANE_UP_IN_MAX);
	buffer_init(&io->out, KEY_LANE_IO_OUT_MAX);
	TAILQ_INSERT_TAIL(&world->lanes, io, link);
	world->lane_count++;
	lane_trunk_seat(&world->trunk, &io->seat);
	key_lane_io_watch(io);
	return RESULT_OK;
}

/* The other end counts it all the same. */
static void
key_lane_io_skip(struct key_lane_world *world)
{
	struct lane_seat seat;

	lane_trunk_seat(&world->trunk, &seat);
	lane_trunk_unseat(&seat);
}

enum result
key_lane_io_add(struct key_lane_world *world, int fd)
{
	enum result result = RESULT_BAD;

	if (world->trunk.fd < 0 && world->trunk.seated == 0) {
		if (key_lane_io_is_stream(fd))
			return lane_trunk_open(&world->trunk, fd, 0);
		fd_close(&fd);
		return result;
	}
	if (world->lane_count >= LANE_COUNT_MAX)
		result = RESULT_TOO_LONG;
	else if (key_lane_io_is_stream(fd))
		result = key_lane_io_add_lane(world, fd);
	if (result == RESULT_OK)
		return result;
	key_lane_io_skip(world);
	fd_close(&fd);
	return result;
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
	lane_trunk_close(&world->trunk);
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
	quick_wait_init(&world->quick);
	TAILQ_INIT(&world->lanes);
	TAILQ_INIT(&world->again);
	lane_trunk_init(
	    &world->trunk, world->base, &key_lane_io_trunk_handlers, world);
	deadline_wheel_init(&world->lane_wheel, event_loop_now_ms());
	deadline_wheel_init(&world->upstream_wheel, event_loop_now_ms());
	world->upstreams.wheel = &world->upstream_wheel;
	world->tick =
	    event_new(world->base, -1, EV_PERSIST, key_lane_io_on_tick, world);
	world->again_event =
	    event_new(world->base, -1, 0, key_lane_io_on_again, world);
	world->tell_event =
	    event_new(world->base, -1, 0, key_lane_io_on_tell, world);
	world->scratch = malloc(KEY_LANE_IO_SCRATCH);
	if (world->tick == NULL || world->again_event == NULL ||
	    world->tell_event == NULL || world->scratch == NULL)
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
	if (world->tell_event != NULL)
		event_free(world->tell_event);
	free(world->scratch);
}
