/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The poll loop's side of a bridge: what is waited for, frames in, frames
 * out. Called by init_mux.c and mux_host.c; must never wait, and nothing of
 * the link may do more than end the link.
 */
#include "supervisor/mux/mux_bridge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_end.h"
#include "supervisor/mux/mux_in.h"
#include "supervisor/mux/mux_open.h"
#include "supervisor/mux/mux_record.h"
#include "supervisor/mux/mux_splice.h"

#define MUX_BRIDGE_ROUNDS 16U    /* of one direction in a turn */
#define MUX_BRIDGE_COPIED 16384U /* at most, of what could be spliced */
#define MUX_BRIDGE_SAID 2048U    /* at most, before a spliced frame */

bool
mux_bridge_init(struct mux_bridge *bridge, enum mux_link_side side, int link_in,
    int link_out, int control, const int streams[3], uint64_t now_ms)
{
	memset(bridge, 0, sizeof(*bridge));
	mux_link_init(&bridge->link, side, now_ms);
	bridge->tick_ms = now_ms;
	bridge->link_in = mux_end_prepare(link_in);
	bridge->link_out = mux_end_prepare(link_out);
	bridge->control = mux_end_prepare(control);
	for (unsigned i = 0; i < INIT_LISTENERS_MAX; i++)
		bridge->listeners[i] = -1;
	for (unsigned i = 0; i < 3; i++)
		bridge->streams[i] = streams[i];
	for (unsigned i = 0; i < MUX_LINK_STREAMS; i++)
		mux_end_reset(&bridge->ends[i]);
	mux_record_init(bridge);
	mux_splice_init(bridge);
	return bridge->link_in >= 0 && bridge->link_out >= 0 &&
	       bridge->control >= 0;
}

void
mux_bridge_by_docker(struct mux_bridge *bridge)
{
	bridge->chunked = true;
}

static void
mux_bridge_enter(struct mux_bridge *bridge, enum mux_bridge_state state)
{
	bridge->state = state;
}

void
mux_bridge_is_passed(struct mux_bridge *bridge)
{
	bridge->to_pipe = false;
}

void
mux_bridge_close(
    struct mux_bridge *bridge, enum mux_bridge_state state, const char *detail)
{
	if (bridge->state != MUX_BRIDGE_RUNNING)
		return;
	mux_bridge_enter(bridge, state);
	(void)snprintf(bridge->detail, sizeof(bridge->detail), "%s", detail);
	for (unsigned i = 0; i < MUX_LINK_STREAMS; i++) {
		struct mux_stream *stream = &bridge->link.streams[i];

		if (stream->id == 0)
			continue;
		stream->over = true;
		mux_end_gone(bridge, stream);
	}
	for (unsigned i = 0; i < INIT_LISTENERS_MAX; i++)
		fd_close(&bridge->listeners[i]);
	for (unsigned i = 0; i < 3; i++)
		fd_close(&bridge->streams[i]);
	mux_record_clear(bridge);
	mux_splice_close(bridge);
	fd_close(&bridge->link_in);
	fd_close(&bridge->link_out);
	fd_close(&bridge->control);
}

/* Is nothing on its way to the link? */
static bool
mux_bridge_wrote(const struct mux_bridge *bridge)
{
	return bridge->out_len == 0 && mux_splice_waits(bridge) == 0;
}

bool
mux_bridge_idle(const struct mux_bridge *bridge)
{
	return bridge->state != MUX_BRIDGE_RUNNING ||
	       (mux_bridge_wrote(bridge) && !bridge->leaving.busy);
}

/* ---- frames out ---- */

static void
mux_bridge_put_data(
    struct mux_bridge *bridge, struct mux_stream *stream, uint32_t most)
{
	struct mux_frame frame = {.type = MUX_FRAME_DATA, .stream = stream->id};
	struct mux_end *end = mux_end_of(bridge, stream);
	uint8_t *out = bridge->out + bridge->out_len;
	bool may_splice = mux_splice_may_take(bridge, end);

	if (may_splice && end->bulk && most >= MUX_SPLICE_LEAST &&
	    bridge->out_len <= MUX_BRIDGE_SAID) {
		mux_splice_take(bridge, stream, most);
		return;
	}
	if (may_splice && most > MUX_BRIDGE_COPIED)
		most = MUX_BRIDGE_COPIED;
	frame.length =
	    mux_end_read(bridge, stream, out + MUX_FRAME_HEADER, most);
	if (frame.length == 0)
		return;
	end->bulk = frame.length == MUX_BRIDGE_COPIED;
	mux_frame_header(&frame, out);
	bridge->out_len += MUX_FRAME_HEADER + frame.length;
}

static void
mux_bridge_say(struct mux_bridge *bridge)
{
	size_t len;

	while (MUX_BRIDGE_OUT - bridge->out_len > MUX_FRAME_CONTROL_MAX &&
	       (len = mux_link_say(
		    &bridge->link, bridge->out + bridge->out_len)) > 0)
		bridge->out_len += len;
}

/* What is to be said first, then data in turn, as long as there is room;
 * then the ends that were found. */
static void
mux_bridge_fill(struct mux_bridge *bridge)
{
	struct mux_stream *stream;
	uint32_t most;
	unsigned turn;

	mux_bridge_say(bridge);
	mux_record_fill(bridge);
	while (bridge->state == MUX_BRIDGE_RUNNING &&
	       mux_splice_waits(bridge) == 0) {
		turn = bridge->link.next;
		stream = mux_link_turn(&bridge->link, &most);
		if (stream == NULL)
			break;
		/* With its header as much as the daemon reads at once. */
		if (bridge->chunked && most > MUX_FRAME_HEADER)
			most -= MUX_FRAME_HEADER;
		if (MUX_BRIDGE_OUT - bridge->out_len <
		    MUX_FRAME_HEADER + most) {
			/* It is its turn still. */
			bridge->link.next = turn;
			break;
		}
		mux_bridge_put_data(bridge, stream, most);
	}
	mux_bridge_say(bridge);
}

static void
mux_bridge_settle(struct mux_bridge *bridge)
{
	/* What is freed on the way lowers it. */
	unsigned high = bridge->link.high;
	bool crowded = bridge->crowded;

	bridge->crowded = false;
	for (unsigned i = 0; i < high; i++) {
		if (crowded)
			mux_open_again(bridge, &bridge->link.streams[i]);
		mux_end_settle(bridge, &bridge->link.streams[i]);
	}
	mux_record_deliver(bridge);
}

/* False: the link takes no more now, or there is nothing. */
static bool
mux_bridge_write(struct mux_bridge *bridge)
{
	bool staged = mux_splice_waits(bridge) > 0;
	ssize_t done;

	if (staged && !mux_splice_write(bridge))
		return false;
	if (bridge->out_len == 0)
		return staged;
	done = write(bridge->link_out, bridge->out + bridge->out_start,
	    bridge->out_len - bridge->out_start);
	if (done < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (done < 0) {
		mux_bridge_close(bridge, MUX_BRIDGE_CLOSED, "the link ended");
		return false;
	}
	bridge->out_start += (size_t)done;
	if (bridge->out_start < bridge->out_len)
		return false;
	bridge->out_start = bridge->out_len = 0;
	return true;
}

static void
mux_bridge_out(struct mux_bridge *bridge)
{
	bool more = true;

	for (unsigned i = 0; i < MUX_BRIDGE_ROUNDS && more &&
			     bridge->state == MUX_BRIDGE_RUNNING;
	     i++) {
		if (mux_bridge_wrote(bridge))
			mux_bridge_fill(bridge);
		more = bridge->state == MUX_BRIDGE_RUNNING &&
		       mux_bridge_write(bridge);
	}
	bridge->more = more;
}

/* ---- the poll loop ---- */

static void
mux_bridge_poll(struct mux_bridge *bridge, struct pollfd *polls,
    unsigned *count, int fd, short events, enum mux_poll_kind kind,
    unsigned index)
{
	if (fd < 0 || events == 0)
		return;
	polls[*count] = (struct pollfd){fd, events, 0};
	bridge->polled[*count].kind = kind;
	bridge->polled[*count].index = index;
	(*count)++;
}

static void
mux_bridge_poll_ends(
    struct mux_bridge *bridge, struct pollfd *polls, unsigned *count)
{
	for (unsigned i = 0; i < bridge->link.high; i++) {
		const struct mux_stream *stream = &bridge->link.streams[i];
		const struct mux_end *end = &bridge->ends[i];
		short in =
		    mux_link_may_send(stream) && !stream->ready ? POLLIN : 0;
		short out = mux_end_waits(end) ? POLLOUT : 0;

		if (stream->id == 0)
			continue;
		if (end->in == end->out)
			mux_bridge_poll(bridge, polls, count, end->in,
			    (short)(in | out), MUX_POLL_END, i);
		else {
			mux_bridge_poll(
			    bridge, polls, count, end->in, in, MUX_POLL_END, i);
			mux_bridge_poll(bridge, polls, count, end->out, out,
			    MUX_POLL_END, i);
		}
	}
}

unsigned
mux_bridge_polls(struct mux_bridge *bridge, struct pollfd *polls_r,
    uint64_t now_ms, int *timeout_ms_r)
{
	bool room = bridge->link.hello_heard &&
		    bridge->link.used < MUX_LINK_CONNECTIONS;
	unsigned count = 0;

	*timeout_ms_r = -1;
	if (bridge->state != MUX_BRIDGE_RUNNING)
		return 0;
	mux_bridge_poll(bridge, polls_r, &count, bridge->link_in,
	    bridge->arriving.held ? 0 : POLLIN, MUX_POLL_LINK_IN, 0);
	mux_bridge_poll(bridge, polls_r, &count, bridge->link_out,
	    !mux_bridge_wrote(bridge) || bridge->more ? POLLOUT : 0,
	    MUX_POLL_LINK_OUT, 0);
	mux_bridge_poll(bridge, polls_r, &count, bridge->control,
	    !bridge->leaving.busy && bridge->link.hello_heard ? POLLIN : 0,
	    MUX_POLL_CONTROL, 0);
	for (unsigned i = 0;
	     i < INIT_LISTENERS_MAX && bridge->link.side == MUX_LINK_INSIDE;
	     i++)
		mux_bridge_poll(bridge, polls_r, &count, bridge->listeners[i],
		    room ? POLLIN : 0, MUX_POLL_LISTENER, i);
	mux_bridge_poll_ends(bridge, polls_r, &count);
	if (bridge->tick_ms <= now_ms)
		*timeout_ms_r = 0;
	else
		*timeout_ms_r = (int)(bridge->tick_ms - now_ms);
	if (bridge->crowded && *timeout_ms_r > MUX_BRIDGE_CROWDED_MS)
		*timeout_ms_r = MUX_BRIDGE_CROWDED_MS;
	return count;
}

static void
mux_bridge_end_ready(struct mux_bridge *bridge, unsigned index, short events)
{
	struct mux_stream *stream = &bridge->link.streams[index];
	const struct mux_end *end = &bridge->ends[index];

	if (stream->id == 0)
		return;
	if (mux_end_waits(end) && (events & (POLLOUT | POLLERR | POLLHUP)) != 0)
		mux_end_drain(bridge, stream);
	if (end->in >= 0 && (events & (POLLIN | POLLERR | POLLHUP)) != 0)
		stream->ready = true;
}

static void
mux_bridge_polled(
    struct mux_bridge *bridge, unsigned at, short events, uint64_t now_ms)
{
	unsigned index = bridge->polled[at].index;

	if (events == 0 || bridge->state != MUX_BRIDGE_RUNNING)
		return;
	switch (bridge->polled[at].kind) {
	case MUX_POLL_LINK_IN:
		mux_in_turn(bridge, now_ms);
		break;
	case MUX_POLL_LINK_OUT:
		break; /* written in any case */
	case MUX_POLL_CONTROL:
		mux_record_take(bridge);
		break;
	case MUX_POLL_LISTENER:
		mux_open_accept(bridge, index);
		break;
	case MUX_POLL_END:
		mux_bridge_end_ready(bridge, index, events);
		break;
	}
}

static void
mux_bridge_tick(struct mux_bridge *bridge, uint64_t now_ms)
{
	enum mux_link_result result;

	/* Who does not listen does not know what was said, and says that it
	 * is there all the same: the other end listens. */
	if (bridge->arriving.held)
		mux_link_deaf(&bridge->link, now_ms);
	if (now_ms < bridge->tick_ms)
		return;
	result = mux_link_tick(&bridge->link, now_ms, &bridge->tick_ms);
	if (result != MUX_LINK_OK)
		mux_bridge_close(
		    bridge, MUX_BRIDGE_BROKEN, mux_link_text(result));
}

void
mux_bridge_turn(struct mux_bridge *bridge, const struct pollfd *polls,
    unsigned count, uint64_t now_ms)
{
	for (unsigned i = 0; i < count; i++)
		mux_bridge_polled(bridge, i, polls[i].revents, now_ms);
	if (bridge->state == MUX_BRIDGE_RUNNING)
		mux_bridge_tick(bridge, now_ms);
	mux_bridge_out(bridge);
	if (bridge->state == MUX_BRIDGE_RUNNING)
		mux_bridge_settle(bridge);
	/* What waited for that. */
	if (bridge->state == MUX_BRIDGE_RUNNING)
		mux_in_frames(bridge, now_ms);
	if (bridge->state == MUX_BRIDGE_RUNNING && bridge->leaving.busy)
		mux_bridge_out(bridge);
}
