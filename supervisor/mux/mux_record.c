/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between datagrams with descriptors on control and frames without. Called
 * by mux_bridge; must never look into a record further than to its type and
 * number, nor let a record overtake the bytes it speaks of.
 */
#include "supervisor/mux/mux_record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_end.h"

void
mux_record_init(struct mux_bridge *bridge)
{
	for (unsigned i = 0; i < MUX_FRAME_ATTACHED_MAX; i++)
		bridge->arriving.attached[i] = -1;
}

static void
mux_record_left(struct mux_leaving *leaving)
{
	for (unsigned i = 0; i < leaving->attached_count; i++)
		(void)munmap(
		    leaving->attached[i].bytes, leaving->attached[i].len);
	leaving->attached_count = 0;
	leaving->busy = false;
}

static void
mux_record_arrived(struct mux_arriving *arriving)
{
	for (unsigned i = 0; i < MUX_FRAME_ATTACHED_MAX; i++) {
		fd_close(&arriving->attached[i]);
		arriving->attached_len[i] = 0;
	}
	for (size_t i = 0; i < arriving->fd_count; i++)
		fd_close(&arriving->fds[i]);
	arriving->attached_count = 0;
	arriving->fd_count = 0;
	arriving->held = arriving->gathered = false;
}

void
mux_record_clear(struct mux_bridge *bridge)
{
	mux_record_left(&bridge->leaving);
	mux_record_arrived(&bridge->arriving);
}

static struct init_record
mux_record_head(const uint8_t *bytes)
{
	struct init_record record;

	memcpy(&record, bytes, sizeof(record));
	return record;
}

/* Records about output come after it. */
static bool
mux_record_waits(const struct mux_bridge *bridge, const uint8_t *bytes)
{
	uint32_t type = mux_record_head(bytes).type;

	return (type == INIT_STATUS || type == INIT_EXPORTED) &&
	       mux_end_has_output(bridge);
}

/* ---- from control ---- */

/* A sealed memfd as bytes, so that they stay what they are. */
static bool
mux_record_map(struct mux_leaving *leaving, int fd)
{
	off_t size = fd_is_sealed(fd) ? lseek(fd, 0, SEEK_END) : -1;
	void *bytes;

	if (size <= 0 || size > (off_t)MUX_BRIDGE_ATTACHED_MAX)
		return false;
	bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	leaving->attached[leaving->attached_count].bytes = bytes;
	leaving->attached[leaving->attached_count].len = (size_t)size;
	leaving->attached[leaving->attached_count].done = 0;
	leaving->attached_count++;
	return true;
}

/* fd is taken. */
static bool
mux_record_tree(struct mux_bridge *bridge, bool import, int fd)
{
	struct mux_stream *stream =
	    mux_end_open(bridge, import ? MUX_KIND_TREE_IN : MUX_KIND_TREE_OUT,
		0, import ? fd : -1, import ? -1 : fd);

	if (stream == NULL)
		return false;
	bridge->leaving.stream = stream->id;
	return true;
}

/* What the descriptors of a record become. Those that are kept are taken
 * out of fds. */
static bool
mux_record_turn(struct mux_bridge *bridge, int *fds, size_t count)
{
	struct init_record record = mux_record_head(bridge->leaving.record);
	bool good = true;

	switch ((enum init_type)record.type) {
	case INIT_LISTENER:
		if (count != 1 || record.value >= INIT_LISTENERS_MAX ||
		    bridge->listeners[record.value] >= 0)
			return false;
		bridge->listeners[record.value] = mux_end_prepare(fds[0]);
		fds[0] = -1;
		return bridge->listeners[record.value] >= 0;
	case INIT_GO:
	case INIT_REPORT:
		for (size_t i = 0; i < count && good; i++)
			good = mux_record_map(&bridge->leaving, fds[i]);
		return good;
	case INIT_IMPORT:
	case INIT_EXPORT:
	case INIT_RESULTS:
		if (count != 1)
			return false;
		good =
		    mux_record_tree(bridge, record.type == INIT_IMPORT, fds[0]);
		fds[0] = -1;
		return good;
	case INIT_SETUP:
	case INIT_KILL:
	case INIT_BYE:
	case INIT_HELLO:
	case INIT_IMPORTED:
	case INIT_STATUS:
	case INIT_EXPORTED:
	case INIT_FAILED:
		return count == 0;
	case INIT_STREAMS: /* of another wiring */
		break;
	}
	return false;
}

void
mux_record_take(struct mux_bridge *bridge)
{
	struct mux_leaving *leaving = &bridge->leaving;
	int fds[MUX_FRAME_ATTACHED_MAX] = {-1, -1};
	size_t count = 0;
	enum result result = fd_receive(bridge->control, leaving->record,
	    sizeof(leaving->record), &leaving->len, fds, MUX_FRAME_ATTACHED_MAX,
	    &count);

	if (result == RESULT_NEED_MORE)
		return;
	if (result != RESULT_OK) {
		mux_bridge_close(bridge, MUX_BRIDGE_CLOSED, "control is gone");
		return;
	}
	leaving->busy = true;
	leaving->stream = 0;
	leaving->attached_count = 0;
	if (leaving->len < sizeof(struct init_record) ||
	    !mux_record_turn(bridge, fds, count))
		mux_bridge_close(bridge, MUX_BRIDGE_FAILED,
		    "a record of this side cannot be sent");
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]);
}

/* A header and len bytes; they have room. */
static void
mux_record_put(
    struct mux_bridge *bridge, const struct mux_frame *frame, const void *bytes)
{
	uint8_t *out = bridge->out + bridge->out_len;

	mux_frame_header(frame, out);
	memcpy(out + MUX_FRAME_HEADER, bytes, frame->length);
	bridge->out_len += MUX_FRAME_HEADER + frame->length;
}

static void
mux_record_put_attached(struct mux_bridge *bridge, unsigned index, size_t len)
{
	struct mux_frame frame = {
	    .type = MUX_FRAME_ATTACH, .flags = index, .length = (uint32_t)len};
	const uint8_t *bytes = bridge->leaving.attached[index].bytes;

	mux_record_put(
	    bridge, &frame, bytes + bridge->leaving.attached[index].done);
	bridge->leaving.attached[index].done += len;
}

void
mux_record_fill(struct mux_bridge *bridge)
{
	struct mux_leaving *leaving = &bridge->leaving;
	struct mux_frame frame = {.type = MUX_FRAME_RECORD,
	    .stream = leaving->stream,
	    .flags = leaving->attached_count,
	    .length = (uint32_t)leaving->len};

	if (!leaving->busy || (bridge->link.side == MUX_LINK_INSIDE &&
				  mux_record_waits(bridge, leaving->record)))
		return;
	for (unsigned i = 0; i < leaving->attached_count; i++) {
		while (leaving->attached[i].done < leaving->attached[i].len) {
			size_t left = leaving->attached[i].len -
				      leaving->attached[i].done;
			size_t room = MUX_BRIDGE_OUT - bridge->out_len;

			if (room <= MUX_FRAME_HEADER)
				return;
			room -= MUX_FRAME_HEADER;
			if (room > MUX_FRAME_DATA_MAX)
				room = MUX_FRAME_DATA_MAX;
			mux_record_put_attached(
			    bridge, i, left < room ? left : room);
		}
	}
	if (MUX_BRIDGE_OUT - bridge->out_len < MUX_FRAME_HEADER + leaving->len)
		return;
	mux_record_put(bridge, &frame, leaving->record);
	mux_record_left(leaving);
}

/* ---- to control ---- */

static void
mux_record_broken(struct mux_bridge *bridge, const char *what)
{
	mux_bridge_close(bridge, MUX_BRIDGE_BROKEN, what);
}

void
mux_record_attach(struct mux_bridge *bridge, const struct mux_frame *frame)
{
	struct mux_arriving *arriving = &bridge->arriving;
	int *fd = &arriving->attached[frame->flags];
	size_t *len = &arriving->attached_len[frame->flags];

	if (frame->length > MUX_BRIDGE_ATTACHED_MAX - *len) {
		mux_record_broken(bridge, "more attached than a record takes");
		return;
	}
	if (*fd < 0)
		*fd = memfd_create(
		    "agentnode-mux", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 ||
	    fd_write_all(*fd, frame->payload, frame->length) != RESULT_OK) {
		mux_bridge_close(
		    bridge, MUX_BRIDGE_FAILED, "no memory for an attachment");
		return;
	}
	*len += frame->length;
}

/* Which records may come from the other end, with how many attached. */
static bool
mux_record_is_theirs(
    const struct mux_bridge *bridge, const struct init_record *record)
{
	bool host = bridge->link.side == MUX_LINK_HOST;
	unsigned count = bridge->arriving.attached_count;

	switch ((enum init_type)record->type) {
	case INIT_SETUP:
	case INIT_KILL:
	case INIT_BYE:
	case INIT_IMPORT:
	case INIT_EXPORT:
	case INIT_RESULTS:
		return !host && count == 0;
	case INIT_GO:
		return !host && count >= 1;
	case INIT_HELLO:
	case INIT_LISTENER:
	case INIT_IMPORTED:
	case INIT_STATUS:
	case INIT_EXPORTED:
	case INIT_FAILED:
		return host && count == 0;
	case INIT_REPORT:
		return host && count == 1;
	case INIT_STREAMS:
		break;
	}
	return false;
}

/* Every attached descriptor that is announced, and no other. */
static bool
mux_record_seal(struct mux_arriving *arriving)
{
	for (unsigned i = 0; i < MUX_FRAME_ATTACHED_MAX; i++) {
		bool want = i < arriving->attached_count;

		if (want != (arriving->attached[i] >= 0))
			return false;
		if (want && fcntl(arriving->attached[i], F_ADD_SEALS,
				F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
				    F_SEAL_WRITE) != 0)
			return false;
	}
	return true;
}

void
mux_record_arrive(struct mux_bridge *bridge, const struct mux_frame *frame)
{
	struct mux_arriving *arriving = &bridge->arriving;
	struct init_record record;

	memcpy(arriving->record, frame->payload, frame->length);
	arriving->len = frame->length;
	arriving->stream = frame->stream;
	arriving->attached_count = frame->flags;
	if (frame->length < sizeof(record)) {
		mux_record_broken(bridge, "half a record");
		return;
	}
	record = mux_record_head(arriving->record);
	if (!mux_record_is_theirs(bridge, &record) ||
	    !mux_record_seal(arriving)) {
		mux_record_broken(bridge, "a record it must not send");
		return;
	}
	arriving->held = true;
	mux_record_deliver(bridge);
}

/* On the host a listener is a pair: connections are passed over it. */
static int
mux_record_listener(struct mux_bridge *bridge, uint32_t index)
{
	int pair[2];

	if (index >= INIT_LISTENERS_MAX || bridge->listeners[index] >= 0)
		return -1;
	if (fd_socketpair(pair) != RESULT_OK)
		return -1;
	bridge->listeners[index] = mux_end_prepare(pair[0]);
	return pair[1];
}

/* Inside: the end of the pipe that was made when the stream was opened. */
static int
mux_record_lent(struct mux_bridge *bridge, uint32_t id)
{
	struct mux_stream *stream =
	    id == 0 ? NULL : mux_link_find(&bridge->link, id);
	struct mux_end *end;
	int fd;

	if (stream == NULL)
		return -1;
	end = mux_end_of(bridge, stream);
	fd = end->lend;
	end->lend = -1;
	return fd;
}

/* The descriptors of a record, once. False: not all of them can be had. */
static bool
mux_record_gather(struct mux_bridge *bridge)
{
	struct mux_arriving *arriving = &bridge->arriving;
	struct init_record record = mux_record_head(arriving->record);
	size_t count = 0;
	bool good = true;

	if (record.type == INIT_LISTENER)
		arriving->fds[count++] =
		    mux_record_listener(bridge, record.value);
	else if (record.type == INIT_IMPORT || record.type == INIT_EXPORT ||
		 record.type == INIT_RESULTS)
		arriving->fds[count++] =
		    mux_record_lent(bridge, arriving->stream);
	while (count < arriving->attached_count) {
		arriving->fds[count] = arriving->attached[count];
		arriving->attached[count] = -1;
		count++;
	}
	for (size_t i = 0; i < count; i++)
		good = good && arriving->fds[i] >= 0;
	arriving->fd_count = count;
	arriving->gathered = true;
	return good;
}

void
mux_record_deliver(struct mux_bridge *bridge)
{
	struct mux_arriving *arriving = &bridge->arriving;
	enum result result = RESULT_BAD;

	if (!arriving->held || (bridge->link.side == MUX_LINK_HOST &&
				   mux_record_waits(bridge, arriving->record)))
		return;
	if (arriving->gathered || mux_record_gather(bridge))
		result = fd_send(bridge->control, arriving->record,
		    arriving->len, arriving->fds, arriving->fd_count);
	if (result == RESULT_NEED_MORE && errno != EAGAIN) {
		bridge->crowded = true;
		return;
	}
	mux_record_arrived(arriving);
	if (result == RESULT_CLOSED)
		mux_bridge_close(bridge, MUX_BRIDGE_CLOSED, "control is gone");
	else if (result != RESULT_OK)
		mux_record_broken(bridge, "a record nobody waits for");
}
