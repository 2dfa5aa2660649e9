/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consequences of a call's end. Called by call.c alone. Must never put
 * a byte of a provider into a reply, except a word of call_relay.c's list.
 */
#include "llm-broker/call_outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "llm-broker/call_actions.h"
#include "llm-broker/call_admit.h"
#include "llm-broker/call_llm.h"

/* How far did it get? */
static enum call_charge_end
call_outcome_charge_end(const struct call *call, enum call_code code)
{
	if (!call->has_lane ||
	    (call->failure != 0 && call_admit_was_unsent(call->failure)))
		return CALL_CHARGE_NOT_SENT;
	if (code == CALL_OK)
		return CALL_CHARGE_ENDED;
	return call->upstream_status >= 400 ? CALL_CHARGE_REFUSED
					    : CALL_CHARGE_CUT;
}

void
call_outcome_settle(struct call *call, enum call_code code)
{
	enum call_charge_end end = call_outcome_charge_end(call, code);

	if (end == CALL_CHARGE_NOT_SENT)
		call_admit_undo(call);
	if (call->provider != NULL)
		call_charge_settle(&call->charge, call->run->grant,
		    provider_name(call->provider), call->model,
		    call->relay != NULL ? call_relay_counts(call->relay) : NULL,
		    call->stream, end);
	if (call->reserved)
		call->actions->settle(call);
	call->reserved = 0;
}

void
call_outcome_leave_lane(struct call *call, bool ended)
{
	enum lane_release how = LANE_RELEASE_CLOSE;

	if (!call->has_lane)
		return;
	call->has_lane = 0;
	if (!ended || !call->sent) {
		call->actions->drop_lane(call);
		return;
	}
	if (call->upstream_status == 401 || call->upstream_status == 403)
		how = LANE_RELEASE_KEY_REFUSED;
	else if (call->relay != NULL && call_relay_reusable(call->relay))
		how = LANE_RELEASE_KEEP;
	call->actions->release_lane(call, how);
}

static struct call_reply *
call_outcome_begin(struct call_outcome *outcome, enum call_code code)
{
	memset(outcome, 0, sizeof(*outcome));
	outcome->reply.code = code;
	outcome->reply.detail = outcome->detail;
	outcome->reply.keep_alive = true;
	return &outcome->reply;
}

static void
call_outcome_say(struct call_outcome *outcome, const char *text)
{
	(void)snprintf(outcome->detail, sizeof(outcome->detail), "%s", text);
}

void
call_outcome_of_request(const struct call *call, struct call_outcome *outcome_r)
{
	const struct call_request *request = call->request;
	struct call_reply *reply =
	    call_outcome_begin(outcome_r, call_request_code(request));

	reply->status = call_request_http_status(request);
	reply->shape = call_request_shape(request);
	reply->keep_alive = call_request_reusable(request);
	call_outcome_say(outcome_r, call_request_detail(request));
}

void
call_outcome_of_budget(const struct call *call, struct call_outcome *outcome_r)
{
	const struct call_refusal *refusal = &call->refusal;
	struct call_reply *reply =
	    call_outcome_begin(outcome_r, CALL_BUDGET_EXCEEDED);

	if (refusal->retry_after_s > 0)
		reply->retry_after_s = (unsigned)refusal->retry_after_s;
	(void)snprintf(outcome_r->detail, sizeof(outcome_r->detail),
	    "%s of scope %s: %" PRId64 " of %" PRId64 " are used",
	    refusal->amount, refusal->scope, refusal->used, refusal->limit);
}

void
call_outcome_of_provider(
    const struct call *call, struct call_outcome *outcome_r)
{
	bool key = call->upstream_status == 401 || call->upstream_status == 403;
	struct call_reply *reply = call_outcome_begin(
	    outcome_r, key ? CALL_KEY_REFUSED : CALL_UPSTREAM_ERROR);

	if (!key)
		reply->status = call->upstream_status;
	reply->retry_after_s = call_relay_retry_after(call->relay);
	call_outcome_say(outcome_r, call_relay_error_word(call->relay));
}

void
call_outcome_of_failure(const struct call *call, struct call_outcome *outcome_r)
{
	struct call_reply *reply =
	    call_outcome_begin(outcome_r, call_admit_failure(call->failure));

	if (reply->code == CALL_TIMEOUT)
		reply->status = 504;
}

enum result
call_outcome_llm(struct call *call)
{
	const struct buffer *body = call_relay_body(call->relay);
	struct buffer answer;
	enum result result;

	buffer_init(&answer, CALL_OUT_MAX / 2);
	result = call_llm_answer(call->path->usage,
	    (const char *)buffer_bytes_borrow(body), body->len, &answer);
	/* A key in parts was none until they were joined. */
	if (result == RESULT_OK && answer.len > 0)
		(void)redact_text(call_relay_patterns_borrow(call->relay),
		    (char *)answer.data + answer.start, answer.len);
	if (result == RESULT_OK)
		result = buffer_printf(&call->out,
		    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		    "Content-Length: %zu\r\n%s\r\n",
		    answer.len, call->keep ? "" : "Connection: close\r\n");
	if (result == RESULT_OK)
		result = buffer_append(
		    &call->out, buffer_bytes_borrow(&answer), answer.len);
	buffer_free(&answer);
	return result;
}
