/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a control socketpair. Called by the supervisor for each child
 * and by each child for the supervisor; must never block after start-up,
 * grow without bound, deliver anything after the end, or call on_end from
 * inside peer_send.
 */
#include "common/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc_catalogue.h"
#include "common/json_field.h"
#include "common/log.h"

#define PEER_BATCH 16U /* messages per turn of the loop: fairness */
#define PEER_QUEUE_MESSAGES 512U
#define PEER_QUEUE_BYTES (1U << 20)
#define PEER_QUEUE_FDS 256U
#define PEER_OPTIONS_MAX (1U << 20)

struct peer_queued {
	struct peer_queued *next;
	size_t len, fd_count;
	int fds[IPC_FDS_MAX]; /* duplicates, ours */
	char bytes[];
};

struct peer {
	int fd;
	enum ipc_role self, other;
	enum ipc_state state;
	struct peer_handlers handlers;
	void *context;
	struct event *on_read, *on_write, *on_overflow, *on_crowd;
	struct peer_queued *first, **last;
	size_t queued, queued_bytes, queued_fds;
	unsigned busy; /* inside a handler: memory must stay */
	bool is_ended, is_freed;
	char bytes[IPC_MESSAGE_MAX];
};

static void
peer_queue_drop_first(struct peer *peer)
{
	struct peer_queued *queued = peer->first;
	size_t i;

	for (i = 0; i < queued->fd_count; i++)
		fd_close(&queued->fds[i]);
	peer->queued--;
	peer->queued_bytes -= queued->len;
	peer->queued_fds -= queued->fd_count;
	peer->first = queued->next;
	if (peer->first == NULL)
		peer->last = &peer->first;
	free(queued);
}

static void
peer_quiet(struct peer *peer)
{
	(void)event_del(peer->on_read);
	(void)event_del(peer->on_write);
	(void)event_del(peer->on_overflow);
	(void)event_del(peer->on_crowd);
	while (peer->first != NULL)
		peer_queue_drop_first(peer);
}

static void
peer_destroy(struct peer *peer)
{
	if (peer->on_read != NULL)
		event_free(peer->on_read);
	if (peer->on_write != NULL)
		event_free(peer->on_write);
	if (peer->on_overflow != NULL)
		event_free(peer->on_overflow);
	if (peer->on_crowd != NULL)
		event_free(peer->on_crowd);
	fd_close(&peer->fd);
	free(peer);
}

void
peer_free(struct peer **peer)
{
	struct peer *old = *peer;

	*peer = NULL;
	if (old == NULL)
		return;
	peer_quiet(old);
	old->is_ended = old->is_freed = true;
	if (old->busy == 0)
		peer_destroy(old);
}

static void
peer_leave(struct peer *peer)
{
	peer->busy--;
	if (peer->busy == 0 && peer->is_freed)
		peer_destroy(peer);
}

/* Only called from the loop, with busy held by the caller. */
static void
peer_end(struct peer *peer, enum result why, const char *detail)
{
	if (peer->is_ended)
		return;
	peer->is_ended = true;
	peer_quiet(peer);
	peer->handlers.on_end(why, detail, peer->context);
}

static void
peer_deliver(struct peer *peer, size_t len, const int *fds, size_t fd_count)
{
	struct ipc_message message;
	char fault[JSON_FIELD_FAULT_MAX];
	enum result result;

	ipc_message_init(&message, IPC_CONFIG, 0);
	memcpy(message.fds, fds, sizeof(int) * fd_count);
	message.fd_count = fd_count;
	result = ipc_decode(peer->bytes, len, fd_count, peer->other, peer->self,
	    peer->state, &message, fault, sizeof(fault));
	if (result == RESULT_OK)
		peer->handlers.on_message(&message, peer->context);
	ipc_message_clear(&message);
	if (result != RESULT_OK)
		peer_end(peer, RESULT_BAD, fault);
}

static void
peer_read(evutil_socket_t fd, short what, void *context)
{
	struct peer *peer = context;
	int fds[IPC_FDS_MAX];
	size_t len, fd_count;
	unsigned count;
	enum result result = RESULT_OK;

	(void)what;
	peer->busy++;
	for (count = 0; count < PEER_BATCH && !peer->is_ended; count++) {
		result = fd_receive((int)fd, peer->bytes, sizeof(peer->bytes),
		    &len, fds, IPC_FDS_MAX, &fd_count);
		if (result != RESULT_OK)
			break;
		peer_deliver(peer, len, fds, fd_count);
	}
	if (result == RESULT_EOF)
		peer_end(peer, result, "the other side closed its socket");
	else if (result == RESULT_TOO_LONG)
		peer_end(peer, result,
		    "a datagram over 64 KiB or over 16 descriptors came");
	else if (result != RESULT_OK && result != RESULT_NEED_MORE)
		peer_end(peer, RESULT_SYSTEM, strerror(errno));
	peer_leave(peer);
}

static void
peer_write(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval moment = {0, 10000};
	struct peer *peer = context;
	struct peer_queued *next;
	enum result result = RESULT_OK;
	bool crowded;

	(void)fd; /* none, when it is tried again */
	(void)what;
	peer->busy++;
	while (peer->first != NULL && result == RESULT_OK) {
		next = peer->first;
		result = fd_send(peer->fd, next->bytes, next->len, next->fds,
		    next->fd_count);
		if (result == RESULT_OK)
			peer_queue_drop_first(peer);
	}
	/* Nobody reads any more: what the other side said last is still to
	 * be read, and the read event will find the end. */
	while (result == RESULT_CLOSED && peer->first != NULL)
		peer_queue_drop_first(peer);
	/* Of that no event tells, but it passes. */
	crowded = result == RESULT_NEED_MORE && errno != EAGAIN;
	if (peer->first == NULL || crowded)
		(void)event_del(peer->on_write);
	if (result == RESULT_NEED_MORE &&
	    event_add(crowded ? peer->on_crowd : peer->on_write,
		crowded ? &moment : NULL) == 0)
		result = RESULT_OK;
	if (peer->first != NULL && result != RESULT_OK)
		peer_end(peer, RESULT_SYSTEM, strerror(errno));
	peer_leave(peer);
}

static void
peer_overflow(evutil_socket_t fd, short what, void *context)
{
	struct peer *peer = context;

	(void)fd;
	(void)what;
	peer->busy++;
	peer_end(peer, RESULT_TOO_LONG,
	    "the other side does not read and the queue to it is full");
	peer_leave(peer);
}

enum result
peer_new(struct event_base *base, int fd, enum ipc_role self,
    enum ipc_role other, const struct peer_handlers *handlers, void *context,
    struct peer **peer_r)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	*peer_r = NULL;
	if (peer == NULL) {
		fd_close(&fd);
		return RESULT_NO_MEMORY;
	}
	peer->fd = fd;
	peer->self = self;
	peer->other = other;
	peer->state = IPC_STARTING;
	peer->handlers = *handlers;
	peer->context = context;
	peer->last = &peer->first;
	peer->on_read =
	    event_new(base, fd, EV_READ | EV_PERSIST, peer_read, peer);
	peer->on_write =
	    event_new(base, fd, EV_WRITE | EV_PERSIST, peer_write, peer);
	peer->on_overflow = event_new(base, -1, 0, peer_overflow, peer);
	peer->on_crowd = event_new(base, -1, 0, peer_write, peer);
	if (peer->on_read == NULL || peer->on_write == NULL ||
	    peer->on_overflow == NULL || peer->on_crowd == NULL ||
	    fd_set_nonblocking(fd, true) != RESULT_OK ||
	    event_add(peer->on_read, NULL) != 0) {
		peer_destroy(peer);
		return RESULT_SYSTEM;
	}
	*peer_r = peer;
	return RESULT_OK;
}

static void
peer_enter(struct peer *peer, enum ipc_state state)
{
	peer->state = state;
}

void
peer_set_state(struct peer *peer, enum ipc_state state)
{
	peer_enter(peer, state);
}

/* Duplicate what the message carries; all or nothing. */
static enum result
peer_queue_fds(struct peer_queued *queued, const struct ipc_message *message)
{
	size_t i;

	for (i = 0; i < message->fd_count; i++) {
		queued->fds[i] = fcntl(message->fds[i], F_DUPFD_CLOEXEC, 0);
		if (queued->fds[i] < 0)
			break;
		queued->fd_count++;
	}
	if (queued->fd_count == message->fd_count)
		return RESULT_OK;
	while (queued->fd_count > 0)
		fd_close(&queued->fds[--queued->fd_count]);
	return RESULT_SYSTEM;
}

static enum result
peer_queue(struct peer *peer, size_t len, const struct ipc_message *message)
{
	struct peer_queued *queued;

	if (peer->queued >= PEER_QUEUE_MESSAGES ||
	    peer->queued_bytes + len > PEER_QUEUE_BYTES ||
	    peer->queued_fds + message->fd_count > PEER_QUEUE_FDS) {
		event_active(peer->on_overflow, EV_TIMEOUT, 0);
		return RESULT_TOO_LONG;
	}
	queued = calloc(1, sizeof(*queued) + len);
	if (queued == NULL)
		return RESULT_NO_MEMORY;
	if (peer_queue_fds(queued, message) != RESULT_OK ||
	    event_add(peer->on_write, NULL) != 0) {
		while (queued->fd_count > 0)
			fd_close(&queued->fds[--queued->fd_count]);
		free(queued);
		return RESULT_SYSTEM;
	}
	queued->len = len;
	memcpy(queued->bytes, peer->bytes, len);
	*peer->last = queued;
	peer->last = &queued->next;
	peer->queued++;
	peer->queued_bytes += len;
	peer->queued_fds += queued->fd_count;
	return RESULT_OK;
}

enum result
peer_send(struct peer *peer, const struct ipc_message *message)
{
	const struct ipc_row *row = ipc_catalogue_row(message->type);
	char fault[JSON_FIELD_FAULT_MAX];
	enum result result = RESULT_NEED_MORE;
	size_t len;

	if (peer->is_ended)
		return RESULT_CLOSED;
	if (row == NULL || (row->states & (unsigned)peer->state) == 0) {
		log_event(LOG_ERROR_LEVEL, "peer_send_refused",
		    LOG_TEXT("type", row == NULL ? "?" : row->name),
		    LOG_INT("state", peer->state));
		return RESULT_REFUSED;
	}
	result = ipc_encode(message, peer->self, peer->other, peer->bytes,
	    sizeof(peer->bytes), &len, fault, sizeof(fault));
	if (result != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "peer_send_refused",
		    LOG_TEXT("type", row->name), LOG_TEXT("detail", fault));
		return result;
	}
	result = peer->first != NULL ? RESULT_NEED_MORE
				     : fd_send(peer->fd, peer->bytes, len,
					   message->fds, message->fd_count);
	return result == RESULT_NEED_MORE ? peer_queue(peer, len, message)
					  : result;
}

/* Wait until fd is readable or the deadline (event_loop_now_ms) passed. */
static enum result
peer_wait(int fd, uint64_t deadline)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	uint64_t now;
	int ready;

	do {
		now = event_loop_now_ms();
		if (now >= deadline)
			return RESULT_TIMEOUT;
		ready = poll(&wait, 1, (int)(deadline - now));
	} while (ready == 0 || (ready < 0 && errno == EINTR));
	return ready > 0 ? RESULT_OK : RESULT_SYSTEM;
}

/* Put the object that the sealed memfd holds in the place of options_fd. */
static enum result
peer_load_options(struct ipc_message *message, struct json_fault *fault)
{
	const json_t *index = json_object_get(message->body, "options_fd");
	FD_CLEANUP int fd = -1;
	char *bytes = NULL;
	json_t *options = NULL;
	size_t len = 0;
	enum result result;

	if (message->type != IPC_CONFIG || index == NULL)
		return RESULT_OK;
	fd = ipc_message_take_fd(message, (size_t)json_integer_value(index));
	if (!fd_is_sealed(fd)) {
		json_field_fault(fault, "config.options_fd is no sealed memfd");
		return RESULT_BAD;
	}
	result = fd_read_all(fd, PEER_OPTIONS_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = json_field_parse(bytes, len, &options, fault);
	else
		json_field_fault(fault, "config.options_fd: %s, at most %u fit",
		    result_text(result), PEER_OPTIONS_MAX);
	free(bytes);
	if (result == RESULT_OK && !json_is_object(options)) {
		json_field_fault(fault, "config.options must be an object");
		json_decref(options);
		return RESULT_BAD;
	}
	if (result == RESULT_OK &&
	    (json_object_set_new(message->body, "options", options) != 0 ||
		json_object_del(message->body, "options_fd") != 0))
		result = RESULT_NO_MEMORY;
	return result;
}

static enum result
peer_first(int fd, enum ipc_role self, enum ipc_role other,
    struct ipc_message *message, struct json_fault *fault)
{
	char *bytes = malloc(IPC_MESSAGE_MAX);
	size_t len = 0;
	enum result result;

	if (bytes == NULL)
		return RESULT_NO_MEMORY;
	result = fd_receive(fd, bytes, IPC_MESSAGE_MAX, &len, message->fds,
	    IPC_FDS_MAX, &message->fd_count);
	if (result == RESULT_OK)
		result = ipc_decode(bytes, len, message->fd_count, other, self,
		    IPC_STARTING, message, fault->text, sizeof(fault->text));
	free(bytes);
	return result == RESULT_OK ? peer_load_options(message, fault) : result;
}

enum result
peer_receive_first(int fd, enum ipc_role self, enum ipc_role other,
    unsigned timeout_ms, struct ipc_message *message_r, char *detail_r,
    size_t detail_size)
{
	struct json_fault fault = {""};
	enum result result;

	ipc_message_init(message_r, IPC_CONFIG, 0);
	result = peer_wait(fd, event_loop_now_ms() + timeout_ms);
	if (result == RESULT_OK)
		result = peer_first(fd, self, other, message_r, &fault);
	if (result != RESULT_OK) {
		ipc_message_clear(message_r);
		json_field_fault(
		    &fault, "no first message: %s", result_text(result));
	}
	(void)snprintf(detail_r, detail_size, "%s", fault.text);
	return result;
}
