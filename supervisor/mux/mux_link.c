/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a mux link. Called by mux_bridge at both ends and by
 * the machine test; must never do I/O, look at a clock, or let the other
 * end make it keep more than the header says.
 */
#include "supervisor/mux/mux_link.h"

#include <string.h>

#define MUX_LINK_QUANTUM 32768U /* of one stream, until the next's turn */
#define MUX_LINK_ALONE 4U       /* no more streams than these: twice that */
#define MUX_LINK_HELLO_MOST (16U << 20)
#define MUX_LINK_SEND_MOST (64U << 20)

void
mux_link_init(struct mux_link *link, enum mux_link_side side, uint64_t now_ms)
{
	memset(link, 0, sizeof(*link));
	link->side = side;
	link->pool = MUX_LINK_POOL;
	link->heard_ms = link->pinged_ms = now_ms;
	link->our_next = side == MUX_LINK_HOST ? 2 : 1;
}

struct mux_stream *
mux_link_find(struct mux_link *link, uint32_t id)
{
	for (unsigned i = 0; i < link->high; i++) {
		if (link->streams[i].id == id)
			return &link->streams[i];
	}
	/* One that is free is the first of all those behind. */
	return id == 0 && link->high < MUX_LINK_STREAMS
		   ? &link->streams[link->high]
		   : NULL;
}

static struct mux_stream *
mux_link_add(struct mux_link *link, uint32_t id, enum mux_frame_kind kind,
    uint16_t number)
{
	struct mux_stream *stream = mux_link_find(link, 0);

	if (stream == NULL)
		return NULL;
	if (stream == &link->streams[link->high])
		link->high++;
	*stream = (struct mux_stream){.id = id,
	    .kind = kind,
	    .number = number,
	    .may_send = link->their_window,
	    .window = MUX_LINK_WINDOW,
	    .may_come = MUX_LINK_WINDOW};
	link->used++;
	return stream;
}

struct mux_stream *
mux_link_open(struct mux_link *link, enum mux_frame_kind kind, uint16_t number)
{
	struct mux_stream *stream;

	if (!link->hello_heard || link->our_next > UINT32_MAX - 2)
		return NULL;
	stream = mux_link_add(link, link->our_next, kind, number);
	if (stream == NULL)
		return NULL;
	link->our_next += 2;
	stream->say_open = true;
	return stream;
}

/* ---- what comes ---- */

/* False: more is owed than an honest end can make us owe. */
static bool
mux_link_answer(struct mux_link *link, uint32_t id, bool done)
{
	unsigned at =
	    (link->answer_first + link->answer_count) % MUX_LINK_ANSWERS;

	if (link->answer_count == MUX_LINK_ANSWERS)
		return false;
	link->answers[at] = (uint64_t)done << 32 | id;
	link->answer_count++;
	return true;
}

static enum mux_link_result
mux_link_hello(struct mux_link *link, const struct mux_frame *frame)
{
	if (link->hello_heard)
		return MUX_LINK_BAD_ORDER;
	if (frame->version != MUX_FRAME_VERSION)
		return MUX_LINK_BAD_VERSION;
	if (frame->window == 0 || frame->window > MUX_LINK_HELLO_MOST)
		return MUX_LINK_BAD_WINDOW;
	link->hello_heard = true;
	link->their_window = frame->window;
	return MUX_LINK_OK;
}

static enum mux_link_result
mux_link_opened(struct mux_link *link, const struct mux_frame *frame,
    struct mux_stream **stream_r)
{
	bool host = link->side == MUX_LINK_HOST;

	if (frame->stream % 2 != (host ? 1 : 0) ||
	    frame->stream <= link->their_last)
		return MUX_LINK_BAD_STREAM;
	if ((frame->kind == MUX_KIND_CONNECTION) != host)
		return MUX_LINK_BAD_KIND;
	link->their_last = frame->stream;
	if (!host || link->used < MUX_LINK_CONNECTIONS)
		*stream_r = mux_link_add(
		    link, frame->stream, frame->kind, frame->number);
	if (*stream_r == NULL && !mux_link_answer(link, frame->stream, false))
		return MUX_LINK_BAD_FLOOD;
	return MUX_LINK_OK;
}

/* Was there ever a stream of this id? */
static bool
mux_link_known(const struct mux_link *link, uint32_t id)
{
	bool ours = id % 2 == (link->side == MUX_LINK_HOST ? 0 : 1);

	return ours ? id < link->our_next : id <= link->their_last;
}

static enum mux_link_result
mux_link_data(struct mux_stream *stream, const struct mux_frame *frame)
{
	if (stream->eof_heard)
		return MUX_LINK_BAD_ORDER;
	if (frame->length > stream->may_come)
		return MUX_LINK_BAD_WINDOW;
	stream->may_come -= frame->length;
	stream->waiting += frame->length;
	return MUX_LINK_OK;
}

static enum mux_link_result
mux_link_granted(struct mux_stream *stream, const struct mux_frame *frame)
{
	if (frame->window > MUX_LINK_SEND_MOST - stream->may_send)
		return MUX_LINK_BAD_WINDOW;
	stream->may_send += frame->window;
	return MUX_LINK_OK;
}

static enum mux_link_result
mux_link_was_reset(struct mux_link *link, struct mux_stream *stream,
    const struct mux_frame *frame, enum mux_link_event *event_r)
{
	bool done = (frame->flags & MUX_FRAME_DONE) != 0;

	if (!done && !mux_link_answer(link, frame->stream, true))
		return MUX_LINK_BAD_FLOOD;
	if (stream == NULL)
		return MUX_LINK_OK;
	if (done && (!stream->resetting || stream->say_reset))
		return MUX_LINK_BAD_ORDER; /* nobody asked */
	/* Ours crossed theirs: DONE is still to come. */
	if (!done && stream->resetting && !stream->say_reset)
		return MUX_LINK_OK;
	stream->over = true;
	*event_r = MUX_LINK_RESET;
	return MUX_LINK_OK;
}

static enum mux_link_result
mux_link_about(struct mux_link *link, struct mux_stream *stream,
    const struct mux_frame *frame, enum mux_link_event *event_r)
{
	enum mux_link_result result = MUX_LINK_OK;

	if (frame->type == MUX_FRAME_RESET)
		return mux_link_was_reset(link, stream, frame, event_r);
	/* On its way when the stream ended here. */
	if (stream == NULL || stream->resetting || stream->over)
		return MUX_LINK_OK;
	if (frame->type == MUX_FRAME_WINDOW)
		return mux_link_granted(stream, frame);
	if (frame->type == MUX_FRAME_DATA) {
		result = mux_link_data(stream, frame);
		*event_r = MUX_LINK_DATA;
	} else if (stream->eof_heard)
		result = MUX_LINK_BAD_ORDER;
	else {
		stream->eof_heard = true;
		*event_r = MUX_LINK_EOF;
	}
	return result;
}

static enum mux_link_result
mux_link_dispatch(struct mux_link *link, const struct mux_frame *frame,
    enum mux_link_event *event_r, struct mux_stream **stream_r)
{
	enum mux_link_result result = MUX_LINK_OK;

	if (frame->type == MUX_FRAME_HELLO) {
		*event_r = MUX_LINK_HELLO;
		return mux_link_hello(link, frame);
	}
	if (!link->hello_heard)
		return MUX_LINK_BAD_ORDER;
	if (frame->type == MUX_FRAME_OPEN) {
		result = mux_link_opened(link, frame, stream_r);
		*event_r =
		    *stream_r != NULL ? MUX_LINK_OPENED : MUX_LINK_NOTHING;
		return result;
	}
	if (frame->stream != 0 && !mux_link_known(link, frame->stream))
		return MUX_LINK_BAD_STREAM;
	if (frame->stream != 0)
		*stream_r = mux_link_find(link, frame->stream);
	if (frame->type == MUX_FRAME_PING)
		link->say_pong = true;
	else if (frame->type == MUX_FRAME_ATTACH)
		*event_r = MUX_LINK_ATTACH;
	else if (frame->type == MUX_FRAME_RECORD)
		*event_r = MUX_LINK_RECORD;
	else if (frame->type != MUX_FRAME_PONG)
		result = mux_link_about(link, *stream_r, frame, event_r);
	return result;
}

enum mux_link_result
mux_link_receive(struct mux_link *link, const struct mux_frame *frame,
    uint64_t now_ms, enum mux_link_event *event_r, struct mux_stream **stream_r)
{
	enum mux_link_result result;

	*event_r = MUX_LINK_NOTHING;
	*stream_r = NULL;
	link->heard_ms = now_ms;
	result = mux_link_dispatch(link, frame, event_r, stream_r);
	if (result != MUX_LINK_OK)
		*event_r = MUX_LINK_NOTHING;
	return result;
}

/* ---- what the bridge did ---- */

void
mux_link_taken(struct mux_stream *stream, uint32_t count)
{
	stream->waiting -= count;
	stream->taken += count;
}

void
mux_link_eof(struct mux_stream *stream)
{
	if (!stream->eof_said)
		stream->say_eof = true;
}

void
mux_link_reset(struct mux_stream *stream, enum mux_link_reason reason)
{
	stream->waiting = 0;
	if (stream->resetting || stream->over)
		return;
	if (stream->eof_said && stream->eof_heard) {
		stream->over = true; /* the other end has it over already */
		return;
	}
	stream->resetting = stream->say_reset = true;
	stream->code = reason;
}

bool
mux_link_is_over(const struct mux_stream *stream)
{
	return stream->over || (!stream->resetting && stream->eof_said &&
				   stream->eof_heard && stream->waiting == 0);
}

void
mux_link_free(struct mux_link *link, struct mux_stream *stream)
{
	link->pool += stream->window - MUX_LINK_WINDOW;
	*stream = (struct mux_stream){.id = 0};
	link->used--;
	while (link->high > 0 && link->streams[link->high - 1].id == 0)
		link->high--;
}

/* ---- what is said ---- */

/* What was taken is granted again, and more to one that took so much: where
 * windows are what limits, streams that are busy have the same ones, whoever
 * was first. */
static uint32_t
mux_link_grant(struct mux_link *link, struct mux_stream *stream)
{
	uint32_t share = MUX_LINK_WINDOW + MUX_LINK_POOL / link->used;
	uint32_t largest = stream->kind == MUX_KIND_CONNECTION
			       ? MUX_LINK_WINDOW_MOST
			       : MUX_LINK_WINDOW_STANDARD;
	uint32_t more = 0, granted;

	if (share > largest)
		share = largest;
	if (stream->window < share)
		more = share - stream->window;
	if (more > link->pool)
		more = link->pool;
	link->pool -= more;
	stream->window += more;
	granted = stream->taken + more;
	stream->may_come += granted;
	stream->taken = 0;
	return granted;
}

static bool
mux_link_say_stream(
    struct mux_link *link, struct mux_stream *stream, struct mux_frame *frame)
{
	bool closing = stream->resetting || stream->over;

	frame->stream = stream->id;
	if (stream->say_open) {
		stream->say_open = false;
		frame->type = MUX_FRAME_OPEN;
		frame->kind = stream->kind;
		frame->number = stream->number;
	} else if (stream->say_reset && !stream->over) {
		stream->say_reset = false;
		frame->type = MUX_FRAME_RESET;
		frame->code = stream->code;
	} else if (!closing && !stream->eof_heard &&
		   stream->taken >= stream->window / 2) {
		frame->type = MUX_FRAME_WINDOW;
		frame->window = mux_link_grant(link, stream);
	} else if (!closing && stream->say_eof) {
		stream->say_eof = false;
		stream->eof_said = true;
		frame->type = MUX_FRAME_EOF;
	} else
		return false;
	return true;
}

static void
mux_link_say_answer(struct mux_link *link, struct mux_frame *frame)
{
	uint64_t answer = link->answers[link->answer_first];
	bool done = answer >> 32 != 0;

	frame->type = MUX_FRAME_RESET;
	frame->stream = (uint32_t)answer;
	frame->flags = done ? MUX_FRAME_DONE : 0;
	frame->code = done ? MUX_LINK_GONE : MUX_LINK_FULL;
	link->answer_first = (link->answer_first + 1) % MUX_LINK_ANSWERS;
	link->answer_count--;
}

/* Of the link itself. */
static bool
mux_link_say_own(struct mux_link *link, struct mux_frame *frame)
{
	if (!link->hello_said) {
		link->hello_said = true;
		frame->type = MUX_FRAME_HELLO;
		frame->version = MUX_FRAME_VERSION;
		frame->window = MUX_LINK_WINDOW;
	} else if (link->say_pong) {
		link->say_pong = false;
		frame->type = MUX_FRAME_PONG;
	} else if (link->say_ping) {
		link->say_ping = false;
		frame->type = MUX_FRAME_PING;
	} else if (link->answer_count > 0)
		mux_link_say_answer(link, frame);
	else
		return false;
	return true;
}

size_t
mux_link_say(struct mux_link *link, uint8_t *bytes_r)
{
	struct mux_frame frame = {.payload = NULL};
	bool found = mux_link_say_own(link, &frame);

	for (unsigned i = 0; i < link->high && !found; i++)
		found = link->streams[i].id != 0 &&
			mux_link_say_stream(link, &link->streams[i], &frame);
	return found ? mux_frame_encode(&frame, bytes_r) : 0;
}

bool
mux_link_may_send(const struct mux_stream *stream)
{
	return stream->id != 0 && stream->may_send > 0 && !stream->say_open &&
	       !stream->say_eof && !stream->eof_said && !stream->resetting &&
	       !stream->over;
}

struct mux_stream *
mux_link_turn(struct mux_link *link, uint32_t *most_r)
{
	uint32_t most = link->used <= MUX_LINK_ALONE ? 2 * MUX_LINK_QUANTUM
						     : MUX_LINK_QUANTUM;

	for (unsigned i = 0; i < link->high; i++) {
		unsigned at = (link->next + i) % link->high;
		struct mux_stream *stream = &link->streams[at];

		if (!stream->ready || !mux_link_may_send(stream))
			continue;
		link->next = at + 1;
		*most_r = stream->may_send < most ? stream->may_send : most;
		return stream;
	}
	return NULL;
}

void
mux_link_sent(struct mux_stream *stream, uint32_t count)
{
	stream->may_send -= count;
}

void
mux_link_deaf(struct mux_link *link, uint64_t now_ms)
{
	link->heard_ms = now_ms;
	if (now_ms < link->pinged_ms + MUX_LINK_PING_MS)
		return;
	link->say_ping = true;
	link->pinged_ms = now_ms;
}

enum mux_link_result
mux_link_tick(struct mux_link *link, uint64_t now_ms, uint64_t *next_r)
{
	uint64_t due;

	if (now_ms >= link->heard_ms + MUX_LINK_SILENT_MS)
		return MUX_LINK_SILENT;
	due = (link->heard_ms > link->pinged_ms ? link->heard_ms
						: link->pinged_ms) +
	      MUX_LINK_PING_MS;
	if (now_ms >= due) {
		link->say_ping = true;
		link->pinged_ms = now_ms;
		due = now_ms + MUX_LINK_PING_MS;
	}
	*next_r = due < link->heard_ms + MUX_LINK_SILENT_MS
		      ? due
		      : link->heard_ms + MUX_LINK_SILENT_MS;
	return MUX_LINK_OK;
}

const char *
mux_link_text(enum mux_link_result result)
{
	static const char *const texts[] = {
	    [MUX_LINK_OK] = "nothing",
	    [MUX_LINK_BAD_VERSION] = "another version of the protocol",
	    [MUX_LINK_BAD_ORDER] = "a frame out of order",
	    [MUX_LINK_BAD_STREAM] = "a stream that is not its to name",
	    [MUX_LINK_BAD_KIND] = "a stream of a kind it may not open",
	    [MUX_LINK_BAD_WINDOW] = "more than its window",
	    [MUX_LINK_BAD_FLOOD] = "more resets than there are streams",
	    [MUX_LINK_SILENT] = "nothing for 15 seconds",
	};

	return texts[result];
}
