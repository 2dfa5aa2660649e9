/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one connection. Called by session_io.c for everything that
 * happens to it, and by tests/machine with scripted events. The order of
 * checks is the point of this file: policy before lookup, every address
 * before the dial, the hello before a byte goes upstream. Must never touch
 * a socket itself, nor go on after a refusal.
 */
#include "egress-proxy/session.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "egress-proxy/session_actions.h"
#include "egress-proxy/session_data.h"
#include "egress-proxy/session_judge.h"
#include "egress-proxy/session_place.h"
#include "egress-proxy/session_reply.h"
#include "egress-proxy/session_text.h"
#include "egress-proxy/session_work.h"

/* The only writer of the state. */
static void
session_enter(
    struct session *session, enum session_state state, const char *why)
{
	log_event(LOG_DEBUG_LEVEL, "session_state", LOG_UINT("id", session->id),
	    LOG_REQUEST(session->sandbox->id, 'c', session->id),
	    LOG_TEXT("from", session_text_state(session->state)),
	    LOG_TEXT("to", session_text_state(state)), LOG_TEXT("why", why));
	session_place_leave(session);
	session->state = state;
	session_place_take(session, state);
}

static void
session_deadline(struct session *session, uint64_t ms)
{
	deadline_wheel_arm(session->wheel, &session->deadline,
	    session->actions->now_ms(session) + ms);
}

static void
session_report(struct session *session)
{
	if (session->reported)
		return;
	session->reported = 1;
	session->actions->report(session);
}

/* The only end. */
static void
session_close(struct session *session, enum session_reason reason, bool reset)
{
	if (session->reason == SESSION_REASON_NONE)
		session->reason = reason;
	session->actions->cancel(session);
	session->actions->release(session, reset);
	deadline_wheel_clear(session->wheel, &session->deadline);
	session_report(session);
	session_enter(
	    session, SESSION_CLOSED, session_text_reason(session->reason));
}

static void
session_linger(struct session *session, const char *why)
{
	session->actions->linger(session);
	session_deadline(session, SESSION_LINGER_MS);
	session_enter(session, SESSION_LINGER, why);
}

/* Refuse with a code: told to the client where it can hear it. status 0 is
 * the code's own. */
static void
session_refuse_as(struct session *session, enum deny_code code, unsigned status,
    enum session_reason reason)
{
	enum result told = RESULT_REFUSED;

	session->code = code;
	session->reason = reason;
	session->actions->cancel(session);
	session_report(session);
	if (session->kind != SESSION_KIND_DIRECT && !session->answered)
		told = session_reply_send(session, status);
	else if (session->tls && session->state != SESSION_TUNNEL)
		told = session_reply_alert(session);
	session->answered = 1;
	if (told == RESULT_OK)
		session_linger(session, deny_text(code));
	else
		session_close(session, reason, false);
}

static void
session_refuse(struct session *session, enum deny_code code, unsigned status)
{
	session_refuse_as(session, code, status, SESSION_REASON_REFUSED);
}

static void
session_no_memory(struct session *session)
{
	session_close(session, SESSION_REASON_NO_MEMORY, true);
}

/* An error, not a refusal: a lookup or dial that failed or took too long. */
static void
session_fail(struct session *session, enum deny_code code, enum result fault)
{
	if (fault == RESULT_TIMEOUT)
		session_refuse(session, DENY_TIMEOUT, 504);
	else
		session_refuse(session, code, 0);
}

static void
session_dial(struct session *session)
{
	session_enter(session, SESSION_DIAL, "dial");
	session_deadline(session, session->limits->dial_ms);
	if (session->actions->dial(session) != RESULT_OK)
		session_fail(session, DENY_DIAL_FAILED, RESULT_SYSTEM);
}

static void
session_resolve(struct session *session)
{
	session_enter(session, SESSION_RESOLVE, "resolve");
	session_deadline(session, session->limits->lookup_ms);
	if (session->actions->resolve(session) != RESULT_OK)
		session_fail(session, DENY_LOOKUP_FAILED, RESULT_SYSTEM);
}

/* Target known: policy, then a place, then the lookup. */
static void
session_decide(struct session *session, const struct ip_addr *literal)
{
	struct session_work *work = session->work;
	enum deny_code code;

	code = session_judge_target(session, &work->name, literal);
	if (code != DENY_NONE) {
		session_refuse(session, code, 0);
		return;
	}
	if (egress_quota_exhausted(&session->sandbox->quota)) {
		session_close(session, SESSION_REASON_BYTE_LIMIT, true);
		return;
	}
	if (session_place_is_full(session) &&
	    !session->actions->make_room(session)) {
		session_refuse(session, DENY_TOO_MANY_TUNNELS, 0);
		return;
	}
	if (literal == NULL) {
		session_resolve(session);
		return;
	}
	work->answers[0] = *literal;
	work->answer_count = 1;
	session_dial(session);
}

/* A whole request head is there. */
static void
session_take_request(
    struct session *session, const struct connect_request *request)
{
	const struct connect_request_target *target = &request->target;
	char host[DOMAIN_NAME_MAX + 1];

	session->kind =
	    request->plain_http ? SESSION_KIND_HTTP : SESSION_KIND_CONNECT;
	session->port = target->port;
	session->in_used = request->head.head_len;
	session->work->name = target->name;
	connect_request_host_text(target, host);
	session->host = strdup(host);
	if (session->host == NULL) {
		session_no_memory(session);
		return;
	}
	session_decide(session, target->is_address ? &target->address : NULL);
}

static void
session_on_head(struct session *session, enum session_event event)
{
	struct buffer *in = &session->work->in;
	struct connect_request request;

	if (event == SESSION_EVENT_CLIENT_END) {
		session_close(session, SESSION_REASON_CLIENT_GONE, false);
		return;
	}
	if (event != SESSION_EVENT_CLIENT_BYTES)
		return;
	switch (connect_request_parse(
	    (const char *)buffer_bytes_borrow(in), in->len, &request)) {
	case CONNECT_REQUEST_NEED_MORE:
		return;
	case CONNECT_REQUEST_REFUSED:
		session_refuse(session, request.code, request.http_status);
		return;
	case CONNECT_REQUEST_OK:
		session_take_request(session, &request);
		return;
	}
}

/* No byte for too long, open for too long, or neither yet: then look again
 * when one of the two can be. */
static void
session_moving_deadline(struct session *session)
{
	const struct session_limits *limits = session->limits;
	uint64_t now = session->actions->now_ms(session);
	uint64_t idle = session->active_ms + limits->idle_ms;
	uint64_t total = session->started_ms + limits->total_ms;
	enum session_reason reason =
	    now >= total ? SESSION_REASON_TOTAL : SESSION_REASON_IDLE;

	if (now < idle && now < total) {
		deadline_wheel_arm(session->wheel, &session->deadline,
		    idle < total ? idle : total);
		return;
	}
	if (session->state == SESSION_EXCHANGE && !session->answered) {
		session_refuse_as(session, DENY_TIMEOUT, 504, reason);
		return;
	}
	session->code = DENY_TIMEOUT;
	session_close(session, reason, true);
}

/* All was decided: pass on what was collected, then everything. */
static void
session_open(struct session *session, enum session_state state)
{
	const struct session_actions *actions = session->actions;
	enum result result = RESULT_OK;

	session->active_ms = actions->now_ms(session);
	session_enter(session, state, "open");
	session_moving_deadline(session);
	if (session->state == SESSION_TUNNEL)
		result = actions->start_tunnel(session);
	else if (session->state == SESSION_EXCHANGE)
		result = actions->start_exchange(session);
	if (result != RESULT_OK)
		session_no_memory(session);
	session_work_free(&session->work);
}

/* The server asked for it, and it names the same: on with the tunnel. */
static void
session_resume(struct session *session)
{
	enum result result;

	session->active_ms = session->actions->now_ms(session);
	session_enter(session, SESSION_TUNNEL, "second hello");
	session_moving_deadline(session);
	result = session->actions->resume_tunnel(session);
	session_work_free(&session->work);
	if (result != RESULT_OK)
		session_no_memory(session);
}

/* The whole hello is there: one name, and the right one? */
static void
session_take_hello(struct session *session, const struct client_hello *hello)
{
	enum deny_code code;

	code = session_judge_hello(session, hello);
	if (code != DENY_NONE)
		session_refuse(session, code, 0);
	else if (session->state == SESSION_RETRY)
		session_resume(session);
	else if (session->kind == SESSION_KIND_DIRECT)
		session_decide(session, NULL);
	else
		session_open(session, SESSION_TUNNEL);
}

static void
session_read_hello(struct session *session)
{
	struct session_work *work = session->work;
	struct client_hello hello;
	enum client_hello_status status;

	status = client_hello_read(&work->hello,
	    buffer_bytes_borrow(&work->in) + session->in_used,
	    work->in.len - session->in_used, &hello);
	switch (status) {
	case CLIENT_HELLO_OK:
		session_take_hello(session, &hello);
		return;
	case CLIENT_HELLO_NEED_MORE:
		return;
	case CLIENT_HELLO_NOT_TLS:
	case CLIENT_HELLO_BAD:
	case CLIENT_HELLO_TOO_LONG:
	case CLIENT_HELLO_STATUS_COUNT:
		break;
	}
	session_refuse(session, client_hello_deny_code(status), 0);
}

/* HELLO and RETRY. */
static void
session_on_hello(struct session *session, enum session_event event)
{
	if (event == SESSION_EVENT_CLIENT_BYTES)
		session_read_hello(session);
	else if (event == SESSION_EVENT_CLIENT_END)
		session_close(session, SESSION_REASON_CLIENT_GONE, false);
}

static void
session_on_new(struct session *session, enum session_event event)
{
	if (event != SESSION_EVENT_ACCEPTED)
		return;
	if (session->kind == SESSION_KIND_DIRECT) {
		session_enter(session, SESSION_HELLO, "accepted");
		session_deadline(session, session->limits->hello_ms);
	} else {
		session_enter(session, SESSION_HEAD, "accepted");
		session_deadline(session, session->limits->head_ms);
	}
}

static void
session_on_resolve(struct session *session, enum session_event event)
{
	struct session_work *work = session->work;
	enum deny_code code;

	if (event == SESSION_EVENT_LOOKUP_FAILED) {
		session_fail(session, DENY_LOOKUP_FAILED, work->fault);
		return;
	}
	if (event != SESSION_EVENT_RESOLVED)
		return;
	code = session_judge_answer(
	    session, &work->name, work->answers, work->answer_count);
	if (code != DENY_NONE)
		session_refuse(session, code, 0);
	else
		session_dial(session);
}

/* The upstream is there, and may get its first bytes. */
static void
session_connected(struct session *session)
{
	if (session->kind == SESSION_KIND_DIRECT) {
		session_open(session, SESSION_TUNNEL);
		return;
	}
	if (session->kind == SESSION_KIND_HTTP) {
		session_open(session, SESSION_EXCHANGE);
		return;
	}
	if (session_reply_established(session) != RESULT_OK) {
		session_close(session, SESSION_REASON_CLIENT_GONE, true);
		return;
	}
	session->answered = 1;
	if (session->raw) {
		session_open(session, SESSION_TUNNEL);
		return;
	}
	session_enter(session, SESSION_HELLO, "answered");
	session_deadline(session, session->limits->hello_ms);
	if (session->work->in.len > session->in_used)
		session_read_hello(session);
}

static void
session_on_dial(struct session *session, enum session_event event)
{
	if (event == SESSION_EVENT_DIAL_FAILED) {
		session_fail(session, DENY_DIAL_FAILED, session->work->fault);
		return;
	}
	if (event == SESSION_EVENT_DIALED)
		session_connected(session);
}

/* A HelloRetryRequest: what the client says to it is judged like its first
 * hello, and as the first of the two it has the time for that. */
static void
session_retry(struct session *session)
{
	struct domain name;

	if (domain_parse_any(session->host, strlen(session->host), &name) !=
		DOMAIN_OK ||
	    session_work_new(&name, &session->work) != RESULT_OK ||
	    session->actions->take_back(session) != RESULT_OK) {
		session_no_memory(session);
		return;
	}
	session->in_used = 0;
	session_enter(session, SESSION_RETRY, "retry");
	session_deadline(session, session->limits->hello_ms);
	if (session->work->in.len > 0)
		session_read_hello(session);
}

/* What a tunnel's or an exchange's end looked like. */
static void
session_on_moving(struct session *session, enum session_event event)
{
	if (event == SESSION_EVENT_MOVED_ALL) {
		session->reason = SESSION_REASON_DONE;
		session_report(session);
		if (session->state == SESSION_EXCHANGE)
			session_linger(session, "done");
		else
			session_close(session, SESSION_REASON_DONE, false);
	} else if (event == SESSION_EVENT_BAD_REQUEST_BODY) {
		session_refuse(session, DENY_BAD_REQUEST, 0);
	} else if (event == SESSION_EVENT_BAD_RESPONSE) {
		session_refuse(session, DENY_DIAL_FAILED, 0);
	} else if (event == SESSION_EVENT_RETRY &&
		   session->state == SESSION_TUNNEL) {
		session_retry(session);
	} else if (event == SESSION_EVENT_SECOND_HELLO) {
		session_refuse(session, DENY_TLS_PARSE, 0);
	} else if (event == SESSION_EVENT_MOVE_BROKEN) {
		session_close(session, SESSION_REASON_RESET, true);
	}
}

static void
session_on_deadline(struct session *session)
{
	switch (session->state) {
	case SESSION_NEW:
	case SESSION_HEAD:
	case SESSION_HELLO:
	case SESSION_RETRY:
		session_refuse(session, DENY_TIMEOUT, 0);
		return;
	case SESSION_RESOLVE:
		session_fail(session, DENY_LOOKUP_FAILED, RESULT_TIMEOUT);
		return;
	case SESSION_DIAL:
		session_fail(session, DENY_DIAL_FAILED, RESULT_TIMEOUT);
		return;
	case SESSION_TUNNEL:
	case SESSION_EXCHANGE:
		session_moving_deadline(session);
		return;
	case SESSION_LINGER:
		session_close(session, SESSION_REASON_DONE, false);
		return;
	case SESSION_CLOSED:
	case SESSION_STATE_COUNT:
		return;
	}
}

/* The policy was narrowed: what no longer matches ends. */
static void
session_on_policy(struct session *session)
{
	enum deny_code code;

	if (session->list != SESSION_LIST_OPENING &&
	    session->list != SESSION_LIST_OPEN)
		return;
	code = session_judge_again(session);
	if (code == DENY_NONE)
		return;
	session->code = code;
	if (session->list == SESSION_LIST_OPEN)
		session_close(session, SESSION_REASON_NARROWED, true);
	else
		session_refuse_as(session, code, 0, SESSION_REASON_NARROWED);
}

/* Events that mean the same in every state; false: ask the state. */
static bool
session_interrupted(struct session *session, enum session_event event)
{
	if (event == SESSION_EVENT_SANDBOX_CLOSED)
		session_close(session, SESSION_REASON_SANDBOX_CLOSED, true);
	else if (event == SESSION_EVENT_CLIENT_LOST)
		session_close(session,
		    session->list == SESSION_LIST_OPEN
			? SESSION_REASON_RESET
			: SESSION_REASON_CLIENT_GONE,
		    true);
	else if (event == SESSION_EVENT_DEADLINE)
		session_on_deadline(session);
	else if (event == SESSION_EVENT_POLICY)
		session_on_policy(session);
	else if (event == SESSION_EVENT_BYTE_LIMIT)
		session_close(session, SESSION_REASON_BYTE_LIMIT, true);
	else if (event == SESSION_EVENT_EVICTED &&
		 session->state == SESSION_LINGER)
		session_close(session, SESSION_REASON_EVICTED, true);
	else if (event == SESSION_EVENT_EVICTED)
		session_refuse_as(
		    session, DENY_TOO_MANY_TUNNELS, 0, SESSION_REASON_EVICTED);
	else
		return false;
	return true;
}

void
session_begin(struct session *session)
{
	session->started_ms = session->actions->now_ms(session);
	session->active_ms = session->started_ms;
	session_place_take(session, SESSION_NEW);
}

void
session_step(struct session *session, enum session_event event)
{
	if (session->state == SESSION_CLOSED ||
	    session_interrupted(session, event))
		return;
	switch (session->state) {
	case SESSION_NEW:
		session_on_new(session, event);
		return;
	case SESSION_HEAD:
		session_on_head(session, event);
		return;
	case SESSION_HELLO:
		session_on_hello(session, event);
		return;
	case SESSION_RESOLVE:
		session_on_resolve(session, event);
		return;
	case SESSION_DIAL:
		session_on_dial(session, event);
		return;
	case SESSION_TUNNEL:
	case SESSION_EXCHANGE:
		session_on_moving(session, event);
		return;
	case SESSION_RETRY:
		session_on_hello(session, event);
		session_on_moving(session, event);
		return;
	case SESSION_LINGER:
		if (event == SESSION_EVENT_CLIENT_END)
			session_close(session, SESSION_REASON_DONE, false);
		return;
	case SESSION_CLOSED:
	case SESSION_STATE_COUNT:
		return;
	}
}

void
session_end(struct session *session)
{
	session_place_leave(session);
	session_work_free(&session->work);
	free(session->host);
	free(session->rule);
	free(session->sni);
}
