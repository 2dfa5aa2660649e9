/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches the first of several judged addresses through a corporate proxy.
 * Called by session_net.c. Must never name anything but a judged address,
 * pass on a byte before the proxy said 2xx, or call back before
 * parent_dial_start returned.
 */
#include "egress-proxy/parent_dial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/http_head.h"

struct parent_dial_attempt {
	struct parent_dial *parent;
	struct ip_addr target;
	struct dial *dial;      /* to the proxy, while it runs; */
	struct event *on_bytes; /* then its answer is due */
	struct buffer answer;
	int fd;
	bool running;
};

struct parent_dial {
	struct event_base *base;
	struct event *on_next;
	parent_dial_done *done;
	void *context;
	struct ip_addr proxies[DIAL_ADDRESSES_MAX];
	size_t proxy_count;
	uint16_t proxy_port, target_port;
	struct dial_options options;
	enum result last;
	size_t count, next, active;
	struct parent_dial_attempt attempts[];
};

/* Give back what it has, if it was started and has not ended. */
static void
parent_dial_attempt_end(struct parent_dial_attempt *attempt)
{
	if (!attempt->running)
		return;
	attempt->running = false;
	dial_cancel(&attempt->dial);
	if (attempt->on_bytes != NULL)
		event_free(attempt->on_bytes);
	attempt->on_bytes = NULL;
	buffer_free(&attempt->answer);
	fd_close(&attempt->fd);
	attempt->parent->active--;
}

static void
parent_dial_free(struct parent_dial *parent)
{
	for (size_t i = 0; i < parent->next; i++)
		parent_dial_attempt_end(&parent->attempts[i]);
	if (parent->on_next != NULL)
		event_free(parent->on_next);
	free(parent);
}

void
parent_dial_cancel(struct parent_dial **parent)
{
	if (*parent != NULL)
		parent_dial_free(*parent);
	*parent = NULL;
}

/* The one end: all is gone before the caller hears of it. */
static void
parent_dial_finish(
    struct parent_dial *parent, struct parent_dial_attempt *winner)
{
	parent_dial_done *done = parent->done;
	void *context = parent->context;
	enum result result = winner != NULL ? RESULT_OK : parent->last;
	struct ip_addr target = {0, {0}};
	struct buffer rest;
	int fd = -1;

	buffer_init(&rest, 0);
	if (winner != NULL) {
		target = winner->target;
		rest = winner->answer;
		fd = winner->fd;
		winner->fd = -1;
		buffer_init(&winner->answer, 0);
	}
	parent_dial_free(parent);
	done(result, fd, &target, &rest, context);
	buffer_free(&rest);
}

static void parent_dial_on_next(evutil_socket_t fd, short what, void *context);

/* This one leads nowhere: the next need not wait (RFC 8305 section 5). */
static void
parent_dial_attempt_fail(
    struct parent_dial_attempt *attempt, enum result result)
{
	struct parent_dial *parent = attempt->parent;

	parent->last = result;
	parent_dial_attempt_end(attempt);
	if (parent->next < parent->count || parent->active == 0)
		parent_dial_on_next(-1, 0, parent);
}

/* A whole answer, or more is due. */
static void
parent_dial_take_answer(struct parent_dial_attempt *attempt)
{
	struct buffer *answer = &attempt->answer;
	struct http_head head;
	enum http_head_status status;

	status = http_head_parse_response(
	    (const char *)buffer_bytes_borrow(answer), answer->len, &head);
	if (status == HTTP_HEAD_NEED_MORE && answer->len < answer->max)
		return;
	if (status != HTTP_HEAD_OK || head.status < 200 || head.status > 299) {
		parent_dial_attempt_fail(attempt, RESULT_REFUSED);
		return;
	}
	buffer_consume(answer, head.head_len);
	parent_dial_finish(attempt->parent, attempt);
}

static void
parent_dial_on_bytes(evutil_socket_t fd, short what, void *context)
{
	struct parent_dial_attempt *attempt = context;
	uint8_t *space;
	size_t room;
	ssize_t count;

	(void)what;
	if (buffer_reserve(&attempt->answer, HTTP_HEAD_BYTES_MAX, &space,
		&room) != RESULT_OK) {
		parent_dial_attempt_fail(attempt, RESULT_NO_MEMORY);
		return;
	}
	count = recv((int)fd, space, room, 0);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		parent_dial_attempt_fail(attempt, RESULT_CLOSED);
		return;
	}
	buffer_commit(&attempt->answer, (size_t)count);
	parent_dial_take_answer(attempt);
}

/* The question is short and the socket new: all of it goes, or it is no
 * good. */
static enum result
parent_dial_ask(const struct parent_dial_attempt *attempt)
{
	bool v6 = attempt->target.family == 6;
	char address[IP_ADDR_TEXT_MAX], authority[IP_ADDR_TEXT_MAX + 8];
	char ask[2 * sizeof(authority) + 64];
	ssize_t count;
	int len;

	ip_addr_text(&attempt->target, address);
	(void)snprintf(authority, sizeof(authority), v6 ? "[%s]:%u" : "%s:%u",
	    address, attempt->parent->target_port);
	len = snprintf(ask, sizeof(ask),
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
	do
		count = send(attempt->fd, ask, (size_t)len, MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	return count == len ? RESULT_OK : RESULT_CLOSED;
}

/* Connected to the proxy, or not. */
static void
parent_dial_on_dialed(enum result result, int fd, const struct ip_addr *address,
    int error, void *context)
{
	struct parent_dial_attempt *attempt = context;

	(void)address;
	(void)error;
	attempt->dial = NULL;
	attempt->fd = fd;
	if (result == RESULT_OK) {
		attempt->on_bytes = event_new(attempt->parent->base, fd,
		    EV_READ | EV_PERSIST, parent_dial_on_bytes, attempt);
		result = attempt->on_bytes != NULL &&
				 event_add(attempt->on_bytes, NULL) == 0
			     ? parent_dial_ask(attempt)
			     : RESULT_NO_MEMORY;
	}
	if (result != RESULT_OK)
		parent_dial_attempt_fail(attempt, result);
}

/* Start the next attempt that can be started; arm the one after it. */
static void
parent_dial_on_next(evutil_socket_t fd, short what, void *context)
{
	struct parent_dial *parent = context;
	struct timeval delay = event_loop_timeval(DIAL_ATTEMPT_DELAY_MS);
	enum result result = RESULT_SYSTEM;

	(void)fd;
	(void)what;
	while (parent->next < parent->count && result != RESULT_OK) {
		struct parent_dial_attempt *attempt =
		    &parent->attempts[parent->next++];

		result = dial_start(parent->base, parent->proxies,
		    parent->proxy_count, parent->proxy_port, &parent->options,
		    parent_dial_on_dialed, attempt, &attempt->dial);
		attempt->running = result == RESULT_OK;
		parent->active += attempt->running;
		parent->last = result == RESULT_OK ? parent->last : result;
	}
	if (parent->active == 0)
		parent_dial_finish(parent, NULL);
	else if (parent->next < parent->count)
		(void)event_add(parent->on_next, &delay);
}

static struct parent_dial *
parent_dial_new(
    const struct parent_dial_plan *plan, const struct ip_addr *targets)
{
	size_t count = plan->target_count;
	struct parent_dial *parent =
	    calloc(1, sizeof(*parent) + count * sizeof(parent->attempts[0]));

	if (parent == NULL)
		return NULL;
	memcpy(parent->proxies, plan->proxies,
	    plan->proxy_count * sizeof(plan->proxies[0]));
	parent->proxy_count = plan->proxy_count;
	parent->proxy_port = plan->proxy_port;
	parent->target_port = plan->target_port;
	parent->options = plan->options;
	parent->last = RESULT_SYSTEM;
	parent->count = count;
	for (size_t i = 0; i < count; i++) {
		parent->attempts[i].parent = parent;
		parent->attempts[i].target = targets[i];
		parent->attempts[i].fd = -1;
		buffer_init(&parent->attempts[i].answer, HTTP_HEAD_BYTES_MAX);
	}
	return parent;
}

enum result
parent_dial_start(struct event_base *base, const struct parent_dial_plan *plan,
    parent_dial_done *done, void *context, struct parent_dial **parent_r)
{
	struct ip_addr targets[DIAL_ADDRESSES_MAX];
	struct parent_dial *parent;

	*parent_r = NULL;
	if (plan->target_count == 0 ||
	    plan->target_count > DIAL_ADDRESSES_MAX || plan->proxy_count == 0 ||
	    plan->proxy_count > DIAL_ADDRESSES_MAX)
		return RESULT_TOO_LONG;
	memcpy(targets, plan->targets, plan->target_count * sizeof(targets[0]));
	dial_order(targets, plan->target_count);
	parent = parent_dial_new(plan, targets);
	if (parent == NULL)
		return RESULT_NO_MEMORY;
	parent->base = base;
	parent->done = done;
	parent->context = context;
	parent->on_next = event_new(base, -1, 0, parent_dial_on_next, parent);
	if (parent->on_next == NULL) {
		parent_dial_free(parent);
		return RESULT_NO_MEMORY;
	}
	event_active(parent->on_next, EV_TIMEOUT, 0);
	*parent_r = parent;
	return RESULT_OK;
}
