/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to frames and back. Called by mux_bridge at both ends, by tests and
 * the fuzzer; must never read beyond len, keep state, or take two encodings
 * for one frame.
 */
#include "supervisor/mux/mux_frame.h"

/* What a frame of each type looks like. */
struct mux_frame_shape {
	unsigned flags_max;
	enum {
		MUX_FRAME_ON_LINK,
		MUX_FRAME_ON_STREAM,
		MUX_FRAME_ON_ANY
	} stream;
	uint32_t least, most; /* length */
};

static const struct mux_frame_shape mux_frame_shapes[] = {
    [MUX_FRAME_HELLO] = {0, MUX_FRAME_ON_LINK, 12, 12},
    [MUX_FRAME_OPEN] = {0, MUX_FRAME_ON_STREAM, 4, 4},
    [MUX_FRAME_DATA] = {0, MUX_FRAME_ON_STREAM, 1, MUX_FRAME_DATA_MAX},
    [MUX_FRAME_WINDOW] = {0, MUX_FRAME_ON_STREAM, 4, 4},
    [MUX_FRAME_EOF] = {0, MUX_FRAME_ON_STREAM, 0, 0},
    [MUX_FRAME_RESET] = {MUX_FRAME_DONE, MUX_FRAME_ON_STREAM, 4, 4},
    [MUX_FRAME_ATTACH] = {MUX_FRAME_ATTACHED_MAX - 1, MUX_FRAME_ON_LINK, 1,
	MUX_FRAME_DATA_MAX},
    [MUX_FRAME_RECORD] = {MUX_FRAME_ATTACHED_MAX, MUX_FRAME_ON_ANY, 1,
	MUX_FRAME_RECORD_MAX},
    [MUX_FRAME_PING] = {0, MUX_FRAME_ON_LINK, 0, 0},
    [MUX_FRAME_PONG] = {0, MUX_FRAME_ON_LINK, 0, 0},
};

#define MUX_FRAME_TYPES (sizeof(mux_frame_shapes) / sizeof(mux_frame_shapes[0]))

static uint32_t
mux_frame_word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	       (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static void
mux_frame_put(uint32_t word, uint8_t *bytes_r)
{
	bytes_r[0] = (uint8_t)(word >> 24);
	bytes_r[1] = (uint8_t)(word >> 16);
	bytes_r[2] = (uint8_t)(word >> 8);
	bytes_r[3] = (uint8_t)word;
}

static enum mux_frame_result
mux_frame_judge(const uint8_t *bytes, struct mux_frame *frame)
{
	const struct mux_frame_shape *shape;

	if (bytes[0] == 0 || bytes[0] >= MUX_FRAME_TYPES)
		return MUX_FRAME_BAD_TYPE;
	shape = &mux_frame_shapes[bytes[0]];
	frame->type = (enum mux_frame_type)bytes[0];
	frame->flags = bytes[1];
	frame->stream = mux_frame_word(bytes + 4);
	frame->length = mux_frame_word(bytes + 8);
	if (frame->flags > shape->flags_max || bytes[2] != 0 || bytes[3] != 0)
		return MUX_FRAME_BAD_FLAGS;
	if ((shape->stream == MUX_FRAME_ON_LINK && frame->stream != 0) ||
	    (shape->stream == MUX_FRAME_ON_STREAM && frame->stream == 0))
		return MUX_FRAME_BAD_STREAM;
	if (frame->length < shape->least || frame->length > shape->most)
		return MUX_FRAME_BAD_LENGTH;
	return MUX_FRAME_OK;
}

static enum mux_frame_result
mux_frame_open(const uint8_t *payload, struct mux_frame *frame)
{
	uint32_t word = mux_frame_word(payload);

	if (word >> 16 < MUX_KIND_CONNECTION || word >> 16 > MUX_KIND_TREE_OUT)
		return MUX_FRAME_BAD_VALUE;
	frame->kind = (enum mux_frame_kind)(word >> 16);
	frame->number = (uint16_t)word;
	/* Only connections are numbered. */
	if (frame->kind != MUX_KIND_CONNECTION && frame->number != 0)
		return MUX_FRAME_BAD_VALUE;
	return MUX_FRAME_OK;
}

static enum mux_frame_result
mux_frame_fields(const uint8_t *payload, struct mux_frame *frame)
{
	switch (frame->type) {
	case MUX_FRAME_HELLO:
		frame->version = mux_frame_word(payload + 4);
		frame->window = mux_frame_word(payload + 8);
		return mux_frame_word(payload) == MUX_FRAME_MAGIC
			   ? MUX_FRAME_OK
			   : MUX_FRAME_BAD_VALUE;
	case MUX_FRAME_OPEN:
		return mux_frame_open(payload, frame);
	case MUX_FRAME_WINDOW:
		frame->window = mux_frame_word(payload);
		return frame->window != 0 ? MUX_FRAME_OK : MUX_FRAME_BAD_VALUE;
	case MUX_FRAME_RESET:
		frame->code = mux_frame_word(payload);
		return MUX_FRAME_OK;
	case MUX_FRAME_DATA:
	case MUX_FRAME_ATTACH:
	case MUX_FRAME_RECORD:
		frame->payload = payload;
		return MUX_FRAME_OK;
	case MUX_FRAME_EOF:
	case MUX_FRAME_PING:
	case MUX_FRAME_PONG:
		return MUX_FRAME_OK;
	}
	return MUX_FRAME_BAD_TYPE;
}

enum mux_frame_result
mux_frame_head(const uint8_t *bytes, size_t len, struct mux_frame *frame_r)
{
	*frame_r = (struct mux_frame){.payload = NULL};
	return len < MUX_FRAME_HEADER ? MUX_FRAME_MORE
				      : mux_frame_judge(bytes, frame_r);
}

enum mux_frame_result
mux_frame_decode(
    const uint8_t *bytes, size_t len, struct mux_frame *frame_r, size_t *used_r)
{
	enum mux_frame_result result = mux_frame_head(bytes, len, frame_r);

	*used_r = 0;
	if (result != MUX_FRAME_OK)
		return result;
	if (len - MUX_FRAME_HEADER < frame_r->length)
		return MUX_FRAME_MORE;
	*used_r = MUX_FRAME_HEADER + frame_r->length;
	return mux_frame_fields(bytes + MUX_FRAME_HEADER, frame_r);
}

void
mux_frame_header(
    const struct mux_frame *frame, uint8_t bytes_r[MUX_FRAME_HEADER])
{
	bytes_r[0] = (uint8_t)frame->type;
	bytes_r[1] = (uint8_t)frame->flags;
	bytes_r[2] = bytes_r[3] = 0;
	mux_frame_put(frame->stream, bytes_r + 4);
	mux_frame_put(frame->length, bytes_r + 8);
}

size_t
mux_frame_encode(const struct mux_frame *frame, uint8_t *bytes_r)
{
	struct mux_frame whole = *frame;
	uint8_t *payload = bytes_r + MUX_FRAME_HEADER;

	whole.length = mux_frame_shapes[frame->type].least;
	mux_frame_header(&whole, bytes_r);
	if (frame->type == MUX_FRAME_HELLO) {
		mux_frame_put(MUX_FRAME_MAGIC, payload);
		mux_frame_put(frame->version, payload + 4);
		mux_frame_put(frame->window, payload + 8);
	} else if (frame->type == MUX_FRAME_OPEN)
		mux_frame_put(
		    (uint32_t)frame->kind << 16 | frame->number, payload);
	else if (frame->type == MUX_FRAME_WINDOW)
		mux_frame_put(frame->window, payload);
	else if (frame->type == MUX_FRAME_RESET)
		mux_frame_put(frame->code, payload);
	return MUX_FRAME_HEADER + whole.length;
}

const char *
mux_frame_text(enum mux_frame_result result)
{
	static const char *const texts[] = {
	    [MUX_FRAME_OK] = "a frame",
	    [MUX_FRAME_MORE] = "half a frame",
	    [MUX_FRAME_BAD_TYPE] = "a frame of an unknown type",
	    [MUX_FRAME_BAD_FLAGS] = "a frame with unknown flags",
	    [MUX_FRAME_BAD_STREAM] = "a frame of a wrong stream",
	    [MUX_FRAME_BAD_LENGTH] = "a frame of a wrong length",
	    [MUX_FRAME_BAD_VALUE] = "a frame with a wrong value",
	};

	return texts[result];
}
