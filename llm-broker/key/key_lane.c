/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call after the other on a lane. Called by key_lane_io.c. Must never
 * connect before the head was checked, write before there is a key (for a
 * provider that takes one), write a request twice unless not a byte of it
 * left, or look at a byte of a body.
 */
#include "llm-broker/key/key_lane.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "llm-broker/key/key_head.h"
#include "llm-broker/lane_trunk.h"

#define KEY_LANE_BODY_MAX (UINT64_C(1) << 40)
#define KEY_LANE_WAIT_MAX 600000U /* for a response without a limit */

static const char *const key_lane_states[] = {"free", "head", "key", "connect",
    "send", "body", "answer", "over", "closed"};
static const char *const key_lane_failures[] = {"", "credential_unavailable",
    "key_refused", "lookup_failed", "address_not_allowed", "dial_failed",
    "upstream_tls", "timeout", "upstream_closed", "bad_head",
    "too_many_connections"};

static void key_lane_proceed(struct key_lane *lane);

const char *
key_lane_state_text(enum key_lane_state state)
{
	return (unsigned)state <= KEY_LANE_CLOSED ? key_lane_states[state]
						  : "unknown";
}

const char *
key_lane_failure_text(enum lane_failure failure)
{
	return (unsigned)failure <= LANE_FAILED_BUSY
		   ? key_lane_failures[failure]
		   : "unknown";
}

static void
key_lane_enter(
    struct key_lane *lane, enum key_lane_state state, const char *why)
{
	log_event(LOG_DEBUG_LEVEL, "lane_state",
	    LOG_REQUEST(NULL, 'l', lane->open.number),
	    LOG_UINT("call", lane->open.frame.call),
	    LOG_TEXT("from", key_lane_state_text(lane->state)),
	    LOG_TEXT("to", key_lane_state_text(state)), LOG_TEXT("why", why));
	lane->state = state;
}

void
key_lane_init(struct key_lane *lane, const struct key_lane_actions *actions)
{
	memset(lane, 0, sizeof(*lane));
	lane->actions = actions;
	lane->is_reported = true; /* there is no call yet */
}

/* --- ends --- */

/* A call in this state has or waits for a connection. */
static bool
key_lane_is_under_way(const struct key_lane *lane)
{
	switch (lane->state) {
	case KEY_LANE_HEAD:
	case KEY_LANE_KEY:
	case KEY_LANE_CONNECT:
	case KEY_LANE_SEND:
	case KEY_LANE_BODY:
	case KEY_LANE_ANSWER:
		return true;
	case KEY_LANE_FREE:
	case KEY_LANE_OVER:
	case KEY_LANE_CLOSED:
		return false;
	}
	return false;
}

static void
key_lane_report(struct key_lane *lane)
{
	if (!lane->is_reported)
		lane->actions->report(lane);
	lane->is_reported = true;
}

/* The call failed; what of its request is still to come is dropped. */
static void
key_lane_fail(
    struct key_lane *lane, enum lane_failure failure, const char *detail)
{
	lane->failure = failure;
	(void)snprintf(lane->detail, sizeof(lane->detail), "%s", detail);
	lane->actions->deadline(lane, 0);
	lane->actions->release(lane, false);
	key_lane_enter(lane, KEY_LANE_OVER, detail);
	lane->actions->say(lane, LANE_FAILED, (uint32_t)failure);
}

void
key_lane_gone(struct key_lane *lane, const char *why)
{
	if (lane->state == KEY_LANE_CLOSED)
		return;
	if (key_lane_is_under_way(lane) && lane->failure == 0) {
		lane->is_cancelled = true;
		lane->actions->deadline(lane, 0);
		lane->actions->release(lane, false);
	}
	key_lane_report(lane);
	key_lane_enter(lane, KEY_LANE_CLOSED, why);
}

/* RELEASE, of this call. */
static void
key_lane_release(struct key_lane *lane, uint32_t value)
{
	enum key_lane_verdict verdict =
	    lane->down > 0 ? KEY_LANE_SUCCEEDED : KEY_LANE_UNKNOWN;
	bool keep = value == LANE_RELEASE_KEEP && lane->down > 0 &&
		    lane->state == KEY_LANE_ANSWER;

	if (value == LANE_RELEASE_KEY_REFUSED)
		verdict = KEY_LANE_KEY_REFUSED;
	lane->actions->judge(lane, verdict);
	lane->actions->deadline(lane, 0);
	lane->actions->release(lane, keep);
	key_lane_report(lane);
	key_lane_enter(lane, KEY_LANE_FREE, "released");
}

/* The broker broke the rules of lane.h. */
static void
key_lane_break(struct key_lane *lane, const char *why)
{
	lane->is_broken = true;
	key_lane_gone(lane, why);
}

/* --- frames --- */

static bool
key_lane_frame(const char *bytes, struct lane_frame *frame_r)
{
	memcpy(frame_r, bytes, sizeof(*frame_r));
	return frame_r->magic == LANE_MAGIC;
}

static bool
key_lane_open_fits(const struct lane_open *open)
{
	return open->frame.type == LANE_OPEN && open->frame.value >= 1 &&
	       open->frame.value <= LANE_HEAD_MAX &&
	       open->body_len <= KEY_LANE_BODY_MAX &&
	       memchr(open->provider, '\0', sizeof(open->provider)) != NULL;
}

static size_t
key_lane_take_open(struct key_lane *lane, const char *bytes, size_t len)
{
	struct lane_frame frame;

	if (len < sizeof(frame))
		return 0;
	if (!key_lane_frame(bytes, &frame) || frame.type != LANE_OPEN) {
		key_lane_break(lane, "a frame that is no OPEN");
		return 0;
	}
	if (len < sizeof(lane->open))
		return 0;
	memcpy(&lane->open, bytes, sizeof(lane->open));
	if (!key_lane_open_fits(&lane->open)) {
		key_lane_break(lane, "an OPEN that cannot be");
		return 0;
	}
	lane->left = lane->open.frame.value + lane->open.body_len;
	lane->apart = lane->open.body_len > LANE_TRUNK_BODY_MAX
			  ? lane->open.body_len - LANE_TRUNK_BODY_MAX
			  : 0;
	lane->up = lane->down = lane->sent_ms = lane->first_ms = 0;
	lane->failure = 0;
	lane->detail[0] = '\0';
	lane->is_cancelled = lane->is_retried = lane->is_reported = false;
	lane->began_ms = lane->actions->now_ms(lane);
	key_lane_enter(lane, KEY_LANE_HEAD, "opened");
	return sizeof(lane->open);
}

static size_t
key_lane_take_release(struct key_lane *lane, const char *bytes, size_t len)
{
	struct lane_frame frame;

	if (len < sizeof(frame))
		return 0;
	if (!key_lane_frame(bytes, &frame) || frame.type != LANE_RELEASE ||
	    frame.call != lane->open.frame.call ||
	    frame.value < LANE_RELEASE_KEEP ||
	    frame.value > LANE_RELEASE_KEY_REFUSED) {
		key_lane_break(lane, "a frame that is no RELEASE of this call");
		return 0;
	}
	key_lane_release(lane, frame.value);
	return sizeof(frame);
}

/* --- a call --- */

/* Until when something must happen, from now on. */
static void
key_lane_await(struct key_lane *lane)
{
	uint32_t wait =
	    lane->first_ms == 0 ? lane->open.first_byte_ms : lane->open.idle_ms;

	if (wait == 0 || wait > KEY_LANE_WAIT_MAX)
		wait = KEY_LANE_WAIT_MAX;
	lane->actions->deadline(lane, lane->actions->now_ms(lane) + wait);
}

static void
key_lane_connect(struct key_lane *lane)
{
	enum result result = lane->actions->connect(lane);

	if (result == RESULT_OK)
		key_lane_enter(lane, KEY_LANE_SEND, "a connection rested");
	else if (result == RESULT_NEED_MORE)
		key_lane_enter(lane, KEY_LANE_CONNECT, "none rested");
	else
		key_lane_fail(lane, LANE_FAILED_BUSY, "no more connections");
}

/* The head was checked: a key, then a connection. */
static void
key_lane_proceed(struct key_lane *lane)
{
	switch (lane->actions->admit(lane)) {
	case KEY_LANE_GO:
		lane->actions->deadline(lane, 0);
		key_lane_connect(lane);
		return;
	case KEY_LANE_WAIT:
		if (lane->state != KEY_LANE_KEY)
			key_lane_enter(lane, KEY_LANE_KEY, "it is to come");
		return;
	case KEY_LANE_NO_KEY:
		key_lane_fail(lane, LANE_FAILED_NO_KEY, "there is no key");
		return;
	case KEY_LANE_BREAKER:
		key_lane_fail(lane, LANE_FAILED_BREAKER,
		    "the provider refused this key lately");
		return;
	}
}

static void
key_lane_judge_head(struct key_lane *lane, const char *head)
{
	struct key_head_expected expected;
	enum key_head_fault fault;

	lane->provider = lane->actions->provider(lane, lane->open.provider);
	if (lane->provider == NULL) {
		key_lane_fail(lane, LANE_FAILED_HEAD, "an unknown provider");
		return;
	}
	expected.host = lane->provider->host;
	expected.authority = lane->provider->authority;
	expected.key_header = lane->provider->header;
	expected.body_len = lane->open.body_len;
	fault = key_head_check(head, lane->open.frame.value, &expected);
	if (fault == KEY_HEAD_OK)
		key_lane_proceed(lane);
	else
		key_lane_fail(
		    lane, LANE_FAILED_HEAD, key_head_fault_text(fault));
}

/* The head is not taken until it is written: it stays with the caller. */
static size_t
key_lane_take_head(struct key_lane *lane, const char *bytes, size_t len)
{
	if (len >= lane->open.frame.value)
		key_lane_judge_head(lane, bytes);
	return 0;
}

/* Nothing of it left: it may be tried once more. */
static void
key_lane_lost(struct key_lane *lane, bool sent, const char *why)
{
	lane->actions->release(lane, false);
	if (sent || lane->is_retried) {
		key_lane_fail(lane, LANE_FAILED_CLOSED, why);
		return;
	}
	lane->is_retried = true;
	key_lane_proceed(lane);
}

static void
key_lane_sent(struct key_lane *lane, size_t body_len)
{
	lane->up += body_len;
	if (lane->state != KEY_LANE_ANSWER && lane->left == 0)
		key_lane_enter(lane, KEY_LANE_ANSWER, "all is sent");
	if (lane->first_ms == 0)
		key_lane_await(lane);
}

static size_t
key_lane_take_request(struct key_lane *lane, const char *bytes, size_t len)
{
	size_t head_len = lane->open.frame.value;
	size_t body_len = len - head_len;
	bool sent = false;
	enum result result;

	if (lane->actions->admit(lane) != KEY_LANE_GO) {
		/* The key went while the connection was made. */
		lane->actions->release(lane, true);
		key_lane_proceed(lane);
		return 0;
	}
	if (body_len > lane->left - lane->apart - head_len)
		body_len = (size_t)(lane->left - lane->apart - head_len);
	result = lane->actions->inject(
	    lane, bytes, head_len, bytes + head_len, body_len, &sent);
	if (result != RESULT_OK) {
		key_lane_lost(lane, sent, "closed before the request was sent");
		return 0;
	}
	lane->left -= head_len + body_len;
	lane->sent_ms = lane->actions->now_ms(lane);
	key_lane_enter(lane, KEY_LANE_BODY, "the head is sent");
	key_lane_sent(lane, body_len);
	return head_len + body_len;
}

/* As many of these as are of the request and come by the trunk. */
static size_t
key_lane_with(const struct key_lane *lane, size_t len)
{
	uint64_t with = lane->left - lane->apart;

	return len < with ? len : (size_t)with;
}

/* A connection that takes no more may still have answered: the end shows
 * when it is read, and the body is dropped until then. */
static void
key_lane_pass(struct key_lane *lane, const char *bytes, size_t len)
{
	lane->left -= len;
	if (lane->state != KEY_LANE_BODY || len == 0)
		return;
	(void)lane->actions->send(lane, bytes, len);
	key_lane_sent(lane, len);
}

static size_t
key_lane_take_body(struct key_lane *lane, const char *bytes, size_t len)
{
	len = key_lane_with(lane, len);
	key_lane_pass(lane, bytes, len);
	return len;
}

static size_t
key_lane_take_rest(struct key_lane *lane, const char *bytes, size_t len)
{
	if (lane->left == 0)
		return key_lane_take_release(lane, bytes, len);
	len = key_lane_with(lane, len);
	lane->left -= len;
	return len;
}

bool
key_lane_is_apart(const struct key_lane *lane)
{
	return lane->apart > 0 && lane->left == lane->apart &&
	       (lane->state == KEY_LANE_BODY || lane->state == KEY_LANE_OVER);
}

void
key_lane_take_apart(struct key_lane *lane, const char *bytes, size_t len)
{
	lane->apart -= len;
	key_lane_pass(lane, bytes, len);
}

/* One step; the number of bytes it took. */
static size_t
key_lane_step(struct key_lane *lane, const char *bytes, size_t len)
{
	switch (lane->state) {
	case KEY_LANE_FREE:
		return key_lane_take_open(lane, bytes, len);
	case KEY_LANE_HEAD:
		return key_lane_take_head(lane, bytes, len);
	case KEY_LANE_SEND:
		return key_lane_take_request(lane, bytes, len);
	case KEY_LANE_BODY:
		return key_lane_take_body(lane, bytes, len);
	case KEY_LANE_ANSWER:
		return key_lane_take_release(lane, bytes, len);
	case KEY_LANE_OVER:
		return key_lane_take_rest(lane, bytes, len);
	case KEY_LANE_KEY:
	case KEY_LANE_CONNECT:
	case KEY_LANE_CLOSED:
		return 0;
	}
	return 0;
}

size_t
key_lane_take(struct key_lane *lane, const char *bytes, size_t len)
{
	size_t taken = 0, step;
	enum key_lane_state before;

	do {
		before = lane->state;
		step = key_lane_step(lane, bytes + taken, len - taken);
		taken += step;
	} while (taken < len && (step > 0 || lane->state != before ||
				    lane->state == KEY_LANE_SEND));
	return taken;
}

bool
key_lane_wants(const struct key_lane *lane)
{
	return lane->state != KEY_LANE_KEY && lane->state != KEY_LANE_CONNECT &&
	       lane->state != KEY_LANE_CLOSED;
}

/* --- what happens besides --- */

void
key_lane_ready(struct key_lane *lane)
{
	if (lane->state == KEY_LANE_CONNECT)
		key_lane_enter(lane, KEY_LANE_SEND, "connected");
}

void
key_lane_failed(
    struct key_lane *lane, enum lane_failure failure, const char *detail)
{
	if (lane->state != KEY_LANE_CONNECT)
		return;
	if (failure == LANE_FAILED_CLOSED)
		key_lane_lost(lane, false, detail);
	else
		key_lane_fail(lane, failure, detail);
}

void
key_lane_key_changed(struct key_lane *lane)
{
	if (lane->state == KEY_LANE_KEY)
		key_lane_proceed(lane);
}

void
key_lane_received(struct key_lane *lane, size_t len)
{
	if (lane->first_ms == 0)
		lane->first_ms = lane->actions->now_ms(lane);
	lane->down += len;
	key_lane_await(lane);
}

void
key_lane_upstream_ended(struct key_lane *lane, bool in_order)
{
	if (lane->state != KEY_LANE_BODY && lane->state != KEY_LANE_ANSWER)
		return;
	if (!in_order || lane->down == 0) {
		key_lane_fail(lane, LANE_FAILED_CLOSED,
		    lane->down == 0 ? "closed before the response"
				    : "closed inside the response");
		return;
	}
	lane->actions->deadline(lane, 0);
	lane->actions->release(lane, false);
	key_lane_enter(lane, KEY_LANE_OVER, "the response ended");
	lane->actions->say(lane, LANE_EOF, 0);
}

void
key_lane_stalled(struct key_lane *lane, bool stalled)
{
	if (lane->state != KEY_LANE_BODY && lane->state != KEY_LANE_ANSWER)
		return;
	if (stalled)
		lane->actions->deadline(lane, 0);
	else
		key_lane_await(lane);
}

void
key_lane_deadline(struct key_lane *lane)
{
	if (lane->state == KEY_LANE_KEY)
		key_lane_proceed(lane);
	else if (lane->state == KEY_LANE_BODY || lane->state == KEY_LANE_ANSWER)
		key_lane_fail(lane, LANE_FAILED_TIMEOUT,
		    lane->first_ms == 0 ? "no response"
					: "no more of the response");
}
