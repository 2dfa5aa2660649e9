/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splice(2) of payload (see the header). Called by mux_bridge, mux_in and
 * mux_end; must never wait, lose a byte that left its pipe, or let a frame
 * say another length than it has.
 */
#include "supervisor/mux/mux_splice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_end.h"

#define MUX_SPLICE_HEAD 4096U /* a pipe takes so much as a whole */

bool
mux_splice_is_pipe(int fd)
{
	return fd >= 0 && fcntl(fd, F_GETPIPE_SZ) >= 0;
}

static bool
mux_splice_pipe(int ends_r[2])
{
	if (pipe2(ends_r, O_CLOEXEC | O_NONBLOCK) != 0) {
		ends_r[0] = ends_r[1] = -1;
		return false;
	}
	(void)fcntl(ends_r[0], F_SETPIPE_SZ, MUX_SPLICE_PIPE);
	return true;
}

void
mux_splice_close(struct mux_bridge *bridge)
{
	struct mux_stage *stage = &bridge->stage;

	for (unsigned i = 0; i < 2; i++) {
		fd_close(&stage->head[i]);
		fd_close(&stage->body[i]);
	}
	stage->head_len = stage->body_len = 0;
}

void
mux_splice_init(struct mux_bridge *bridge)
{
	bridge->stage = (struct mux_stage){{-1, -1}, {-1, -1}, 0, 0};
	bridge->from_pipe = mux_splice_is_pipe(bridge->link_in);
	bridge->to_pipe = mux_splice_is_pipe(bridge->link_out);
}

/* Not before they are needed: init clears its descriptors once. */
static bool
mux_splice_stage(struct mux_bridge *bridge)
{
	struct mux_stage *stage = &bridge->stage;

	if (!bridge->to_pipe || stage->body[0] >= 0)
		return bridge->to_pipe;
	if (mux_splice_pipe(stage->head) && mux_splice_pipe(stage->body))
		return true;
	mux_splice_close(bridge);
	bridge->to_pipe = false;
	return false;
}

/* As much as goes; 0: none now, -1: errno. */
static ssize_t
mux_splice_move(int from, int to, size_t most)
{
	ssize_t done;

	do
		done = splice(from, NULL, to, NULL, most,
		    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (done < 0 && errno == EINTR);
	return done < 0 && errno == EAGAIN ? 0 : done;
}

/* ---- out of a stream's pipe ---- */

bool
mux_splice_may_take(struct mux_bridge *bridge, const struct mux_end *end)
{
	return end->in_pipe && mux_splice_stage(bridge);
}

size_t
mux_splice_waits(const struct mux_bridge *bridge)
{
	return bridge->stage.head_len + bridge->stage.body_len;
}

/* All that is to be said before the payload, which is counted now. */
static bool
mux_splice_head(struct mux_bridge *bridge, const struct mux_frame *frame)
{
	struct mux_stage *stage = &bridge->stage;

	mux_frame_header(frame, bridge->out + bridge->out_len);
	bridge->out_len += MUX_FRAME_HEADER;
	if (write(stage->head[1], bridge->out, bridge->out_len) !=
	    (ssize_t)bridge->out_len)
		return false;
	stage->head_len = (uint32_t)bridge->out_len;
	bridge->out_len = 0;
	return true;
}

void
mux_splice_take(
    struct mux_bridge *bridge, struct mux_stream *stream, uint32_t most)
{
	struct mux_stage *stage = &bridge->stage;
	struct mux_end *end = mux_end_of(bridge, stream);
	struct mux_frame frame = {.type = MUX_FRAME_DATA, .stream = stream->id};
	ssize_t got;

	errno = 0;
	got = mux_splice_move(end->in, stage->body[1], most);
	/* Too little, an end or a failure: read(2) says which. */
	end->bulk = got >= (ssize_t)MUX_SPLICE_LEAST;
	if (got < 0 || (got == 0 && errno != EAGAIN))
		return;
	stream->ready = got == (ssize_t)most;
	if (got == 0)
		return;
	mux_link_sent(stream, (uint32_t)got);
	frame.length = stage->body_len = (uint32_t)got;
	if (!mux_splice_head(bridge, &frame)) {
		mux_bridge_close(bridge, MUX_BRIDGE_FAILED,
		    "a pipe of its own takes no header");
		return;
	}
	/* Behind the header, so that both arrive as one. */
	got = mux_splice_move(stage->body[0], stage->head[1], stage->body_len);
	if (got > 0) {
		stage->head_len += (uint32_t)got;
		stage->body_len -= (uint32_t)got;
	}
}

bool
mux_splice_write(struct mux_bridge *bridge)
{
	struct mux_stage *stage = &bridge->stage;

	while (mux_splice_waits(bridge) > 0) {
		bool head = stage->head_len > 0;
		uint32_t *len = head ? &stage->head_len : &stage->body_len;
		ssize_t done =
		    mux_splice_move(head ? stage->head[0] : stage->body[0],
			bridge->link_out, *len);

		if (done < 0)
			mux_bridge_close(
			    bridge, MUX_BRIDGE_CLOSED, "the link ended");
		if (done <= 0)
			return false;
		*len -= (uint32_t)done;
	}
	return true;
}

/* ---- into a stream's pipe ---- */

uint32_t
mux_splice_give(
    struct mux_bridge *bridge, struct mux_stream *stream, uint32_t most)
{
	struct mux_end *end = mux_end_of(bridge, stream);
	ssize_t done = 0;

	if (!bridge->from_pipe || !end->out_pipe || end->len > 0)
		return 0;
	if (end->spared == 0) {
		done = mux_splice_move(bridge->link_in, end->out, most);
		if (done > 0)
			mux_link_taken(stream, (uint32_t)done);
		if (done != 0) /* write(2) says what is wrong */
			return done < 0 ? 0 : (uint32_t)done;
	}
	if (end->spare[0] < 0 && !mux_splice_pipe(end->spare))
		return 0;
	done = mux_splice_move(bridge->link_in, end->spare[1], most);
	if (done <= 0)
		return 0;
	end->spared += (uint32_t)done;
	return (uint32_t)done;
}

bool
mux_splice_drain(struct mux_end *end, struct mux_stream *stream)
{
	ssize_t done;

	if (end->spared == 0)
		return true;
	done = mux_splice_move(end->spare[0], end->out, end->spared);
	if (done < 0)
		return false;
	mux_link_taken(stream, (uint32_t)done);
	end->spared -= (uint32_t)done;
	return true;
}
