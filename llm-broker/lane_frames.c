/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What llm-key says: frames of a lane, which come in any pieces, and first
 * frames, which come whole. Called by lane_client.c and the trunk. Must
 * never hand a byte of an earlier call to the next one.
 */
#include "llm-broker/lane_frames.h"

#include <stddef.h>
#include <string.h>

#include "common/ipc.h"
#include "common/log.h"

_Noreturn void
lane_frames_broken(const char *what)
{
	log_fatal(IPC_EXIT_CRASH, "lane_broken", what);
}

/* A whole header is there: does it belong, and to whom? */
static void
lane_frames_frame(struct lane *lane)
{
	const struct lane_frame *frame = &lane->frame;
	const struct lane_client_handlers *handlers = &lane->client->handlers;
	bool late = frame->call != lane->number || lane->owner == NULL;

	lane->frame_len = 0;
	if (frame->magic != LANE_MAGIC || frame->call == 0 ||
	    frame->call > lane->number)
		lane_frames_broken("a frame with a wrong mark or number");
	switch ((enum lane_type)frame->type) {
	case LANE_DATA:
		if (frame->value == 0 || frame->value > LANE_DATA_MAX)
			lane_frames_broken("a data frame of no good length");
		lane->left = frame->value;
		return;
	case LANE_EOF:
		if (!late)
			handlers->on_end(lane->owner);
		return;
	case LANE_FAILED:
		if (!late)
			handlers->on_failed(
			    lane->owner, (enum lane_failure)frame->value);
		return;
	case LANE_OPEN:
	case LANE_RELEASE:
		break;
	}
	lane_frames_broken("a frame of the wrong direction");
}

/* Content: to the owner of its call, or nowhere. Returns bytes used. */
static size_t
lane_frames_data(struct lane *lane, const char *bytes, size_t len)
{
	size_t count = len < lane->left ? len : lane->left;

	lane->left -= count;
	if (lane->owner != NULL && lane->frame.call == lane->number)
		lane->client->handlers.on_data(lane->owner, bytes, count);
	return count;
}

void
lane_frames_parse(struct lane *lane, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len && !lane->dropped) {
		size_t want = sizeof(lane->frame) - lane->frame_len;
		size_t count = len - at < want ? len - at : want;

		if (lane->left > 0) {
			at += lane_frames_data(lane, bytes + at, len - at);
			continue;
		}
		memcpy(
		    (char *)&lane->frame + lane->frame_len, bytes + at, count);
		lane->frame_len += count;
		at += count;
		if (lane->frame_len == sizeof(lane->frame))
			lane_frames_frame(lane);
	}
}

/* The first frame of an answer, whole. */
static void
lane_frames_first(struct lane *lane, const struct lane_frame *frame,
    const char *bytes, size_t len)
{
	const struct lane_client_handlers *handlers = &lane->client->handlers;

	if (frame->type == LANE_DATA && frame->value > 0 && frame->value == len)
		handlers->on_data(lane->owner, bytes, len);
	else if (frame->type == LANE_FAILED && len == 0)
		handlers->on_failed(
		    lane->owner, (enum lane_failure)frame->value);
	else if (frame->type == LANE_EOF && len == 0)
		handlers->on_end(lane->owner);
	else
		lane_frames_broken("a first frame that cannot be");
}

void
lane_frames_on_record(struct lane_seat *seat, const char *bytes, size_t len)
{
	struct lane *lane =
	    (struct lane *)(void *)((char *)seat - offsetof(struct lane, seat));
	struct lane_client *client = lane->client;
	void *owner = lane->owner;
	struct lane_frame frame;
	bool missed;

	if (len < sizeof(frame))
		lane_frames_broken("a record without a frame");
	memcpy(&frame, bytes, sizeof(frame));
	if (frame.magic != LANE_MAGIC || frame.call == 0 ||
	    frame.call > lane->number)
		lane_frames_broken("a frame with a wrong mark or number");
	if (owner == NULL || frame.call != lane->number)
		return; /* late */
	if (lane->heard || lane->begun)
		lane_frames_broken("a first frame that is not the first");
	lane->heard = lane->reading = 1;
	lane_frames_first(
	    lane, &frame, bytes + sizeof(frame), len - sizeof(frame));
	lane->reading = 0;
	missed = lane->missed && lane->owner == owner;
	if (lane->dropped)
		lane_client_close(lane);
	/* What it has of it now, it moves on. */
	client->handlers.on_ready(owner, missed, false);
}
