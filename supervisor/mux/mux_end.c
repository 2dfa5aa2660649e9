/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads, writes and half-closes of what is behind a stream. Called by
 * mux_bridge and mux_record; must never wait, look at a byte, or keep more
 * for a descriptor than its window.
 */
#include "supervisor/mux/mux_end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_splice.h"

struct mux_end *
mux_end_of(struct mux_bridge *bridge, const struct mux_stream *stream)
{
	return &bridge->ends[stream - bridge->link.streams];
}

void
mux_end_reset(struct mux_end *end)
{
	*end = (struct mux_end){
	    .in = -1, .out = -1, .lend = -1, .spare = {-1, -1}};
}

bool
mux_end_waits(const struct mux_end *end)
{
	return end->spared > 0 || end->len > 0;
}

int
mux_end_prepare(int fd)
{
	if (fd >= 0 && (fd_set_nonblocking(fd, true) != RESULT_OK ||
			   fd_set_cloexec(fd, true) != RESULT_OK))
		fd_close(&fd);
	return fd;
}

static void
mux_end_close_in(struct mux_end *end)
{
	if (end->in == end->out)
		end->in = -1; /* the socket is written, still */
	else
		fd_close(&end->in);
}

/* Nothing more is written to it. */
static void
mux_end_close_out(struct mux_end *end)
{
	if (end->out >= 0 && end->in == end->out) {
		(void)shutdown(end->out, SHUT_WR);
		end->out = -1; /* it is read, still */
	} else
		fd_close(&end->out);
}

static void
mux_end_clear(struct mux_end *end)
{
	if (end->in == end->out)
		end->out = -1;
	fd_close(&end->in);
	fd_close(&end->out);
	fd_close(&end->lend);
	fd_close(&end->spare[0]);
	fd_close(&end->spare[1]);
	free(end->hold);
	mux_end_reset(end);
}

void
mux_end_gone(struct mux_bridge *bridge, struct mux_stream *stream)
{
	struct mux_end *end = mux_end_of(bridge, stream);
	int *fd = end->in >= 0 ? &end->in : &end->out;

	/* A peer that was cut off shall not take it for an end, also where
	 * one direction had ended before. */
	if (stream->kind == MUX_KIND_CONNECTION) {
		if (end->in == end->out)
			end->out = -1;
		fd_reset(fd);
	}
	mux_end_clear(end);
	stream->ready = false;
	mux_end_settle(bridge, stream);
}

static void
mux_end_break(struct mux_bridge *bridge, struct mux_stream *stream)
{
	mux_link_reset(stream, MUX_LINK_GONE);
	mux_end_gone(bridge, stream);
}

void
mux_end_settle(struct mux_bridge *bridge, struct mux_stream *stream)
{
	if (stream->id == 0 || !mux_link_is_over(stream))
		return;
	mux_end_clear(mux_end_of(bridge, stream));
	mux_link_free(&bridge->link, stream);
}

void
mux_end_attach(
    struct mux_bridge *bridge, struct mux_stream *stream, int in, int out)
{
	struct mux_end *end = mux_end_of(bridge, stream);

	end->in = mux_end_prepare(in);
	end->out = in == out ? end->in : mux_end_prepare(out);
	end->in_pipe = mux_splice_is_pipe(end->in);
	end->out_pipe = mux_splice_is_pipe(end->out);
	if (end->in < 0)
		mux_link_eof(stream);
}

struct mux_stream *
mux_end_open(struct mux_bridge *bridge, enum mux_frame_kind kind,
    uint16_t number, int in, int out)
{
	struct mux_stream *stream = mux_link_open(&bridge->link, kind, number);

	if (stream != NULL) {
		mux_end_attach(bridge, stream, in, out);
		return stream;
	}
	if (out != in)
		fd_close(&out);
	fd_close(&in);
	return NULL;
}

/* ---- towards the descriptor ---- */

/* How much was written; -1: it broke. */
static ssize_t
mux_end_write(const struct mux_end *end, const uint8_t *bytes, size_t len)
{
	ssize_t done;

	do
		done = write(end->out, bytes, len);
	while (done < 0 && errno == EINTR);
	if (done < 0 && errno == EAGAIN)
		return 0;
	return done;
}

/* Room for len bytes more behind those that wait. */
static bool
mux_end_room(struct mux_end *end, const struct mux_stream *stream, uint32_t len)
{
	if (end->size < stream->window) {
		uint8_t *grown = realloc(end->hold, stream->window);

		if (grown == NULL)
			return false;
		end->hold = grown;
		end->size = stream->window;
	}
	if (end->start + end->len + len > end->size) {
		memmove(end->hold, end->hold + end->start, end->len);
		end->start = 0;
	}
	return end->len + len <= end->size;
}

void
mux_end_data(struct mux_bridge *bridge, struct mux_stream *stream,
    const uint8_t *bytes, uint32_t len)
{
	struct mux_end *end = mux_end_of(bridge, stream);
	ssize_t done = 0;

	if (end->out < 0) { /* nobody wants them */
		mux_link_taken(stream, len);
		return;
	}
	if (!mux_end_waits(end))
		done = mux_end_write(end, bytes, len);
	if (done < 0) {
		mux_end_break(bridge, stream);
		return;
	}
	mux_link_taken(stream, (uint32_t)done);
	bytes += done;
	len -= (uint32_t)done;
	if (len == 0)
		return;
	if (!mux_end_room(end, stream, len)) {
		mux_bridge_close(bridge, MUX_BRIDGE_FAILED, "out of memory");
		return;
	}
	memcpy(end->hold + end->start + end->len, bytes, len);
	end->len += len;
}

void
mux_end_drain(struct mux_bridge *bridge, struct mux_stream *stream)
{
	struct mux_end *end = mux_end_of(bridge, stream);
	ssize_t done = 0;

	if (!mux_splice_drain(end, stream))
		done = -1;
	else if (end->spared == 0 && end->len > 0)
		done = mux_end_write(end, end->hold + end->start, end->len);
	if (done < 0) {
		mux_end_break(bridge, stream);
		return;
	}
	mux_link_taken(stream, (uint32_t)done);
	end->start += (uint32_t)done;
	end->len -= (uint32_t)done;
	if (mux_end_waits(end))
		return;
	end->start = 0;
	if (stream->eof_heard)
		mux_end_close_out(end);
	mux_end_settle(bridge, stream);
}

void
mux_end_eof(struct mux_bridge *bridge, struct mux_stream *stream)
{
	struct mux_end *end = mux_end_of(bridge, stream);

	if (!mux_end_waits(end))
		mux_end_close_out(end);
	mux_end_settle(bridge, stream);
}

/* ---- from the descriptor ---- */

/* On the host who serves a connection has no other way to say so. */
static bool
mux_end_was_reset(struct mux_bridge *bridge, const struct mux_stream *stream)
{
	return bridge->link.side == MUX_LINK_HOST &&
	       stream->kind == MUX_KIND_CONNECTION &&
	       fd_was_reset(mux_end_of(bridge, stream)->in);
}

/* read(2), so that descriptors sent along are closed by the kernel. */
uint32_t
mux_end_read(struct mux_bridge *bridge, struct mux_stream *stream,
    uint8_t *bytes_r, uint32_t room)
{
	struct mux_end *end = mux_end_of(bridge, stream);
	ssize_t got;

	do
		got = read(end->in, bytes_r, room);
	while (got < 0 && errno == EINTR);
	if (got > 0) {
		/* Less than asked for: mostly all there was. */
		stream->ready = (size_t)got == room;
		mux_link_sent(stream, (uint32_t)got);
		return (uint32_t)got;
	}
	stream->ready = false;
	if (got == 0 && !mux_end_was_reset(bridge, stream)) {
		mux_end_close_in(end);
		mux_link_eof(stream);
	} else if (got == 0 || errno != EAGAIN)
		mux_end_break(bridge, stream);
	return 0;
}

bool
mux_end_has_output(const struct mux_bridge *bridge)
{
	for (unsigned i = 0; i < bridge->link.high; i++) {
		const struct mux_stream *stream = &bridge->link.streams[i];

		if (stream->id != 0 && !stream->resetting &&
		    (stream->kind == MUX_KIND_STDOUT ||
			stream->kind == MUX_KIND_STDERR ||
			stream->kind == MUX_KIND_TREE_OUT))
			return true;
	}
	return false;
}
