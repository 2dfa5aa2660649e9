/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the link to what is behind its streams. A frame of a stream's bytes
 * is passed on as it comes; the others are taken as a whole. Called by
 * mux_bridge; must never wait, read beyond what a window allows into memory,
 * or do more than end the link, whatever comes.
 */
#include "supervisor/mux/mux_in.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/mux/mux_end.h"
#include "supervisor/mux/mux_open.h"
#include "supervisor/mux/mux_record.h"
#include "supervisor/mux/mux_splice.h"

#define MUX_IN_ROUNDS 32U /* in a turn */

static void
mux_in_event(struct mux_bridge *bridge, const struct mux_frame *frame,
    enum mux_link_event event, struct mux_stream *stream)
{
	switch (event) {
	case MUX_LINK_NOTHING:
		break;
	case MUX_LINK_HELLO:
		mux_open_greet(bridge);
		break;
	case MUX_LINK_OPENED:
		mux_open_take(bridge, stream);
		break;
	case MUX_LINK_DATA:
		bridge->pour.stream = stream;
		break;
	case MUX_LINK_EOF:
		mux_end_eof(bridge, stream);
		break;
	case MUX_LINK_RESET:
		mux_end_gone(bridge, stream);
		break;
	case MUX_LINK_ATTACH:
		mux_record_attach(bridge, frame);
		break;
	case MUX_LINK_RECORD:
		mux_record_arrive(bridge, frame);
		break;
	}
}

/* The header of a frame of bytes, or a frame of another type as a whole. */
static enum mux_frame_result
mux_in_decode(
    struct mux_bridge *bridge, struct mux_frame *frame_r, size_t *used_r)
{
	const uint8_t *bytes = bridge->in + bridge->in_start;
	enum mux_frame_result result =
	    mux_frame_head(bytes, bridge->in_len, frame_r);

	if (result != MUX_FRAME_OK)
		return result;
	bridge->pour.bulk = frame_r->type == MUX_FRAME_DATA &&
			    frame_r->length >= MUX_SPLICE_LEAST;
	*used_r = MUX_FRAME_HEADER;
	if (frame_r->type == MUX_FRAME_DATA)
		return MUX_FRAME_OK;
	return mux_frame_decode(bytes, bridge->in_len, frame_r, used_r);
}

/* One frame of what was read; false: none is there, or none may be read
 * before a record that waits. */
static bool
mux_in_frame(struct mux_bridge *bridge, uint64_t now_ms)
{
	struct mux_frame frame;
	struct mux_stream *stream;
	enum mux_link_event event;
	enum mux_link_result result;
	enum mux_frame_result decoded;
	size_t used;

	if (bridge->arriving.held)
		return false;
	decoded = mux_in_decode(bridge, &frame, &used);
	if (decoded == MUX_FRAME_MORE)
		return false;
	if (decoded != MUX_FRAME_OK) {
		mux_bridge_close(
		    bridge, MUX_BRIDGE_BROKEN, mux_frame_text(decoded));
		return false;
	}
	result =
	    mux_link_receive(&bridge->link, &frame, now_ms, &event, &stream);
	if (result != MUX_LINK_OK) {
		mux_bridge_close(
		    bridge, MUX_BRIDGE_BROKEN, mux_link_text(result));
		return false;
	}
	bridge->pour.stream = NULL;
	bridge->pour.left = frame.type == MUX_FRAME_DATA ? frame.length : 0;
	mux_in_event(bridge, &frame, event, stream);
	bridge->in_start += used;
	bridge->in_len -= used;
	return bridge->state == MUX_BRIDGE_RUNNING;
}

/* Its stream, unless it was reset meanwhile; it is not freed before the
 * frame is over, since no other one comes. */
static struct mux_stream *
mux_in_wants(const struct mux_pour *pour)
{
	return pour->stream != NULL && !pour->stream->resetting &&
		       !pour->stream->over
		   ? pour->stream
		   : NULL;
}

/* Of what was read, the bytes of the frame whose header came. */
static void
mux_in_pour(struct mux_bridge *bridge)
{
	struct mux_pour *pour = &bridge->pour;
	struct mux_stream *stream = mux_in_wants(pour);
	uint32_t len =
	    pour->left < bridge->in_len ? pour->left : (uint32_t)bridge->in_len;

	if (len == 0)
		return;
	if (stream != NULL)
		mux_end_data(
		    bridge, stream, bridge->in + bridge->in_start, len);
	pour->left -= len;
	bridge->in_start += len;
	bridge->in_len -= len;
}

void
mux_in_frames(struct mux_bridge *bridge, uint64_t now_ms)
{
	do
		mux_in_pour(bridge);
	while (bridge->state == MUX_BRIDGE_RUNNING && bridge->pour.left == 0 &&
	       mux_in_frame(bridge, now_ms));
}

/* How much to read. Where large frames go to a pipe, a header, so that the
 * rest need not be copied. */
static size_t
mux_in_room(const struct mux_bridge *bridge)
{
	size_t room = MUX_BRIDGE_IN - bridge->in_len;

	if (!bridge->pour.bulk || !bridge->from_pipe)
		return room;
	if (bridge->pour.left > 0)
		return bridge->pour.left < room ? bridge->pour.left : room;
	return bridge->in_len < MUX_FRAME_HEADER
		   ? MUX_FRAME_HEADER - bridge->in_len
		   : room;
}

/* What was read behind in_len; false: it is none of docker's. */
static bool
mux_in_take(struct mux_bridge *bridge, size_t got)
{
	enum docker_stream_result result = DOCKER_STREAM_OK;

	if (bridge->chunked)
		result = docker_stream_strip(
		    &bridge->docker, bridge->in + bridge->in_len, got, &got);
	if (result == DOCKER_STREAM_OK)
		bridge->in_len += got;
	else
		mux_bridge_close(
		    bridge, MUX_BRIDGE_BROKEN, docker_stream_text(result));
	return result == DOCKER_STREAM_OK;
}

/* False: nothing more can be read now. */
static bool
mux_in_read(struct mux_bridge *bridge)
{
	size_t room;
	ssize_t got;

	if (bridge->in_start > 0) {
		memmove(
		    bridge->in, bridge->in + bridge->in_start, bridge->in_len);
		bridge->in_start = 0;
	}
	room = mux_in_room(bridge);
	if (room == 0)
		return false;
	got = read(bridge->link_in, bridge->in + bridge->in_len, room);
	if (got > 0)
		return mux_in_take(bridge, (size_t)got) && (size_t)got == room;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	mux_bridge_close(bridge, MUX_BRIDGE_CLOSED,
	    bridge->in_len > 0 || bridge->pour.left > 0 ||
		    docker_stream_is_within(&bridge->docker)
		? "the link ended within a frame"
		: "the link ended");
	return false;
}

/* Without a copy, or by reading. */
static bool
mux_in_more(struct mux_bridge *bridge)
{
	struct mux_pour *pour = &bridge->pour;
	struct mux_stream *stream = mux_in_wants(pour);
	uint32_t moved = 0;

	if (pour->left > 0 && stream != NULL && bridge->in_len == 0)
		moved = mux_splice_give(bridge, stream, pour->left);
	pour->left -= moved;
	return moved > 0 || mux_in_read(bridge);
}

void
mux_in_turn(struct mux_bridge *bridge, uint64_t now_ms)
{
	bool more = true;

	for (unsigned i = 0;
	     i < MUX_IN_ROUNDS && more && bridge->state == MUX_BRIDGE_RUNNING;
	     i++) {
		more = !bridge->arriving.held && mux_in_more(bridge);
		if (bridge->state == MUX_BRIDGE_RUNNING)
			mux_in_frames(bridge, now_ms);
	}
}
