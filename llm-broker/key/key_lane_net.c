/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What key_lane.c asks for, done on real connections: a provider's site, its
 * key, a connection of its pool, frames to the broker. Called through the
 * table at the end. Must never step a lane before it returns, except to say
 * that the broker is gone.
 */
#include "llm-broker/key/key_lane_net.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "llm-broker/key/upstream_pool.h"

struct key_lane_io *
key_lane_net_of(struct key_lane *lane)
{
	return (struct key_lane_io *)(void *)lane;
}

/* --- to the broker --- */

/* Connections that serve a call. */
static size_t
key_lane_net_busy(const struct key_lane_world *world)
{
	size_t busy = 0;

	for (size_t i = 0; i < world->site_count; i++)
		busy += world->sites[i].upstream.count -
			world->sites[i].upstream.idle_count;
	return busy;
}

bool
key_lane_net_is_first(const struct key_lane_io *io)
{
	return io->told != io->lane.open.frame.call;
}

static void
key_lane_net_put_first(struct key_lane_io *io, const void *bytes, size_t len)
{
	const struct iovec part = {(void *)(uintptr_t)bytes, len};

	io->told = io->lane.open.frame.call;
	if (lane_trunk_put(&io->world->trunk, &io->seat, &part, 1) != RESULT_OK)
		key_lane_gone(&io->lane, "the trunk takes no more");
	if (quick_wait_is_lone(&io->world->quick))
		lane_trunk_flush(&io->world->trunk);
}

/* What the socket takes of it now; RESULT_CLOSED: none, ever. */
static enum result
key_lane_net_send_now(
    struct key_lane_io *io, const void *bytes, size_t len, size_t *sent_r)
{
	ssize_t sent;

	*sent_r = 0;
	if (io->out.len > 0)
		return RESULT_OK;
	do
		sent = send(io->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? RESULT_OK
							       : RESULT_CLOSED;
	*sent_r = (size_t)sent;
	return RESULT_OK;
}

void
key_lane_net_put(struct key_lane_io *io, const void *bytes, size_t len)
{
	size_t sent;

	if (key_lane_net_is_first(io)) {
		key_lane_net_put_first(io, bytes, len);
		return;
	}
	if (key_lane_net_send_now(io, bytes, len, &sent) != RESULT_OK) {
		key_lane_gone(&io->lane, "the broker closed it");
		return;
	}
	if (sent == len)
		return;
	if (buffer_append(&io->out, (const char *)bytes + sent, len - sent) !=
		RESULT_OK ||
	    event_add(&io->on_write, NULL) != 0)
		key_lane_gone(&io->lane, "out of memory");
}

static void
key_lane_net_say(struct key_lane *lane, enum lane_type type, uint32_t value)
{
	const struct lane_frame frame = {
	    LANE_MAGIC, type, value, lane->open.frame.call};

	key_lane_net_put(key_lane_net_of(lane), &frame, sizeof(frame));
}

/* --- what key_lane.c asks for --- */

static uint64_t
key_lane_net_now(struct key_lane *lane)
{
	(void)lane;
	return event_loop_now_ms();
}

static const struct key_config_provider *
key_lane_net_provider(struct key_lane *lane, const char *name)
{
	struct key_lane_io *io = key_lane_net_of(lane);
	struct key_lane_world *world = io->world;

	io->address.family = 0;
	io->is_reused = io->is_resumed = false;
	for (size_t i = 0; i < world->site_count; i++) {
		io->site = &world->sites[i];
		if (strcmp(io->site->upstream.provider->name, name) == 0)
			return io->site->upstream.provider;
	}
	io->site = NULL;
	return NULL;
}

static void
key_lane_net_deadline(struct key_lane *lane, uint64_t due_ms)
{
	struct key_lane_io *io = key_lane_net_of(lane);

	if (due_ms == 0)
		deadline_wheel_clear(&io->world->lane_wheel, &io->deadline);
	else
		deadline_wheel_arm(
		    &io->world->lane_wheel, &io->deadline, due_ms);
}

static enum key_lane_admit
key_lane_net_admit(struct key_lane *lane)
{
	const struct key_lane_io *io = key_lane_net_of(lane);
	const struct key_store *store = io->world->store;
	uint64_t now = event_loop_now_ms();

	if (key_breaker_is_open(&io->site->breaker, now))
		return KEY_LANE_BREAKER;
	switch (key_store_status(store, io->site->index, now)) {
	case KEY_STATUS_UNUSED:
	case KEY_STATUS_FOUND:
		return KEY_LANE_GO;
	case KEY_STATUS_AWAITED:
		key_lane_net_deadline(
		    lane, key_store_awaited_until(store, io->site->index));
		return KEY_LANE_WAIT;
	case KEY_STATUS_MISSING:
	case KEY_STATUS_UNAVAILABLE:
		break;
	}
	return KEY_LANE_NO_KEY;
}

static enum result
key_lane_net_connect(struct key_lane *lane)
{
	struct key_lane_io *io = key_lane_net_of(lane);
	const struct upstream_user user = {key_lane_io_on_ready,
	    key_lane_io_on_failed, key_lane_io_on_upstream, io};

	return upstream_pool_take(&io->site->upstream, &user, &io->upstream);
}

static enum result
key_lane_net_write(void *context, const void *bytes, size_t len)
{
	return upstream_write(context, bytes, len);
}

static enum result
key_lane_net_inject(struct key_lane *lane, const char *head, size_t head_len,
    const char *body, size_t body_len, bool *sent_r)
{
	struct key_lane_io *io = key_lane_net_of(lane);
	const struct key_config_provider *provider = lane->provider;
	struct key_inject_parts parts = {.head = head,
	    .head_len = head_len,
	    .header = provider->header,
	    .before = provider->before,
	    .after = provider->after,
	    .key = key_store_key_borrow(io->world->store, io->site->index),
	    .body = body,
	    .body_len = body_len};
	uint64_t sent = io->upstream->wire.sent;
	enum result result;

	io->address = io->upstream->address;
	io->generation = io->site->upstream.generation;
	io->is_reused = io->upstream->calls > 0;
	io->is_resumed = io->upstream->tls != NULL &&
			 upstream_tls_is_resumed(io->upstream->tls);
	result = key_inject_request(
	    io->world->inject, &parts, key_lane_net_write, io->upstream);
	*sent_r = io->upstream->wire.sent != sent;
	quick_wait_begin(&io->world->quick, key_lane_net_busy(io->world));
	if (quick_wait_is_lone(&io->world->quick) &&
	    body_len == lane->open.body_len)
		quick_wait_expect(&io->world->quick, quick_wait_now_ns());
	return result;
}

static enum result
key_lane_net_send(struct key_lane *lane, const char *bytes, size_t len)
{
	return upstream_write(key_lane_net_of(lane)->upstream, bytes, len);
}

/* A response that the broker does not have whole was not complete. */
static void
key_lane_net_release(struct key_lane *lane, bool keep)
{
	struct key_lane_io *io = key_lane_net_of(lane);

	upstream_pool_give(&io->upstream, keep && io->out.len == 0);
}

static void
key_lane_net_judge(struct key_lane *lane, enum key_lane_verdict verdict)
{
	const struct key_lane_io *io = key_lane_net_of(lane);
	struct key_site *site = io->site;

	/* What an old key did says nothing of a new one. */
	if (site == NULL || io->generation != site->upstream.generation)
		return;
	switch (verdict) {
	case KEY_LANE_UNKNOWN:
		return;
	case KEY_LANE_SUCCEEDED:
		key_breaker_reset(&site->breaker);
		return;
	case KEY_LANE_KEY_REFUSED:
		if (key_breaker_refused(&site->breaker, event_loop_now_ms()))
			log_event(LOG_WARN_LEVEL, "breaker_opened",
			    LOG_TEXT("provider", site->upstream.provider->name),
			    LOG_UINT("openings", site->breaker.openings));
		return;
	}
}

static void
key_lane_net_count(
    struct key_lane_counters *counters, const struct key_lane *lane)
{
	counters->calls++;
	counters->up += lane->up;
	counters->down += lane->down;
	counters->retried += lane->is_retried;
	if (lane->failure != 0) {
		counters->failed++;
		counters->failures[lane->failure]++;
	} else if (lane->is_cancelled) {
		counters->cancelled++;
	} else {
		counters->served++;
	}
}

/* Never a header, a target or a byte of a body. */
void
key_lane_net_tell(struct key_lane_world *world)
{
	struct key_lane_line *line = &world->line;
	const char *address = line->address.family != 0 ? line->text : "";

	if (!line->is_due)
		return;
	line->is_due = false;
	if (line->address.family != 0 &&
	    memcmp(&line->address, &line->told, sizeof(line->told)) != 0) {
		ip_addr_text(&line->address, line->text);
		line->told = line->address;
	}
	log_event(line->failed ? LOG_WARN_LEVEL : LOG_INFO_LEVEL,
	    "upstream_call", LOG_REQUEST(NULL, 'l', line->number),
	    LOG_TEXT("provider", line->provider), LOG_TEXT("host", line->host),
	    LOG_TEXT("address", address), LOG_TEXT("code", line->code),
	    LOG_TEXT("detail", line->detail), LOG_UINT("up", line->up),
	    LOG_UINT("down", line->down), LOG_UINT("sent_ms", line->sent_ms),
	    LOG_UINT("first_ms", line->first_ms),
	    LOG_UINT("total_ms", line->total_ms),
	    LOG_BOOL("reused", line->reused),
	    LOG_BOOL("resumed", line->resumed),
	    LOG_BOOL("retried", line->retried));
}

static uint64_t
key_lane_net_since(const struct key_lane *lane, uint64_t then_ms)
{
	return then_ms != 0 ? then_ms - lane->began_ms : 0;
}

static void
key_lane_net_report(struct key_lane *lane)
{
	const struct key_lane_io *io = key_lane_net_of(lane);
	struct key_lane_line *line = &io->world->line;

	key_lane_net_count(&io->world->counters, lane);
	key_lane_net_tell(io->world);
	line->is_due = true;
	memcpy(line->provider, lane->open.provider, sizeof(line->provider));
	line->host = lane->provider != NULL ? lane->provider->host : "";
	line->code = lane->is_cancelled ? "cancelled"
					: key_lane_failure_text(lane->failure);
	line->address = io->address;
	line->failed = lane->failure != 0;
	line->reused = io->is_reused;
	line->resumed = io->is_resumed;
	line->retried = lane->is_retried;
	memcpy(line->detail, lane->detail, sizeof(line->detail));
	line->number = lane->open.number;
	line->up = lane->up;
	line->down = lane->down;
	line->sent_ms = key_lane_net_since(lane, lane->sent_ms);
	line->first_ms = key_lane_net_since(lane, lane->first_ms);
	line->total_ms = event_loop_now_ms() - lane->began_ms;
}

const struct key_lane_actions key_lane_net_actions = {
    .now_ms = key_lane_net_now,
    .provider = key_lane_net_provider,
    .admit = key_lane_net_admit,
    .connect = key_lane_net_connect,
    .inject = key_lane_net_inject,
    .send = key_lane_net_send,
    .release = key_lane_net_release,
    .judge = key_lane_net_judge,
    .say = key_lane_net_say,
    .deadline = key_lane_net_deadline,
    .report = key_lane_net_report,
};
