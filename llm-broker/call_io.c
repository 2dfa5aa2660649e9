/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of calls. Called by broker.c (accept, tick) and by the event
 * loop. What a descriptor said is kept in flags, and call_io_pump does what
 * the state wants with them. Must never read the lane while bytes wait for
 * the agent, nor free a call while a step of it is running.
 */
#include "llm-broker/call_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "llm-broker/call_net.h"

#define CALL_IO_TURNS 32U /* reads before others have theirs */

static void call_io_pump(struct call_io *io);

static void
call_io_free(struct call_io *io)
{
	io->shared->counters.ended++;
	call_free_parts(&io->call);
	free(io);
}

/* Whatever can be done now; afterwards io may be gone. */
static void
call_io_wake(struct call_io *io)
{
	if (io->busy)
		return;
	io->busy = 1;
	call_io_pump(io);
	io->busy = 0;
	if (io->call.state == CALL_STATE_CLOSED)
		call_io_free(io);
}

void
call_io_tell(struct call *call, enum call_event event)
{
	call_step(call, event);
	call_io_wake(call_net_of(call));
}

/* A reset comes as something to read, as a next request does, and stands
 * behind bytes that came before it, where a read does not see it. No other
 * edge follows: the socket has to be asked. */
static bool
call_io_is_reset(const struct call_io *io)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 ||
	       error != 0;
}

static void
call_io_on_agent(evutil_socket_t fd, short what, void *context)
{
	struct call_io *io = context;

	(void)fd;
	if (io->shared->quick.since_ns != 0)
		quick_wait_came(&io->shared->quick, quick_wait_now_ns());
	if (what & EV_READ)
		io->agent_can |= CALL_NET_CAN_READ;
	if ((what & EV_READ) && call_io_is_reset(io))
		io->agent_can |= CALL_NET_HUNG_UP;
	if (what & EV_WRITE)
		io->agent_can |= CALL_NET_CAN_WRITE;
	if (what & EV_CLOSED)
		io->agent_can |= CALL_NET_HUNG_UP | CALL_NET_CAN_READ;
	call_io_wake(io);
}

/* --- the agent's socket --- */

/* One read of a request. False: nothing more to do now. */
static bool
call_io_read(struct call_io *io)
{
	char *scratch = io->shared->scratch;
	ssize_t count;

	if (!(io->agent_can & CALL_NET_CAN_READ))
		return false;
	count = recv(io->fd, scratch, CALL_IO_READ, 0);
	if (count > 0) {
		if ((size_t)count < CALL_IO_READ &&
		    !(io->agent_can & CALL_NET_HUNG_UP))
			io->agent_can &= (uint8_t)~CALL_NET_CAN_READ;
		io->call.given.bytes = scratch;
		io->call.given.len = (size_t)count;
		call_step(&io->call, CALL_EVENT_AGENT_BYTES);
		return true;
	}
	if (count < 0 && errno == EINTR)
		return true;
	io->agent_can &= (uint8_t)~CALL_NET_CAN_READ;
	if (count < 0 && errno == EAGAIN)
		return false;
	call_step(&io->call, CALL_EVENT_AGENT_GONE);
	return false;
}

/* What waits for the agent. False: it does not take all of it now. */
static bool
call_io_flush(struct call_io *io)
{
	struct buffer *out = &io->call.out;

	while (out->len > 0) {
		ssize_t count = send(
		    io->fd, buffer_bytes_borrow(out), out->len, MSG_NOSIGNAL);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN) {
			io->agent_can &= (uint8_t)~CALL_NET_CAN_WRITE;
			return false;
		}
		if (count < 0) {
			call_step(&io->call, CALL_EVENT_AGENT_GONE);
			return false;
		}
		buffer_consume(out, (size_t)count);
		if (io->call.relay != NULL) /* not of a 100 before it */
			io->call.down_bytes += (uint64_t)count;
		io->call.active_ms = event_loop_now_ms();
	}
	buffer_free(out);
	return true;
}

/* LINGER: what the agent still sends is dropped. */
static bool
call_io_drop(struct call_io *io)
{
	ssize_t count;

	if (!(io->agent_can & CALL_NET_CAN_READ))
		return false;
	count = recv(io->fd, io->shared->scratch, CALL_IO_READ, 0);
	if (count > 0 || (count < 0 && errno == EINTR))
		return true;
	io->agent_can &= (uint8_t)~CALL_NET_CAN_READ;
	if (count == 0 || errno != EAGAIN)
		call_step(&io->call, CALL_EVENT_AGENT_GONE);
	return false;
}

/* --- the lane --- */

static void
call_io_write_lane(struct call_io *io)
{
	enum result result;

	if (io->call.sent || !(io->lane_can & CALL_NET_CAN_WRITE))
		return;
	result = lane_client_write(io->lane);
	if (result == RESULT_OK && call_net_is_alone(io->shared))
		lane_client_hurry(io->lane);
	if (result == RESULT_OK)
		call_step(&io->call, CALL_EVENT_SENT);
	else if (result == RESULT_NEED_MORE)
		io->lane_can &= (uint8_t)~CALL_NET_CAN_WRITE;
	else
		call_step(&io->call, CALL_EVENT_LANE_LOST);
}

static bool
call_io_read_lane(struct call_io *io)
{
	enum result result;

	if (io->lane == NULL || !(io->lane_can & CALL_NET_CAN_READ))
		return false;
	result = lane_client_read(io->lane);
	if (result == RESULT_NEED_MORE)
		io->lane_can &= (uint8_t)~CALL_NET_CAN_READ;
	if (result == RESULT_CLOSED && io->lane != NULL)
		call_step(&io->call, CALL_EVENT_LANE_LOST);
	return result == RESULT_OK;
}

/* ASK and RELAY: up what is still to be sent, down what came. */
static bool
call_io_move(struct call_io *io)
{
	bool more;

	if (io->agent_can & CALL_NET_HUNG_UP) {
		call_step(&io->call, CALL_EVENT_AGENT_GONE);
		return true;
	}
	call_io_write_lane(io);
	if (io->lane == NULL)
		return true; /* it ended: another state */
	if (!call_io_flush(io))
		return false;
	more = call_io_read_lane(io);
	if (io->lane == NULL)
		return true;
	if (io->call.out.len > 0)
		return call_io_flush(io) && more;
	return more;
}

static void
call_io_on_ready(void *owner, bool readable, bool writable)
{
	struct call_io *io = owner;

	if (readable)
		io->lane_can |= CALL_NET_CAN_READ;
	if (writable)
		io->lane_can |= CALL_NET_CAN_WRITE;
	call_io_wake(io);
}

/* From inside a turn of this call, or before one: it must not end here. */
static void
call_io_step(struct call_io *io, enum call_event event)
{
	unsigned busy = io->busy;

	io->busy = 1;
	call_step(&io->call, event);
	io->busy = busy & 1U;
}

static void
call_io_on_data(void *owner, const char *bytes, size_t len)
{
	struct call_io *io = owner;

	io->call.given.bytes = bytes;
	io->call.given.len = len;
	call_io_step(io, CALL_EVENT_LANE_BYTES);
}

static void
call_io_on_end(void *owner)
{
	call_io_step(owner, CALL_EVENT_LANE_END);
}

static void
call_io_on_failed(void *owner, enum lane_failure failure)
{
	struct call_io *io = owner;

	io->call.failure = failure;
	call_io_step(io, CALL_EVENT_LANE_FAILED);
}

const struct lane_client_handlers call_io_lane_handlers = {
    .on_ready = call_io_on_ready,
    .on_data = call_io_on_data,
    .on_end = call_io_on_end,
    .on_failed = call_io_on_failed,
};

/* --- turns --- */

/* One thing that the state wants. False: it has to wait. */
static bool
call_io_turn(struct call_io *io)
{
	enum call_state state = io->call.state;

	switch (state) {
	case CALL_STATE_IDLE:
	case CALL_STATE_REQUEST:
		if (io->call.out.len > 0)
			(void)call_io_flush(io);
		return call_io_read(io) || io->call.state != state;
	case CALL_STATE_RESERVE:
		if (io->agent_can & CALL_NET_HUNG_UP)
			call_step(&io->call, CALL_EVENT_AGENT_GONE);
		return io->call.state != state;
	case CALL_STATE_ASK:
	case CALL_STATE_RELAY:
		return call_io_move(io);
	case CALL_STATE_DRAIN:
		if (!call_io_flush(io))
			return io->call.state != state;
		call_step(&io->call, CALL_EVENT_DRAINED);
		return true;
	case CALL_STATE_LINGER:
		return call_io_drop(io);
	case CALL_STATE_NEW:
	case CALL_STATE_CLOSED:
	case CALL_STATE_COUNT:
		break;
	}
	return false;
}

static void
call_io_pump(struct call_io *io)
{
	bool more = true;

	call_net_unwait(io);
	for (unsigned turn = 0; more && turn < CALL_IO_TURNS; turn++)
		more = call_io_turn(io);
	if (more && io->call.state != CALL_STATE_CLOSED)
		call_net_wait(io);
}

/* --- life --- */

static void
call_io_watch(struct call_io *io)
{
	if (event_assign(&io->event, io->shared->base, io->fd,
		EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
		call_io_on_agent, io) != 0 ||
	    event_priority_set(&io->event, LANE_CLIENT_PRIORITY) != 0 ||
	    event_add(&io->event, NULL) != 0)
		log_fatal(IPC_EXIT_CRASH, "event_add_failed", strerror(errno));
}

void
call_io_accept(struct call_io_shared *shared, struct call_run *run, int fd)
{
	struct call_io *io = calloc(1, sizeof(*io));

	if (io == NULL) {
		fd_close(&fd);
		return;
	}
	shared->counters.accepted++;
	io->shared = shared;
	io->fd = fd;
	io->agent_can = CALL_NET_CAN_READ | CALL_NET_CAN_WRITE;
	io->call.actions = &call_net_actions;
	io->call.limits = &shared->limits;
	io->call.wheel = &shared->wheel;
	io->call.run = run;
	io->call.space = &shared->space;
	call_begin(&io->call);
	call_io_watch(io);
	if (call_io_is_reset(io))
		io->agent_can |= CALL_NET_HUNG_UP;
	call_io_tell(&io->call, CALL_EVENT_ACCEPTED);
}

/* Everyone who waits now gets one more turn; who waits again is behind. */
static void
call_io_on_again(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval now = {0, 0};
	struct call_io_shared *shared = context;
	struct call_io *io;
	size_t count = 0;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(io, &shared->again, wait)
	count++;
	while (count-- > 0 && (io = TAILQ_FIRST(&shared->again)) != NULL) {
		/* What ended has left the queue (call_net_close_agent).
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		call_net_unwait(io);
		call_io_wake(io);
	}
	if (!TAILQ_EMPTY(&shared->again))
		(void)event_add(shared->again_event, &now);
}

static void
call_io_on_deadline(struct deadline *deadline, void *context)
{
	struct call *call =
	    (struct call *)(void *)((char *)deadline -
				    offsetof(struct call, deadline));

	(void)context;
	call_io_tell(call, CALL_EVENT_DEADLINE);
}

void
call_io_tick(struct call_io_shared *shared)
{
	deadline_wheel_tick(
	    &shared->wheel, event_loop_now_ms(), call_io_on_deadline, NULL);
}

enum result
call_io_shared_init(struct call_io_shared *shared, struct event_base *base)
{
	shared->base = base;
	quick_wait_init(&shared->quick);
	TAILQ_INIT(&shared->again);
	deadline_wheel_init(&shared->wheel, event_loop_now_ms());
	call_relay_space_init(&shared->space);
	shared->again_event = event_new(base, -1, 0, call_io_on_again, shared);
	return shared->again_event != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

void
call_io_shared_close(struct call_io_shared *shared)
{
	if (shared->again_event != NULL)
		event_free(shared->again_event);
	shared->again_event = NULL;
	call_relay_space_free(&shared->space);
}
