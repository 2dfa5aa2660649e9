/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the broker to the upstream. Called by key_lane_io.c. Must never hold
 * more than the trunk may bring of one call, nor take a byte behind a body
 * for a byte of it.
 */
#include "llm-broker/key/key_lane_up.h"

#include <errno.h>
#include <sys/socket.h>

/* More of the lane may be taken: the upstream took what it was given. */
static bool
key_lane_up_may_feed(const struct key_lane_io *io)
{
	return key_lane_wants(&io->lane) &&
	       (io->upstream == NULL || io->lane.state != KEY_LANE_BODY ||
		   upstream_unsent(io->upstream) == 0);
}

bool
key_lane_up_reads(const struct key_lane_io *io)
{
	return key_lane_is_apart(&io->lane) && key_lane_up_may_feed(io);
}

/* One read; false: nothing is there. */
static bool
key_lane_up_read(struct key_lane_io *io)
{
	char *scratch = io->world->scratch;
	size_t room = io->lane.apart < KEY_LANE_UP_READ ? (size_t)io->lane.apart
							: KEY_LANE_UP_READ;
	ssize_t got;

	if (io->is_drained)
		return false;
	do
		got = recv(io->fd, scratch, room, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		io->is_drained = true;
		io->is_short = false;
		if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			key_lane_gone(&io->lane, "the broker closed it");
		return false;
	}
	if ((size_t)got < room && !io->is_hung_up)
		io->is_drained = io->is_short = true;
	key_lane_take_apart(&io->lane, scratch, (size_t)got);
	/* Its end came with the last of the body, and comes no more. */
	if (io->is_hung_up && io->lane.apart == 0)
		event_active(&io->on_read, EV_CLOSED, 0);
	return true;
}

/* Offer what waits; its memory goes when nothing does. */
static void
key_lane_up_offer(struct key_lane_io *io)
{
	size_t taken;

	do {
		taken = key_lane_take(&io->lane,
		    (const char *)buffer_bytes_borrow(&io->in), io->in.len);
		buffer_consume(&io->in, taken);
	} while (taken > 0 && io->in.len > 0 && key_lane_up_may_feed(io));
	if (io->in.len == 0)
		buffer_free(&io->in);
}

void
key_lane_up_feed(struct key_lane_io *io)
{
	unsigned turns = 0;

	if (io->in.len > 0 && key_lane_up_may_feed(io))
		key_lane_up_offer(io);
	while (key_lane_up_reads(io)) {
		if (!key_lane_up_read(io))
			return;
		if (++turns == KEY_LANE_IO_TURNS) {
			key_lane_io_again(io);
			return;
		}
	}
	if (turns > 0 && io->in.len > 0 && key_lane_up_may_feed(io))
		key_lane_up_offer(io); /* what is behind the body */
}

void
key_lane_up_take(struct key_lane_io *io, const char *bytes, size_t len)
{
	size_t taken = 0;

	if (io->in.len == 0 && key_lane_up_may_feed(io))
		taken = key_lane_take(&io->lane, bytes, len);
	if (taken < len &&
	    buffer_append(&io->in, bytes + taken, len - taken) != RESULT_OK)
		key_lane_gone(&io->lane, "out of memory");
}
