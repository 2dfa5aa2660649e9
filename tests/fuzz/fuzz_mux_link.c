/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the link, at either end: whatever they are, they are frames or
 * end it, and what is kept stays within its bounds. What this end does of
 * its own is in the bytes, too, between the frames.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/mux/mux_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mux_link fuzz_mux_link;

static void
fuzz_mux_link_check(const struct mux_link *link)
{
	uint64_t waits = 0;
	uint32_t borrowed = 0;
	unsigned used = 0;

	for (unsigned i = 0; i < MUX_LINK_STREAMS; i++) {
		const struct mux_stream *stream = &link->streams[i];

		if (stream->id == 0)
			continue;
		used++;
		waits += stream->waiting;
		borrowed += stream->window - MUX_LINK_WINDOW;
		if (!stream->resetting &&
		    stream->may_come + stream->waiting + stream->taken !=
			stream->window)
			abort();
	}
	if (used != link->used || borrowed + link->pool != MUX_LINK_POOL ||
	    waits >
		(uint64_t)MUX_LINK_STREAMS * MUX_LINK_WINDOW + MUX_LINK_POOL)
		abort();
}

/* What the bridge would do with it. */
static void
fuzz_mux_link_act(struct mux_link *link, struct mux_stream *stream, uint8_t act)
{
	if (stream == NULL || stream->id == 0)
		return;
	stream->ready = (act & 1) != 0;
	if ((act & 2) != 0)
		mux_link_taken(stream, stream->waiting);
	if ((act & 4) != 0)
		mux_link_eof(stream);
	if ((act & 8) != 0)
		mux_link_reset(stream, MUX_LINK_GONE);
	if (mux_link_is_over(stream))
		mux_link_free(link, stream);
}

/* All there is to say is said, as frames that can be read. */
static void
fuzz_mux_link_say(struct mux_link *link)
{
	uint8_t bytes[MUX_FRAME_CONTROL_MAX];
	struct mux_stream *stream;
	struct mux_frame frame;
	size_t len, used, rounds = 0;
	uint32_t most;

	while ((len = mux_link_say(link, bytes)) > 0) {
		if (mux_frame_decode(bytes, len, &frame, &used) !=
			MUX_FRAME_OK ||
		    used != len || rounds++ > 10000)
			abort();
	}
	stream = mux_link_turn(link, &most);
	if (stream == NULL)
		return;
	if (most == 0 || most > stream->may_send)
		abort();
	mux_link_sent(stream, most);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mux_link *link = &fuzz_mux_link;
	struct mux_frame frame;
	struct mux_stream *stream;
	enum mux_link_event event;
	size_t used;
	uint64_t now = 0, next;

	if (size < 2)
		return 0;
	mux_link_init(link, data[0] & 1 ? MUX_LINK_HOST : MUX_LINK_INSIDE, now);
	data++;
	size--;
	while (size > 1) {
		uint8_t act = data[0];

		if (mux_frame_decode(data + 1, size - 1, &frame, &used) !=
			MUX_FRAME_OK ||
		    mux_link_receive(link, &frame, ++now, &event, &stream) !=
			MUX_LINK_OK)
			break;
		fuzz_mux_link_act(link, stream, act);
		if ((act & 16) != 0)
			(void)mux_link_open(link, MUX_KIND_TREE_OUT, 0);
		if ((act & 32) != 0)
			fuzz_mux_link_say(link);
		fuzz_mux_link_check(link);
		data += 1 + used;
		size -= 1 + used;
	}
	fuzz_mux_link_say(link);
	(void)mux_link_tick(link, now + MUX_LINK_PING_MS, &next);
	fuzz_mux_link_check(link);
	return 0;
}
