/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of lanes, and what goes up. Called by call_net.c and by the event
 * loop. A lane has one edge-triggered event for its life, and one for room,
 * which is there only while it is needed; an idle one is only read to drop
 * what crossed its release and to see it close. The RELEASE of a call that
 * ended well waits a moment, for the next call of this lane is often near
 * and takes it along. Must never hand a byte of an earlier call to the next
 * one, nor look into what the frames carry.
 */
#include "llm-broker/lane_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "llm-broker/lane_frames.h"

#define LANE_CLIENT_MOMENT_MS 10U

/* The RELEASE that waited. False: it did not go. */
static bool
lane_client_pay(struct lane *lane)
{
	const struct iovec part = {&lane->release, sizeof(lane->release)};

	lane->owes = lane->owes_long = 0;
	return lane_trunk_put(&lane->client->trunk, &lane->seat, &part, 1) ==
	       RESULT_OK;
}

static void lane_client_on_owed(evutil_socket_t fd, short what, void *context);
static void lane_client_on_trunk_end(const char *what, void *context);

static const struct lane_trunk_handlers lane_client_trunk_handlers = {
    .on_bytes = lane_frames_on_record, .on_end = lane_client_on_trunk_end};

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
	lane_trunk_init(
	    &client->trunk, base, &lane_client_trunk_handlers, client);
	client->owed = event_new(base, -1, 0, lane_client_on_owed, client);
	if (client->owed == NULL)
		lane_client_free(client_r);
	return *client_r != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

void
lane_client_close(struct lane *lane)
{
	if (lane->owes && lane_client_pay(lane)) /* before the end is seen */
		lane_trunk_flush(&lane->client->trunk);
	lane_trunk_unseat(&lane->seat);
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
	lane_trunk_close(&(*client)->trunk);
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

/* llm-key has it: it counts from now on. */
static void
lane_client_put(struct lane_client *client, struct lane *lane)
{
	lane_trunk_seat(&client->trunk, &lane->seat);
	TAILQ_INSERT_TAIL(&client->idle, lane, link);
	client->idle_count++;
}

/* The first lane brings the trunk along. */
static enum result
lane_client_open_trunk(struct lane_client *client, int *theirs_r)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		pair) != 0)
		return RESULT_SYSTEM;
	*theirs_r = pair[1];
	if (lane_trunk_open(&client->trunk, pair[0], LANE_CLIENT_PRIORITY) ==
	    RESULT_OK)
		return RESULT_OK;
	fd_close(theirs_r);
	lane_trunk_close(&client->trunk);
	return RESULT_SYSTEM;
}

/* The ends that llm-key gets, in the order of the lanes' numbers. */
static enum result
lane_client_hand_over(
    struct lane_client *client, const int *theirs, size_t count)
{
	enum result result =
	    client->handlers.open(theirs, count, client->context);

	if (result == RESULT_OK)
		lane_trunk_told(&client->trunk);
	return result;
}

/* New lanes, idle. */
static enum result
lane_client_add(struct lane_client *client)
{
	struct lane *lanes[LANE_CLIENT_BATCH];
	int theirs[LANE_CLIENT_BATCH + 1];
	size_t want = lane_client_batch(client), count = 0, trunk = 0;
	enum result result = RESULT_SYSTEM;

	if (want == 0)
		return RESULT_TOO_LONG;
	if (client->trunk.seated == 0 &&
	    lane_client_open_trunk(client, &theirs[trunk++]) != RESULT_OK)
		return RESULT_CLOSED;
	while (count < want) {
		lanes[count] = lane_client_make(client, &theirs[trunk + count]);
		if (lanes[count] == NULL)
			break;
		count++;
	}
	if (count > 0)
		result = lane_client_hand_over(client, theirs, trunk + count);
	for (size_t i = 0; i < trunk + count; i++)
		fd_close(&theirs[i]);
	for (size_t i = 0; i < count; i++) {
		if (result == RESULT_OK)
			lane_client_put(client, lanes[i]);
		else
			lane_client_close(lanes[i]);
	}
	if (result != RESULT_OK && trunk > 0)
		lane_trunk_close(&client->trunk);
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
		lane_frames_broken("a request that does not fit");
	memset(open, 0, sizeof(*open));
	open->frame.magic = LANE_MAGIC;
	open->frame.type = LANE_OPEN;
	open->frame.value = (uint32_t)request->head_len;
	open->frame.call = ++lane->number;
	memcpy(open->provider, request->provider, name);
	open->body_len = request->body_len;
	open->first_byte_ms = request->first_byte_ms;
	open->idle_ms = request->idle_ms;
	open->number = request->number;
	lane->head = request->head;
	lane->head_len = request->head_len;
	lane->body = request->body;
	lane->body_len = request->body_len;
	lane->writing = lane->begun = 1;
	lane->heard = lane->missed = 0;
}

/* OPEN, head and the body's beginning, behind what is owed. */
static enum result
lane_client_put_open(struct lane *lane)
{
	size_t with = lane->body_len < LANE_TRUNK_BODY_MAX
			  ? lane->body_len
			  : LANE_TRUNK_BODY_MAX;
	const struct iovec parts[] = {
	    {&lane->open, sizeof(lane->open)},
	    {(char *)(uintptr_t)lane->head, lane->head_len},
	    {(char *)(uintptr_t)lane->body, with},
	};

	if (lane->owes && !lane_client_pay(lane))
		return RESULT_CLOSED;
	if (lane_trunk_put(&lane->client->trunk, &lane->seat, parts, 3) !=
	    RESULT_OK)
		return RESULT_CLOSED;
	lane->body_len -= with;
	if (lane->body_len > 0)
		lane->body += with;
	return RESULT_OK;
}

enum result
lane_client_write(struct lane *lane)
{
	ssize_t count;

	if (lane->begun && lane_client_put_open(lane) != RESULT_OK)
		return RESULT_CLOSED;
	lane->begun = 0;
	while (lane->body_len > 0) {
		count =
		    send(lane->fd, lane->body, lane->body_len, MSG_NOSIGNAL);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return errno == EAGAIN &&
				       event_add(&lane->room, NULL) == 0
				   ? RESULT_NEED_MORE
				   : RESULT_CLOSED;
		lane->body += count;
		lane->body_len -= (size_t)count;
	}
	lane->writing = 0;
	lane->head = lane->body = NULL;
	return RESULT_OK;
}

void
lane_client_hurry(struct lane *lane)
{
	lane_trunk_flush(&lane->client->trunk);
}

enum result
lane_client_read(struct lane *lane)
{
	char *scratch = lane->client->scratch;
	ssize_t count;

	if (lane->owner != NULL && !lane->heard) {
		lane->missed = 1; /* its first frame comes by the trunk */
		return lane->hung_up ? RESULT_CLOSED : RESULT_NEED_MORE;
	}
	count = recv(lane->fd, scratch, LANE_CLIENT_READ, 0);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR ? RESULT_OK : RESULT_NEED_MORE;
	if (count <= 0) {
		lane->hung_up = 1;
		return RESULT_CLOSED;
	}
	lane->reading = 1;
	lane_frames_parse(lane, scratch, (size_t)count);
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

static void
lane_client_on_trunk_end(const char *what, void *context)
{
	(void)context;
	if (what != NULL)
		lane_frames_broken(what);
	/* llm-key is gone, which each lane sees by itself. */
}

void
lane_client_heard(struct lane_client *client)
{
	lane_trunk_heard(&client->trunk);
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
