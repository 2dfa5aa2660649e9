/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of lanes and their frames. Called by call_net.c and by the event
 * loop. A lane has one edge-triggered event for its life, and one for room,
 * which is there only while it is needed; an idle one is only read to drop
 * what crossed its release and to see it close. The RELEASE of a call that
 * ended well waits a moment, for the next call of this lane is often near
 * and takes it along. Must never hand a byte of an earlier call to the next
 * one, nor look into what the frames carry.
 */
#include "llm-broker/lane_client.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"

#define LANE_CLIENT_MOMENT_MS 10U

struct lane {
	TAILQ_ENTRY(lane) link; /* in client->idle, when it has no owner */
	struct lane_client *client;
	struct event event, room;
	void *owner; /* NULL: idle, or its call is over */
	int fd;
	uint32_t number; /* of the call in it, or of the last one */
	unsigned writing : 1, reading : 1, dropped : 1, hung_up : 1,
	    owes : 1,      /* the RELEASE of the call before, */
	    owes_long : 1; /* for a moment already */
	/* what goes out: release, open, head, body */
	struct lane_frame release;
	struct lane_open open;
	const char *head, *body;
	size_t head_len, body_len, written;
	/* what comes in: a header, then left bytes of DATA */
	struct lane_frame frame;
	size_t frame_len, left;
};

TAILQ_HEAD(lane_queue, lane);

struct lane_client {
	struct event_base *base;
	struct lane_client_handlers handlers;
	void *context;
	struct lane_queue idle; /* the last used is the first */
	struct event *owed;     /* sends what idle lanes owe */
	size_t max, open_count, idle_count;
	char scratch[LANE_CLIENT_READ];
};

static _Noreturn void
lane_client_broken(const char *what)
{
	log_fatal(IPC_EXIT_CRASH, "lane_broken", what);
}

/* The RELEASE that waited. False: it did not go. */
static bool
lane_client_pay(struct lane *lane)
{
	ssize_t count;

	lane->owes = lane->owes_long = 0;
	do
		count = send(lane->fd, &lane->release, sizeof(lane->release),
		    MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	return count == (ssize_t)sizeof(lane->release);
}

static void lane_client_close(struct lane *lane);
static void lane_client_on_owed(evutil_socket_t fd, short what, void *context);

enum result
lane_client_new(struct event_base *base, size_t max,
    const struct lane_client_handlers *handlers, void *context,
    struct lane_client **client_r)
{
	struct lane_client *client = calloc(1, sizeof(*client));

	*client_r = client;
	if (client == NULL)
		return RESULT_NO_MEMORY;
	TAILQ_INIT(&client->idle);
	client->base = base;
	client->max = max < LANE_COUNT_MAX ? max : LANE_COUNT_MAX;
	client->handlers = *handlers;
	client->context = context;
	client->owed = event_new(base, -1, 0, lane_client_on_owed, client);
	if (client->owed == NULL)
		lane_client_free(client_r);
	return *client_r != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

static void
lane_client_close(struct lane *lane)
{
	if (lane->owes && lane->written == 0)
		(void)lane_client_pay(lane); /* else the end says it all */
	(void)event_del(&lane->event);
	(void)event_del(&lane->room);
	fd_close(&lane->fd);
	lane->client->open_count--;
	free(lane);
}

static struct lane *
lane_client_take_idle(struct lane_client *client)
{
	struct lane *lane = TAILQ_FIRST(&client->idle);

	if (lane == NULL)
		return NULL;
	TAILQ_REMOVE(&client->idle, lane, link);
	client->idle_count--;
	return lane;
}

void
lane_client_trim(struct lane_client *client)
{
	struct lane *lane;

	while ((lane = lane_client_take_idle(client)) != NULL)
		lane_client_close(lane);
}

void
lane_client_free(struct lane_client **client)
{
	if (*client == NULL)
		return;
	lane_client_trim(*client);
	if ((*client)->owed != NULL)
		event_free((*client)->owed);
	free(*client);
	*client = NULL;
}

static void
lane_client_await_owed(struct lane_client *client)
{
	struct timeval moment = event_loop_timeval(LANE_CLIENT_MOMENT_MS);

	if (!event_pending(client->owed, EV_TIMEOUT, NULL))
		(void)event_add(client->owed, &moment);
}

/* Nobody came for these lanes, or they were given back just now. */
static void
lane_client_on_owed(evutil_socket_t fd, short what, void *context)
{
	struct lane_client *client = context;
	struct lane *lane;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(lane, &client->idle, link)
	{
		if (lane->owes && !lane->owes_long) {
			lane->owes_long = 1;
			lane_client_await_owed(client);
			continue;
		}
		if (!lane->owes || lane_client_pay(lane))
			continue;
		lane->hung_up = 1; /* it ends in a turn of its own */
		event_active(&lane->event, EV_CLOSED, 0);
	}
}

static void
lane_client_on_event(evutil_socket_t fd, short what, void *context)
{
	struct lane *lane = context;

	(void)fd;
	if (what & EV_CLOSED)
		lane->hung_up = 1;
	if (lane->owner != NULL) {
		lane->client->handlers.on_ready(lane->owner, true, false);
		return;
	}
	while (lane_client_read(lane) == RESULT_OK)
		continue;
	/* An idle lane is dropped by nobody, so it is still there.
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	if (lane->hung_up) {
		TAILQ_REMOVE(&lane->client->idle, lane, link);
		lane->client->idle_count--;
		lane_client_close(lane);
	}
}

static void
lane_client_on_room(evutil_socket_t fd, short what, void *context)
{
	struct lane *lane = context;

	(void)fd;
	(void)what;
	if (lane->owner != NULL)
		lane->client->handlers.on_ready(lane->owner, false, true);
}

static enum result
lane_client_watch(struct lane *lane)
{
	struct event_base *base = lane->client->base;

	if (event_assign(&lane->event, base, lane->fd,
		EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, lane_client_on_event,
		lane) != 0 ||
	    event_assign(&lane->room, base, lane->fd, EV_WRITE | EV_ET,
		lane_client_on_room, lane) != 0 ||
	    event_priority_set(&lane->event, LANE_CLIENT_PRIORITY) != 0 ||
	    event_priority_set(&lane->room, LANE_CLIENT_PRIORITY) != 0 ||
	    event_add(&lane->event, NULL) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

/* A lane that is not watched yet; *theirs_r: llm-key's end of it. */
static struct lane *
lane_client_make(struct lane_client *client, int *theirs_r)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	int pair[2];

	if (lane == NULL)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		pair) != 0) {
		free(lane);
		return NULL;
	}
	lane->client = client;
	lane->fd = pair[0];
	*theirs_r = pair[1];
	client->open_count++;
	if (lane_client_watch(lane) == RESULT_OK)
		return lane;
	fd_close(theirs_r);
	lane_client_close(lane);
	return NULL;
}

/* How many to make: one when there are few, so that a quiet run has few;
 * more when there are many, so that a burst of calls is no burst of
 * messages. */
static size_t
lane_client_batch(const struct lane_client *client)
{
	size_t left = client->max - client->open_count;
	size_t count = client->open_count / 2 + 1;

	if (count > LANE_CLIENT_BATCH)
		count = LANE_CLIENT_BATCH;
	return count < left ? count : left;
}

static void
lane_client_put(struct lane_client *client, struct lane *lane)
{
	TAILQ_INSERT_TAIL(&client->idle, lane, link);
	client->idle_count++;
}

/* New lanes, idle. */
static enum result
lane_client_add(struct lane_client *client)
{
	struct lane *lanes[LANE_CLIENT_BATCH];
	int theirs[LANE_CLIENT_BATCH];
	size_t want = lane_client_batch(client), count = 0;
	enum result result = RESULT_SYSTEM;

	if (want == 0)
		return RESULT_TOO_LONG;
	while (count < want) {
		lanes[count] = lane_client_make(client, &theirs[count]);
		if (lanes[count] == NULL)
			break;
		count++;
	}
	if (count > 0)
		result = client->handlers.open(theirs, count, client->context);
	for (size_t i = 0; i < count; i++) {
		fd_close(&theirs[i]);
		if (result == RESULT_OK)
			lane_client_put(client, lanes[i]);
		else
			lane_client_close(lanes[i]);
	}
	return result == RESULT_OK ? RESULT_OK : RESULT_CLOSED;
}

enum result
lane_client_take(struct lane_client *client, void *owner, struct lane **lane_r)
{
	enum result result = RESULT_OK;

	if (client->idle_count == 0)
		result = lane_client_add(client);
	*lane_r = result == RESULT_OK ? lane_client_take_idle(client) : NULL;
	if (*lane_r != NULL)
		(*lane_r)->owner = owner;
	return result;
}

void
lane_client_begin(struct lane *lane, const struct lane_request *request)
{
	struct lane_open *open = &lane->open;
	size_t name = strlen(request->provider);

	if (name >= sizeof(open->provider) ||
	    request->head_len > LANE_HEAD_MAX || request->head_len == 0)
		lane_client_broken("a request that does not fit");
	memset(open, 0, sizeof(*open));
	open->frame.magic = LANE_MAGIC;
	open->frame.type = LANE_OPEN;
	open->frame.value = (uint32_t)request->head_len;
	open->frame.call = ++lane->number;
	memcpy(open->provider, request->provider, name);
	open->body_len = request->body_len;
	open->first_byte_ms = request->first_byte_ms;
	open->idle_ms = request->idle_ms;
	lane->head = request->head;
	lane->head_len = request->head_len;
	lane->body = request->body;
	lane->body_len = request->body_len;
	lane->written = 0;
	lane->writing = 1;
}

/* What of one part is still to be written, when the parts before it take
 * at bytes. */
static struct iovec
lane_client_rest(
    const struct lane *lane, const void *bytes, size_t len, size_t at)
{
	size_t done = lane->written > at ? lane->written - at : 0;

	if (done > len)
		done = len;
	return (struct iovec){
	    .iov_base = (char *)(uintptr_t)bytes + done, .iov_len = len - done};
}

/* What is still to be written; returns what all of it was. */
static size_t
lane_client_parts(const struct lane *lane, struct iovec parts[4])
{
	size_t at = lane->owes ? sizeof(lane->release) : 0;

	parts[0] = lane_client_rest(lane, &lane->release, at, 0);
	parts[1] = lane_client_rest(lane, &lane->open, sizeof(lane->open), at);
	at += sizeof(lane->open);
	parts[2] = lane_client_rest(lane, lane->head, lane->head_len, at);
	at += lane->head_len;
	parts[3] = lane_client_rest(lane, lane->body, lane->body_len, at);
	return at + lane->body_len;
}

enum result
lane_client_write(struct lane *lane)
{
	struct iovec parts[4];
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};
	size_t all;
	ssize_t count;

	while (lane->writing) {
		all = lane_client_parts(lane, parts);
		count = sendmsg(lane->fd, &message, MSG_NOSIGNAL);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return errno == EAGAIN &&
				       event_add(&lane->room, NULL) == 0
				   ? RESULT_NEED_MORE
				   : RESULT_CLOSED;
		lane->written += (size_t)count;
		lane->writing = lane->written < all;
	}
	lane->head = lane->body = NULL;
	lane->owes = lane->owes_long = 0;
	lane->written = 0;
	return RESULT_OK;
}

/* A whole header is there: does it belong, and to whom? */
static void
lane_client_frame(struct lane *lane)
{
	const struct lane_frame *frame = &lane->frame;
	const struct lane_client_handlers *handlers = &lane->client->handlers;
	bool late = frame->call != lane->number || lane->owner == NULL;

	lane->frame_len = 0;
	if (frame->magic != LANE_MAGIC || frame->call == 0 ||
	    frame->call > lane->number)
		lane_client_broken("a frame with a wrong mark or number");
	switch ((enum lane_type)frame->type) {
	case LANE_DATA:
		if (frame->value == 0 || frame->value > LANE_DATA_MAX)
			lane_client_broken("a data frame of no good length");
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
	lane_client_broken("a frame of the wrong direction");
}

/* Content: to the owner of its call, or nowhere. Returns bytes used. */
static size_t
lane_client_data(struct lane *lane, const char *bytes, size_t len)
{
	size_t count = len < lane->left ? len : lane->left;

	lane->left -= count;
	if (lane->owner != NULL && lane->frame.call == lane->number)
		lane->client->handlers.on_data(lane->owner, bytes, count);
	return count;
}

static void
lane_client_parse(struct lane *lane, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len && !lane->dropped) {
		size_t want = sizeof(lane->frame) - lane->frame_len;
		size_t count = len - at < want ? len - at : want;

		if (lane->left > 0) {
			at += lane_client_data(lane, bytes + at, len - at);
			continue;
		}
		memcpy(
		    (char *)&lane->frame + lane->frame_len, bytes + at, count);
		lane->frame_len += count;
		at += count;
		if (lane->frame_len == sizeof(lane->frame))
			lane_client_frame(lane);
	}
}

enum result
lane_client_read(struct lane *lane)
{
	char *scratch = lane->client->scratch;
	ssize_t count = recv(lane->fd, scratch, LANE_CLIENT_READ, 0);

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR ? RESULT_OK : RESULT_NEED_MORE;
	if (count <= 0) {
		lane->hung_up = 1;
		return RESULT_CLOSED;
	}
	lane->reading = 1;
	lane_client_parse(lane, scratch, (size_t)count);
	explicit_bzero(scratch, (size_t)count); /* it may have held a key */
	lane->reading = 0;
	if (lane->dropped) {
		lane_client_close(lane);
		return RESULT_NEED_MORE;
	}
	/* A short read has emptied it; an edge tells of more. */
	return (size_t)count < LANE_CLIENT_READ && !lane->hung_up
		   ? RESULT_NEED_MORE
		   : RESULT_OK;
}

/* The release goes with the next call of this lane, or after a moment. */
static void
lane_client_owe(struct lane *lane)
{
	lane->owes = 1;
	lane->owes_long = 0;
	lane_client_await_owed(lane->client);
}

void
lane_client_release(struct lane **lane, enum lane_release how)
{
	struct lane *free_lane = *lane;

	if (free_lane->writing || free_lane->hung_up) {
		lane_client_drop(lane);
		return;
	}
	free_lane->release = (struct lane_frame){.magic = LANE_MAGIC,
	    .type = LANE_RELEASE,
	    .value = (uint32_t)how,
	    .call = free_lane->number};
	if (how == LANE_RELEASE_KEEP) {
		lane_client_owe(free_lane);
	} else if (!lane_client_pay(free_lane)) {
		lane_client_drop(lane);
		return;
	}
	*lane = NULL;
	free_lane->owner = NULL;
	TAILQ_INSERT_HEAD(&free_lane->client->idle, free_lane, link);
	free_lane->client->idle_count++;
}

void
lane_client_drop(struct lane **lane)
{
	struct lane *gone = *lane;

	*lane = NULL;
	if (gone == NULL)
		return;
	gone->owner = NULL;
	if (gone->reading)
		gone->dropped = 1;
	else
		lane_client_close(gone);
}

size_t
lane_client_open_count(const struct lane_client *client)
{
	return client->open_count;
}

size_t
lane_client_idle_count(const struct lane_client *client)
{
	return client->idle_count;
}
