/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to the first of several judged addresses that answers (RFC 8305
 * sections 4 and 5). Called by egress-proxy and llm-key; must never look a
 * name up, keep a socket that lost, or call back before dial_start returned.
 */
#include "common/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"

#define DIAL_CONGESTION_MAX 16U /* TCP_CA_NAME_MAX */

struct dial_attempt {
	struct dial *dial;
	struct ip_addr address;
	struct event *on_writable;
	int fd;
};

struct dial {
	struct event_base *base;
	struct event *on_next, *on_deadline;
	dial_done *done;
	void *context;
	uint64_t attempt_delay_ms;
	uint16_t port;
	char congestion[DIAL_CONGESTION_MAX];
	int last_error;
	size_t count, next, active;
	struct dial_attempt attempts[];
};

void
dial_order(struct ip_addr *addresses, size_t count)
{
	struct ip_addr moved;
	uint8_t family = 6;
	size_t i, k;

	for (i = 0; i < count; i++) {
		for (k = i; k < count && addresses[k].family != family; k++)
			continue;
		if (k == count)
			return; /* one family is left, its order stays */
		moved = addresses[k];
		memmove(
		    &addresses[i + 1], &addresses[i], (k - i) * sizeof(moved));
		addresses[i] = moved;
		family = family == 6 ? 4 : 6;
	}
}

static void
dial_attempt_end(struct dial_attempt *attempt)
{
	if (attempt->on_writable == NULL)
		return;
	event_free(attempt->on_writable);
	attempt->on_writable = NULL;
	fd_close(&attempt->fd);
	attempt->dial->active--;
}

static void
dial_free(struct dial *dial)
{
	size_t i;

	for (i = 0; i < dial->next; i++)
		dial_attempt_end(&dial->attempts[i]);
	if (dial->on_next != NULL)
		event_free(dial->on_next);
	if (dial->on_deadline != NULL)
		event_free(dial->on_deadline);
	free(dial);
}

void
dial_cancel(struct dial **dial)
{
	if (*dial != NULL)
		dial_free(*dial);
	*dial = NULL;
}

/* The one end: the dial is gone before the caller hears of it. */
static void
dial_finish(struct dial *dial, enum result result, struct dial_attempt *winner)
{
	dial_done *done = dial->done;
	void *context = dial->context;
	int fd = -1, error = dial->last_error;
	struct ip_addr address = {0, {0}};

	if (winner != NULL) {
		fd = winner->fd;
		winner->fd = -1;
		address = winner->address;
		error = 0;
	}
	if (result == RESULT_TIMEOUT)
		error = ETIMEDOUT;
	dial_free(dial);
	done(result, fd, &address, error, context);
}

static void dial_on_writable(evutil_socket_t fd, short what, void *context);

static int
dial_open(const struct dial *dial, const struct ip_addr *address)
{
	struct sockaddr_storage storage;
	socklen_t len = ip_addr_to_sockaddr(address, dial->port, &storage);
	int fd = socket(storage.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return -1;
	if ((dial->congestion[0] != '\0' &&
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, dial->congestion,
		    (socklen_t)strlen(dial->congestion)) != 0) ||
	    (connect(fd, (struct sockaddr *)&storage, len) != 0 &&
		errno != EINPROGRESS && errno != EINTR))
		fd_close(&fd); /* keeps errno */
	return fd;
}

static enum result
dial_attempt_start(struct dial *dial, struct dial_attempt *attempt)
{
	attempt->fd = dial_open(dial, &attempt->address);
	if (attempt->fd < 0) {
		dial->last_error = errno;
		return RESULT_SYSTEM;
	}
	attempt->on_writable = event_new(
	    dial->base, attempt->fd, EV_WRITE, dial_on_writable, attempt);
	if (attempt->on_writable == NULL ||
	    event_add(attempt->on_writable, NULL) != 0) {
		dial->last_error = ENOMEM;
		if (attempt->on_writable != NULL)
			event_free(attempt->on_writable);
		attempt->on_writable = NULL;
		fd_close(&attempt->fd);
		return RESULT_NO_MEMORY;
	}
	dial->active++;
	return RESULT_OK;
}

/* Start the next attempt that can be started; arm the one after it. */
static void
dial_on_next(evutil_socket_t fd, short what, void *context)
{
	struct dial *dial = context;
	struct timeval delay = event_loop_timeval(dial->attempt_delay_ms);
	enum result result = RESULT_SYSTEM;

	(void)fd;
	(void)what;
	while (dial->next < dial->count && result != RESULT_OK) {
		dial->next++;
		result =
		    dial_attempt_start(dial, &dial->attempts[dial->next - 1]);
	}
	if (dial->active == 0)
		dial_finish(dial, RESULT_SYSTEM, NULL);
	else if (dial->next < dial->count)
		(void)event_add(dial->on_next, &delay);
}

static void
dial_on_writable(evutil_socket_t fd, short what, void *context)
{
	struct dial_attempt *attempt = context;
	struct dial *dial = attempt->dial;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)what;
	if (getsockopt((int)fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	if (error == 0) {
		dial_finish(dial, RESULT_OK, attempt);
		return;
	}
	dial->last_error = error;
	dial_attempt_end(attempt);
	/* A refusal need not wait for the delay (RFC 8305 section 5). */
	if (dial->next < dial->count || dial->active == 0)
		dial_on_next(-1, 0, dial);
}

static void
dial_on_deadline(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	dial_finish(context, RESULT_TIMEOUT, NULL);
}

static void
dial_fill(struct dial *dial, const struct ip_addr *addresses)
{
	struct ip_addr ordered[DIAL_ADDRESSES_MAX];
	size_t i;

	memcpy(ordered, addresses, dial->count * sizeof(ordered[0]));
	dial_order(ordered, dial->count);
	for (i = 0; i < dial->count; i++) {
		dial->attempts[i].dial = dial;
		dial->attempts[i].fd = -1;
		dial->attempts[i].address = ordered[i];
	}
}

enum result
dial_start(struct event_base *base, const struct ip_addr *addresses,
    size_t count, uint16_t port, const struct dial_options *options,
    dial_done *done, void *context, struct dial **dial_r)
{
	struct timeval deadline = event_loop_timeval(options->timeout_ms);
	struct dial *dial;

	*dial_r = NULL;
	if (count == 0 || count > DIAL_ADDRESSES_MAX)
		return RESULT_TOO_LONG;
	if (options->congestion != NULL &&
	    strlen(options->congestion) >= DIAL_CONGESTION_MAX)
		return RESULT_BAD;
	dial = calloc(1, sizeof(*dial) + count * sizeof(dial->attempts[0]));
	if (dial == NULL)
		return RESULT_NO_MEMORY;
	dial->base = base;
	dial->done = done;
	dial->context = context;
	dial->port = port;
	dial->count = count;
	dial->attempt_delay_ms = options->attempt_delay_ms == 0
				     ? DIAL_ATTEMPT_DELAY_MS
				     : options->attempt_delay_ms;
	if (options->congestion != NULL)
		memcpy(dial->congestion, options->congestion,
		    strlen(options->congestion) + 1);
	dial_fill(dial, addresses);
	dial->on_next = event_new(base, -1, 0, dial_on_next, dial);
	dial->on_deadline = event_new(base, -1, 0, dial_on_deadline, dial);
	if (dial->on_next == NULL || dial->on_deadline == NULL ||
	    event_add(dial->on_deadline, &deadline) != 0) {
		dial_free(dial);
		return RESULT_NO_MEMORY;
	}
	event_active(dial->on_next, EV_TIMEOUT, 0);
	*dial_r = dial;
	return RESULT_OK;
}
