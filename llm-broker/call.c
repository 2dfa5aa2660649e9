/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a connection and its calls. Called by call_io.c for
 * everything that happens, and by tests/machine with scripted events. The
 * order is the point of this file: the whole request is judged before
 * anything is reserved, the budget is reserved before a byte goes up, and
 * every call that was reserved is settled. Must never touch a socket.
 */
#include "llm-broker/call.h"

#include <string.h>

#include "common/log.h"
#include "llm-broker/call_actions.h"
#include "llm-broker/call_admit.h"
#include "llm-broker/call_data.h"
#include "llm-broker/call_outcome.h"
#include "llm-broker/call_place.h"
#include "llm-broker/call_reply.h"
#include "llm-broker/call_take.h"
#include "llm-broker/call_text.h"

static const char call_continue[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* The only writer of the state. */
static void
call_enter(struct call *call, enum call_state state, const char *why)
{
	log_event(LOG_DEBUG_LEVEL, "call_state", LOG_UINT("id", call->number),
	    LOG_REQUEST(call->run->id, 'l', call->number),
	    LOG_TEXT("from", call_text_state(call->state)),
	    LOG_TEXT("to", call_text_state(state)), LOG_TEXT("why", why));
	call_place_leave(call);
	call->state = state;
	call_place_take(call, state);
}

static void
call_deadline(struct call *call, uint64_t ms)
{
	deadline_wheel_arm(
	    call->wheel, &call->deadline, call->actions->now_ms(call) + ms);
}

static const struct grant_limits *
call_grant_limits(const struct call *call)
{
	return grant_limits_borrow(call->run->grant);
}

static void
call_forget_request(struct call *call)
{
	call_request_free(&call->request);
	call->given.len = 0;
}

/* The only end of a call: charged, told, its lane given back. ended: the
 * upstream's side of it is over. */
static void
call_finish(struct call *call, enum call_code code, bool ended)
{
	if (!call->open)
		return;
	call->open = 0;
	call->code = code;
	if (call->asked)
		call->actions->forget_reserve(call);
	call->asked = 0;
	if (call->relay != NULL) {
		call->redacted = call_relay_redacted(call->relay);
		call->out_bytes = call_relay_bytes(call->relay);
	}
	call_outcome_settle(call, code);
	call_outcome_leave_lane(call, ended);
	call->actions->report(call);
	call_forget_request(call);
}

/* The only end of a connection. */
static void
call_close(struct call *call, enum call_end end, bool reset)
{
	call_finish(call, CALL_CANCELLED, false);
	call->end = end;
	call->actions->close_agent(call, reset);
	deadline_wheel_clear(call->wheel, &call->deadline);
	call_enter(call, CALL_STATE_CLOSED, call_text_end(end));
}

static void
call_drain(struct call *call, bool keep, const char *why)
{
	call_relay_free(&call->relay);
	call->keep = keep;
	call->active_ms = call->actions->now_ms(call);
	call_deadline(call, call_grant_limits(call)->idle_ms);
	call_enter(call, CALL_STATE_DRAIN, why);
}

/* The agent has bytes of the response already: only an event of the stream
 * can say what happened, else the connection has to break. */
static void
call_break(struct call *call, const struct call_reply *reply)
{
	struct buffer event;
	enum result result = RESULT_REFUSED;

	buffer_init(&event, CALL_OUT_MAX);
	if (call->relay != NULL && call_reply_event(reply, &event) == RESULT_OK)
		result = call_relay_break(call->relay, &event, &call->out);
	buffer_free(&event);
	if (result == RESULT_OK)
		call_drain(call, false, call_code_text(reply->code));
	else
		call_close(call, CALL_END_BROKEN, true);
}

/* Refuse, fail or cut the call with what reply says. */
static void
call_refuse_with(struct call *call, struct call_reply *reply, bool ended)
{
	bool began = call->down_bytes > 0;

	if (call->is_call_llm)
		reply->shape = PROVIDER_ERRORS_CALL_LLM;
	else if (call->provider != NULL)
		reply->shape = provider_error_shape(call->provider);
	reply->keep_alive = reply->keep_alive && call->keep;
	call_finish(call, reply->code, ended);
	if (began) {
		call_break(call, reply);
		return;
	}
	buffer_clear(&call->out);
	if (call_reply_error(reply, &call->out) != RESULT_OK)
		call_close(call, CALL_END_NO_MEMORY, true);
	else
		call_drain(
		    call, reply->keep_alive, call_code_text(reply->code));
}

/* The request was read as a whole, so another one may follow. */
static void
call_refuse(struct call *call, enum call_code code, const char *detail)
{
	struct call_reply reply = {
	    .code = code, .detail = detail, .keep_alive = true};

	call_refuse_with(call, &reply, false);
}

static void
call_time_out(struct call *call, unsigned status)
{
	struct call_reply reply = {.code = CALL_TIMEOUT,
	    .status = status,
	    .detail = "",
	    .keep_alive = status == 504};

	call_refuse_with(call, &reply, false);
}

/* --- the way up --- */

static void
call_ask(struct call *call)
{
	const struct grant_limits *limits = call_grant_limits(call);
	enum result result;

	call->asked_ms = call->actions->now_ms(call);
	call->has_lane = 1;
	call_enter(call, CALL_STATE_ASK, "ask");
	call_deadline(call, limits->first_byte_ms + CALL_GRACE_MS);
	result = call->actions->ask(call);
	if (result == RESULT_OK)
		return;
	call->has_lane = 0;
	call_refuse(call,
	    result == RESULT_TOO_LONG ? CALL_TOO_MANY_CALLS
				      : CALL_CREDENTIAL_UNAVAILABLE,
	    "");
}

/* The request is whole and allowed by what it says. */
static void
call_admit(struct call *call)
{
	const char *detail = "";
	enum call_code code = call_admit_again(call);
	enum result result;

	if (code == CALL_OK)
		code = call_admit_check(call, &detail);
	if (code != CALL_OK) {
		call_refuse(call, code, detail);
		return;
	}
	call_admit_count(call);
	if (!grant_uses_ledger(call->run->grant)) {
		call_ask(call);
		return;
	}
	call_enter(call, CALL_STATE_RESERVE, "reserve");
	call_deadline(call, CALL_BUDGET_MS);
	result = call->actions->reserve(call);
	call->asked = result == RESULT_OK;
	call->reserved = result == RESULT_EXISTS;
	if (call->reserved)
		call_ask(call);
	else if (!call->asked)
		call_refuse(call, CALL_POLICY_UNAVAILABLE, "budget");
}

static void
call_on_reserve(struct call *call, enum call_event event)
{
	struct call_outcome outcome;

	if (event == CALL_EVENT_RESERVED || event == CALL_EVENT_REFUSED ||
	    event == CALL_EVENT_BUDGET_LOST)
		call->asked = 0;
	if (event == CALL_EVENT_RESERVED) {
		call->reserved = 1;
		call_ask(call);
	} else if (event == CALL_EVENT_BUDGET_LOST) {
		call_refuse(call, CALL_POLICY_UNAVAILABLE, "budget");
	} else if (event == CALL_EVENT_REFUSED) {
		call_outcome_of_budget(call, &outcome);
		call_refuse_with(call, &outcome.reply, false);
	}
}

/* --- the request --- */

static void
call_refuse_request(struct call *call)
{
	struct call_outcome outcome;

	call_outcome_of_request(call, &outcome);
	call->keep = outcome.reply.keep_alive;
	call_refuse_with(call, &outcome.reply, false);
}

/* What was read behind this request waits for its turn. */
static void
call_keep_ahead(struct call *call)
{
	if (buffer_append(&call->ahead, call->given.bytes, call->given.len) !=
	    RESULT_OK)
		call->keep = 0; /* more than a client of ours sends */
	call->given.len = 0;
}

/* A head has its time; more than a head can be is a body, which has more. */
static void
call_request_deadline(struct call *call, size_t used)
{
	uint64_t before = call->in_bytes;

	call->in_bytes += used;
	if (before <= CALL_REQUEST_HEAD_MAX &&
	    call->in_bytes > CALL_REQUEST_HEAD_MAX)
		call_deadline(call, call->limits->request_ms);
}

static void
call_feed(struct call *call)
{
	enum call_request_status status = CALL_REQUEST_MORE;
	size_t used;

	while (call->state == CALL_STATE_REQUEST) {
		used = 0;
		status = call_request_feed(
		    call->request, call->given.bytes, call->given.len, &used);
		call->given.bytes += used;
		call->given.len -= used;
		call_request_deadline(call, used);
		switch (status) {
		case CALL_REQUEST_MORE:
			return;
		case CALL_REQUEST_CONTINUE:
			(void)buffer_append_text(&call->out, call_continue);
			break;
		case CALL_REQUEST_DONE:
			call_keep_ahead(call);
			call_take_request(call);
			call_admit(call);
			return;
		case CALL_REQUEST_REFUSED:
			if (call_request_reusable(call->request))
				call_keep_ahead(call);
			call_refuse_request(call);
			return;
		}
	}
}

/* The first byte of a request: a new call. */
static void
call_start(struct call *call)
{
	if (call_take_fresh(call) != RESULT_OK) {
		call_close(call, CALL_END_NO_MEMORY, true);
		return;
	}
	call->open = 1;
	call_enter(call, CALL_STATE_REQUEST, "bytes");
	call_deadline(call, call->limits->head_ms);
	call_feed(call);
}

static void
call_idle(struct call *call)
{
	struct buffer ahead = call->ahead;

	call_enter(call, CALL_STATE_IDLE, "idle");
	call_deadline(call, call->limits->keep_ms);
	if (ahead.len == 0)
		return;
	buffer_init(&call->ahead, CALL_AHEAD_MAX);
	call->given.bytes = (const char *)buffer_bytes_borrow(&ahead);
	call->given.len = ahead.len;
	call_start(call);
	buffer_free(&ahead);
}

/* --- the way down --- */

/* No byte for too long, open for too long, or neither yet. */
static void
call_relay_deadline(struct call *call)
{
	const struct grant_limits *limits = call_grant_limits(call);
	uint64_t now = call->actions->now_ms(call);
	uint64_t idle = call->active_ms + limits->idle_ms + CALL_GRACE_MS;
	uint64_t total = call->started_ms + limits->total_ms;

	if (now >= idle || now >= total)
		call_time_out(call, 504);
	else
		deadline_wheel_arm(
		    call->wheel, &call->deadline, idle < total ? idle : total);
}

static void
call_pass_error(struct call *call)
{
	struct call_outcome outcome;

	call_outcome_of_provider(call, &outcome);
	call_refuse_with(call, &outcome.reply, true);
}

/* The whole response of a call_llm, in its own shape. */
static void
call_pass_llm(struct call *call)
{
	if (call_outcome_llm(call) != RESULT_OK) {
		call_refuse(call, CALL_UPSTREAM_BAD, "");
		return;
	}
	call_finish(call, CALL_OK, true);
	call_drain(call, call->keep, "done");
}

static void
call_relayed(struct call *call, enum call_relay_status status)
{
	call->upstream_status = call_relay_status_code(call->relay);
	switch (status) {
	case CALL_RELAY_MORE:
		return;
	case CALL_RELAY_FAILED:
		call_refuse(call, call_relay_code(call->relay), "");
		return;
	case CALL_RELAY_DONE:
		break;
	}
	if (call->upstream_status >= 400) {
		call_pass_error(call);
	} else if (call->is_call_llm) {
		call_pass_llm(call);
	} else {
		call->actions->push(call);
		call_finish(call, CALL_OK, true);
		call_drain(call, call->keep, "done");
	}
}

static bool
call_start_relay(struct call *call)
{
	if (call_take_response(call) != RESULT_OK) {
		call_refuse(call, CALL_CREDENTIAL_UNAVAILABLE, "");
		return false;
	}
	call_enter(call, CALL_STATE_RELAY, "response");
	call_relay_deadline(call);
	return call->state == CALL_STATE_RELAY;
}

static void
call_on_response(struct call *call, enum call_event event)
{
	struct http_text bytes = call->given;

	call->active_ms = call->actions->now_ms(call);
	if (call->state == CALL_STATE_ASK && !call_start_relay(call))
		return;
	if (event == CALL_EVENT_LANE_END)
		call_relayed(
		    call, call_relay_end(call->relay, call->space, &call->out));
	else
		call_relayed(call, call_relay_feed(call->relay, call->space,
				       bytes.bytes, bytes.len, &call->out));
}

static void
call_on_failed(struct call *call)
{
	struct call_outcome outcome;

	call_outcome_of_failure(call, &outcome);
	call_refuse_with(call, &outcome.reply, true);
}

/* ASK and RELAY: the lane speaks. */
static void
call_on_lane(struct call *call, enum call_event event)
{
	if (event == CALL_EVENT_SENT) {
		call->sent = 1;
		call_request_free(&call->request);
	} else if (event == CALL_EVENT_LANE_BYTES ||
		   event == CALL_EVENT_LANE_END) {
		call_on_response(call, event);
	} else if (event == CALL_EVENT_LANE_FAILED) {
		call_on_failed(call);
	} else if (event == CALL_EVENT_LANE_LOST) {
		call_refuse(call, CALL_UPSTREAM_CLOSED, "");
	}
}

/* --- everything else --- */

static void
call_on_drained(struct call *call)
{
	if (call->keep) {
		call_idle(call);
		return;
	}
	call->actions->linger(call);
	call_deadline(call, CALL_LINGER_MS);
	call_enter(call, CALL_STATE_LINGER, "drained");
}

static void
call_on_deadline(struct call *call)
{
	switch (call->state) {
	case CALL_STATE_NEW:
	case CALL_STATE_IDLE:
		call_close(call, CALL_END_IDLE, false);
		return;
	case CALL_STATE_REQUEST:
		call_time_out(call, 408);
		return;
	case CALL_STATE_RESERVE:
		call_refuse(call, CALL_POLICY_UNAVAILABLE, "budget");
		return;
	case CALL_STATE_ASK:
		call_time_out(call, 504);
		return;
	case CALL_STATE_RELAY:
		call_relay_deadline(call);
		return;
	case CALL_STATE_DRAIN:
		call_close(call, CALL_END_BROKEN, true);
		return;
	case CALL_STATE_LINGER:
		call_close(call, CALL_END_DONE, false);
		return;
	case CALL_STATE_CLOSED:
	case CALL_STATE_COUNT:
		return;
	}
}

static void
call_on_evicted(struct call *call)
{
	if (call->state == CALL_STATE_REQUEST)
		call_refuse(call, CALL_TOO_MANY_CALLS, "");
	else
		call_close(call, CALL_END_EVICTED, true);
}

/* The grant was narrowed: what it no longer covers ends. */
static void
call_on_narrowed(struct call *call)
{
	enum call_code code;

	if (!call->open || call->provider == NULL)
		return;
	code = call_admit_again(call);
	if (code != CALL_OK)
		call_refuse(call, code, "");
}

/* Events that mean the same in every state; false: ask the state. */
static bool
call_interrupted(struct call *call, enum call_event event)
{
	if (event == CALL_EVENT_SANDBOX_CLOSED)
		call_close(call, CALL_END_SANDBOX_CLOSED, true);
	else if (event == CALL_EVENT_AGENT_GONE)
		call_close(call, CALL_END_AGENT_GONE, false);
	else if (event == CALL_EVENT_DEADLINE)
		call_on_deadline(call);
	else if (event == CALL_EVENT_NARROWED)
		call_on_narrowed(call);
	else if (event == CALL_EVENT_EVICTED)
		call_on_evicted(call);
	else
		return false;
	return true;
}

void
call_begin(struct call *call)
{
	call->started_ms = call->actions->now_ms(call);
	call->active_ms = call->started_ms;
	buffer_init(&call->out, CALL_OUT_MAX);
	buffer_init(&call->ahead, CALL_AHEAD_MAX);
	call_place_take(call, CALL_STATE_NEW);
}

void
call_step(struct call *call, enum call_event event)
{
	if (call->state == CALL_STATE_CLOSED || call_interrupted(call, event))
		return;
	switch (call->state) {
	case CALL_STATE_NEW:
		if (event == CALL_EVENT_ACCEPTED)
			call_idle(call);
		return;
	case CALL_STATE_IDLE:
		if (event == CALL_EVENT_AGENT_BYTES)
			call_start(call);
		return;
	case CALL_STATE_REQUEST:
		if (event == CALL_EVENT_AGENT_BYTES)
			call_feed(call);
		return;
	case CALL_STATE_RESERVE:
		call_on_reserve(call, event);
		return;
	case CALL_STATE_ASK:
	case CALL_STATE_RELAY:
		call_on_lane(call, event);
		return;
	case CALL_STATE_DRAIN:
		if (event == CALL_EVENT_DRAINED)
			call_on_drained(call);
		return;
	case CALL_STATE_LINGER:
	case CALL_STATE_CLOSED:
	case CALL_STATE_COUNT:
		return;
	}
}

void
call_free_parts(struct call *call)
{
	call_place_leave(call);
	call_request_free(&call->request);
	call_relay_free(&call->relay);
	buffer_free(&call->out);
	buffer_free(&call->ahead);
}
