/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of all lanes on one socket. Called by lane_client.c and by
 * key/key_lane_io.c. Must never hand on a record before the messages that
 * were sent before it, nor look into what records hold.
 */
#include "llm-broker/lane_trunk.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

#define LANE_TRUNK_READ 65536U  /* bytes of one read */
#define LANE_TRUNK_FULL 49152U  /* waiting bytes that leave at once */
#define LANE_TRUNK_KEEP 131072U /* of memory that stays for the next */
#define LANE_TRUNK_TURNS 16U    /* reads before others have theirs */
#define LANE_TRUNK_IN_MAX \
	(LANE_TRUNK_READ + sizeof(struct lane_record) + LANE_TRUNK_RECORD_MAX)
#define LANE_TRUNK_OUT_MAX ((size_t)LANE_COUNT_MAX * LANE_TRUNK_RECORD_MAX)

void
lane_trunk_init(struct lane_trunk *trunk, struct event_base *base,
    const struct lane_trunk_handlers *handlers, void *context)
{
	memset(trunk, 0, sizeof(*trunk));
	trunk->base = base;
	trunk->handlers = handlers;
	trunk->context = context;
	trunk->fd = -1;
	buffer_init(&trunk->in, LANE_TRUNK_IN_MAX);
	buffer_init(&trunk->out, LANE_TRUNK_OUT_MAX);
	for (size_t i = 0; i < LANE_TRUNK_BUCKETS; i++)
		LIST_INIT(&trunk->seats[i]);
}

/* No more of it; the seats stay, so that their lanes can leave. */
static void
lane_trunk_shut(struct lane_trunk *trunk)
{
	if (trunk->fd < 0)
		return;
	(void)event_del(&trunk->read);
	(void)event_del(&trunk->room);
	(void)event_del(&trunk->flush);
	fd_close(&trunk->fd);
	buffer_free(&trunk->in);
	buffer_free(&trunk->out);
	trunk->is_due = trunk->is_held = false;
}

void
lane_trunk_close(struct lane_trunk *trunk)
{
	lane_trunk_shut(trunk);
	trunk->seated = trunk->told = trunk->heard = 0;
}

/* what: NULL, or how it broke the rules. */
static void
lane_trunk_end(struct lane_trunk *trunk, const char *what)
{
	lane_trunk_shut(trunk);
	trunk->handlers->on_end(what, trunk->context);
}

/* --- seats --- */

void
lane_trunk_seat(struct lane_trunk *trunk, struct lane_seat *seat)
{
	seat->number = 0;
	if (trunk->seated == UINT32_MAX) { /* 0 is nobody's, 1 may still be */
		lane_trunk_end(trunk, "no number is left for a lane");
		return;
	}
	seat->number = ++trunk->seated;
	LIST_INSERT_HEAD(
	    &trunk->seats[seat->number % LANE_TRUNK_BUCKETS], seat, link);
}

void
lane_trunk_unseat(struct lane_seat *seat)
{
	if (seat->number == 0)
		return;
	LIST_REMOVE(seat, link);
	seat->number = 0;
}

struct lane_seat *
lane_trunk_find(struct lane_trunk *trunk, uint32_t number)
{
	struct lane_seat *seat;

	LIST_FOREACH(seat, &trunk->seats[number % LANE_TRUNK_BUCKETS], link)
	if (seat->number == number)
		return seat;
	return NULL;
}

/* --- in --- */

/* One whole record of what is there. False: there is none, or not yet. */
static bool
lane_trunk_take(struct lane_trunk *trunk)
{
	const char *bytes = (const char *)buffer_bytes_borrow(&trunk->in);
	struct lane_record record;
	struct lane_seat *seat;

	if (trunk->in.len < sizeof(record))
		return false;
	memcpy(&record, bytes, sizeof(record));
	if (record.magic != LANE_TRUNK_MAGIC || record.len == 0 ||
	    record.len > LANE_TRUNK_RECORD_MAX) {
		lane_trunk_end(trunk, "a record that cannot be");
		return false;
	}
	if (trunk->in.len < sizeof(record) + record.len)
		return false;
	trunk->is_held = (int32_t)(record.after - trunk->heard) > 0;
	if (trunk->is_held)
		return false;
	seat = lane_trunk_find(trunk, record.lane);
	if (seat != NULL)
		trunk->handlers->on_bytes(
		    seat, bytes + sizeof(record), record.len);
	else if (record.lane == 0 || record.lane > trunk->seated)
		lane_trunk_end(trunk, "a record of no lane");
	if (trunk->fd < 0)
		return false;
	buffer_consume(&trunk->in, sizeof(record) + record.len);
	return true;
}

/* Every whole record that may be taken. What is left is held, or less than
 * one, so that there is room for a read. */
static void
lane_trunk_take_all(struct lane_trunk *trunk)
{
	while (trunk->fd >= 0 && lane_trunk_take(trunk))
		continue;
}

/* One read. False: nothing more is there. */
static bool
lane_trunk_receive(struct lane_trunk *trunk)
{
	uint8_t *space;
	size_t room;
	ssize_t got;

	if (buffer_reserve(&trunk->in, LANE_TRUNK_READ, &space, &room) !=
	    RESULT_OK) {
		lane_trunk_end(trunk, "out of memory");
		return false;
	}
	do
		got = recv(trunk->fd, space, room, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (got <= 0) {
		lane_trunk_end(trunk, NULL);
		return false;
	}
	buffer_commit(&trunk->in, (size_t)got);
	return (size_t)got == room;
}

void
lane_trunk_drain(struct lane_trunk *trunk)
{
	bool more = true;

	if (trunk->is_reading || trunk->is_held || trunk->fd < 0)
		return;
	trunk->is_reading = true;
	lane_trunk_take_all(trunk); /* what was held */
	for (unsigned turn = 0; more && turn < LANE_TRUNK_TURNS; turn++) {
		if (trunk->fd < 0 || trunk->is_held)
			break;
		more = lane_trunk_receive(trunk);
		lane_trunk_take_all(trunk);
	}
	trunk->is_reading = false;
	if (trunk->fd < 0)
		return;
	if (trunk->in.len == 0)
		buffer_clear(&trunk->in);
	if (trunk->is_held) /* what it waits for comes on another socket */
		(void)event_del(&trunk->read);
}

static void
lane_trunk_on_read(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	lane_trunk_drain(context);
}

void
lane_trunk_heard(struct lane_trunk *trunk)
{
	trunk->heard++;
	if (!trunk->is_held)
		return;
	trunk->is_held = false;
	(void)event_add(&trunk->read, NULL);
	event_active(&trunk->read, EV_READ, 0);
}

void
lane_trunk_told(struct lane_trunk *trunk)
{
	trunk->told++;
}

/* --- out --- */

void
lane_trunk_flush(struct lane_trunk *trunk)
{
	struct buffer *out = &trunk->out;
	ssize_t sent = 1;

	trunk->is_due = false;
	while (trunk->fd >= 0 && out->len > 0 && sent > 0) {
		do
			sent = send(trunk->fd, buffer_bytes_borrow(out),
			    out->len, MSG_NOSIGNAL | MSG_DONTWAIT);
		while (sent < 0 && errno == EINTR);
		if (sent > 0)
			buffer_consume(out, (size_t)sent);
	}
	if (out->len > 0 && trunk->fd >= 0)
		(void)event_add(&trunk->room, NULL); /* an end is read */
	else if (out->capacity > LANE_TRUNK_KEEP)
		buffer_free(out);
	else
		buffer_clear(out);
}

static void
lane_trunk_on_flush(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	lane_trunk_flush(context);
}

enum result
lane_trunk_put(struct lane_trunk *trunk, const struct lane_seat *seat,
    const struct iovec *parts, size_t count)
{
	struct lane_record record = {
	    LANE_TRUNK_MAGIC, seat->number, 0, trunk->told};
	uint8_t *space;
	size_t room, len = sizeof(record);
	enum result result;

	for (size_t i = 0; i < count; i++)
		len += parts[i].iov_len;
	record.len = (uint32_t)(len - sizeof(record));
	if (trunk->fd < 0)
		return RESULT_CLOSED;
	if (len > sizeof(record) + LANE_TRUNK_RECORD_MAX ||
	    len > trunk->out.max - trunk->out.len)
		return RESULT_TOO_LONG;
	result = buffer_reserve(&trunk->out, len, &space, &room);
	if (result != RESULT_OK)
		return result;
	memcpy(space, &record, sizeof(record));
	space += sizeof(record);
	for (size_t i = 0; i < count; i++) {
		if (parts[i].iov_len > 0)
			memcpy(space, parts[i].iov_base, parts[i].iov_len);
		space += parts[i].iov_len;
	}
	buffer_commit(&trunk->out, len);
	if (trunk->out.len >= LANE_TRUNK_FULL)
		lane_trunk_flush(trunk);
	else if (!trunk->is_due)
		event_active(&trunk->flush, EV_WRITE, 0);
	trunk->is_due = trunk->out.len > 0;
	return RESULT_OK;
}

enum result
lane_trunk_open(struct lane_trunk *trunk, int fd, int priority)
{
	trunk->fd = fd;
	if (event_assign(&trunk->read, trunk->base, fd, EV_READ | EV_PERSIST,
		lane_trunk_on_read, trunk) != 0 ||
	    event_assign(&trunk->room, trunk->base, fd, EV_WRITE,
		lane_trunk_on_flush, trunk) != 0 ||
	    event_assign(&trunk->flush, trunk->base, -1, 0, lane_trunk_on_flush,
		trunk) != 0)
		return RESULT_SYSTEM;
	if (event_priority_set(&trunk->read, priority) != 0 ||
	    event_priority_set(&trunk->room, priority) != 0 ||
	    event_priority_set(&trunk->flush, priority) != 0 ||
	    event_add(&trunk->read, NULL) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}
