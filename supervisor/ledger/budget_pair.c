/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of records on the event loop. Called by both ends of a pair. It
 * must never block, grow without bound, or tell anything after the end.
 */
#include "supervisor/ledger/budget_pair.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fd.h"
#include "supervisor/ledger/budget_wire.h"

#define BUDGET_PAIR_RECORD_MAX 512U
#define BUDGET_PAIR_WAITING 2048U /* records that the socket did not take */
#define BUDGET_PAIR_TURNS 4U      /* datagrams before others have theirs */

struct budget_pair {
	int fd;
	struct budget_pair_sizes sizes;
	struct budget_pair_handlers handlers;
	void *context;
	struct event *on_read, *on_write;
	struct event *on_crowd; /* of which no event of the socket tells */
	struct buffer out;
	unsigned busy; /* inside a handler: the memory must stay */
	bool is_ended, is_freed;
};

static void
budget_pair_destroy(struct budget_pair *pair)
{
	if (pair->on_read != NULL)
		event_free(pair->on_read);
	if (pair->on_write != NULL)
		event_free(pair->on_write);
	if (pair->on_crowd != NULL)
		event_free(pair->on_crowd);
	fd_close(&pair->fd);
	buffer_free(&pair->out);
	free(pair);
}

void
budget_pair_free(struct budget_pair **pair)
{
	struct budget_pair *gone = *pair;

	*pair = NULL;
	if (gone == NULL)
		return;
	if (!gone->is_ended)
		(void)budget_pair_flush(gone);
	gone->is_ended = gone->is_freed = true;
	(void)event_del(gone->on_read);
	(void)event_del(gone->on_write);
	(void)event_del(gone->on_crowd);
	if (gone->busy == 0)
		budget_pair_destroy(gone);
}

static void
budget_pair_leave(struct budget_pair *pair)
{
	if (--pair->busy == 0 && pair->is_freed)
		budget_pair_destroy(pair);
}

/* Only from the loop, with busy held by the caller. */
static void
budget_pair_end(struct budget_pair *pair, enum result why, const char *detail)
{
	if (pair->is_ended)
		return;
	pair->is_ended = true;
	(void)event_del(pair->on_read);
	(void)event_del(pair->on_write);
	(void)event_del(pair->on_crowd);
	pair->handlers.on_end(why, detail, pair->context);
}

static void
budget_pair_tell(struct budget_pair *pair, const char *bytes, size_t len)
{
	if (len % pair->sizes.in != 0) {
		budget_pair_end(
		    pair, RESULT_BAD, "a datagram is not of whole records");
		return;
	}
	for (size_t at = 0; at < len && !pair->is_ended; at += pair->sizes.in)
		pair->handlers.on_record(bytes + at, pair->context);
	if (!pair->is_ended)
		pair->handlers.on_pause(pair->context);
}

/* One datagram. RESULT_OK: there may be more. */
static enum result
budget_pair_receive(struct budget_pair *pair)
{
	/* Aligned for every record. */
	uint64_t space[BUDGET_WIRE_BATCH * BUDGET_PAIR_RECORD_MAX / 8];
	size_t full = BUDGET_WIRE_BATCH * pair->sizes.in, len, fds;
	enum result result =
	    fd_receive(pair->fd, space, full, &len, NULL, 0, &fds);

	if (result == RESULT_OK)
		budget_pair_tell(pair, (const char *)space, len);
	else if (result == RESULT_EOF)
		budget_pair_end(
		    pair, result, "the other side closed its socket");
	else if (result == RESULT_TOO_LONG)
		budget_pair_end(pair, RESULT_BAD,
		    "a datagram has too many records, or a descriptor");
	else if (result != RESULT_NEED_MORE)
		budget_pair_end(pair, RESULT_SYSTEM, strerror(errno));
	return result == RESULT_OK && len == full ? RESULT_OK
						  : RESULT_NEED_MORE;
}

static void
budget_pair_on_read(evutil_socket_t fd, short what, void *context)
{
	struct budget_pair *pair = context;

	(void)fd;
	(void)what;
	pair->busy++;
	for (unsigned turn = 0; turn < BUDGET_PAIR_TURNS && !pair->is_ended;
	     turn++)
		if (budget_pair_receive(pair) != RESULT_OK)
			break;
	budget_pair_leave(pair);
}

static void
budget_pair_on_write(evutil_socket_t fd, short what, void *context)
{
	struct budget_pair *pair = context;

	(void)fd;
	(void)what;
	(void)event_del(pair->on_write);
	(void)budget_pair_flush(pair);
}

/* What the kernel has no memory for passes, without an event (common/fd.h):
 * a socket that can be written would only be tried without end. */
static void
budget_pair_wait(struct budget_pair *pair)
{
	static const struct timeval moment = {0, 10000};

	if (errno == EAGAIN)
		(void)event_add(pair->on_write, NULL);
	else
		(void)event_add(pair->on_crowd, &moment);
}

enum result
budget_pair_flush(struct budget_pair *pair)
{
	size_t full = BUDGET_WIRE_BATCH * pair->sizes.out;

	while (pair->out.len > 0) {
		size_t len = pair->out.len < full ? pair->out.len : full;
		enum result result = fd_send(
		    pair->fd, buffer_bytes_borrow(&pair->out), len, NULL, 0);

		if (result == RESULT_NEED_MORE) {
			budget_pair_wait(pair);
			return RESULT_OK;
		}
		if (result != RESULT_OK) {
			/* What it said last is still to be read, and then
			 * its end. */
			buffer_clear(&pair->out);
			return RESULT_CLOSED;
		}
		buffer_consume(&pair->out, len);
	}
	return RESULT_OK;
}

enum result
budget_pair_put(struct budget_pair *pair, const void *record)
{
	enum result result;

	if (pair->is_ended)
		return RESULT_CLOSED;
	result = buffer_append(&pair->out, record, pair->sizes.out);
	if (result == RESULT_OK &&
	    pair->out.len == BUDGET_WIRE_BATCH * pair->sizes.out)
		result = budget_pair_flush(pair);
	return result;
}

enum result
budget_pair_new(struct event_base *base, int fd,
    const struct budget_pair_sizes *sizes,
    const struct budget_pair_handlers *handlers, void *context,
    struct budget_pair **pair_r)
{
	struct budget_pair *pair = calloc(1, sizeof(*pair));

	*pair_r = NULL;
	if (pair == NULL) {
		fd_close(&fd);
		return RESULT_NO_MEMORY;
	}
	pair->fd = fd;
	pair->sizes = *sizes;
	pair->handlers = *handlers;
	pair->context = context;
	buffer_init(&pair->out, BUDGET_PAIR_WAITING * sizes->out);
	pair->on_read = event_new(
	    base, fd, EV_READ | EV_PERSIST, budget_pair_on_read, pair);
	pair->on_write = event_new(
	    base, fd, EV_WRITE | EV_PERSIST, budget_pair_on_write, pair);
	pair->on_crowd = event_new(base, -1, 0, budget_pair_on_write, pair);
	if (sizes->in > BUDGET_PAIR_RECORD_MAX || pair->on_read == NULL ||
	    pair->on_write == NULL || pair->on_crowd == NULL ||
	    fd_set_nonblocking(fd, true) != RESULT_OK ||
	    event_add(pair->on_read, NULL) != 0) {
		budget_pair_destroy(pair);
		return RESULT_SYSTEM;
	}
	*pair_r = pair;
	return RESULT_OK;
}
