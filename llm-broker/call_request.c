/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one request: head, then body, then policy, in the order of
 * the design. Called by call.c with the bytes of an agent's connection. It
 * must never hand out a result that one of the judges did not see, nor read
 * a byte behind the request.
 */
#include "llm-broker/call_request.h"

#include <stdlib.h>
#include <string.h>

#include "common/http_body.h"
#include "llm-broker/body_decode.h"
#include "llm-broker/call_fault.h"
#include "llm-broker/call_forward.h"
#include "llm-broker/call_head.h"
#include "llm-broker/call_llm.h"
#include "llm-broker/call_policy.h"
#include "llm-broker/call_target.h"

/* Coded bytes between framing and decoder. */
#define CALL_REQUEST_STAGE 16384U
#define CALL_REQUEST_FIRST 65536U /* of a body whose length is known */

enum call_request_state {
	CALL_REQUEST_STATE_HEAD,
	CALL_REQUEST_STATE_BODY,
	CALL_REQUEST_STATE_DRAIN, /* refused; the body is read and dropped */
	CALL_REQUEST_STATE_DONE,
	CALL_REQUEST_STATE_REFUSED
};

struct call_request {
	struct call_request_options options;
	enum call_request_state state;
	struct buffer head_bytes; /* what head points into */
	struct http_head head;
	struct call_head hop;
	struct call_target target;
	struct buffer query, fields; /* of the head that goes upstream */
	struct http_body framing;
	struct body_decode *decode; /* NULL: identity */
	struct buffer stage;        /* coded bytes */
	struct buffer body;         /* decoded bytes */
	uint64_t taken;             /* bytes of the body's content so far */
	struct buffer upstream_head;
	json_t *judged; /* the body, until nobody waits */
	struct call_fault fault;
	struct call_request_result result;
	bool whole; /* the request was read to its end */
};

enum result
call_request_new(
    const struct call_request_options *options, struct call_request **request_r)
{
	const struct grant_limits *limits = grant_limits_borrow(options->grant);
	struct call_request *request = calloc(1, sizeof(*request));

	*request_r = NULL;
	if (request == NULL)
		return RESULT_NO_MEMORY;
	request->options = *options;
	buffer_init(&request->head_bytes, CALL_REQUEST_HEAD_MAX + 1);
	buffer_init(&request->query, CALL_TARGET_QUERY_MAX);
	buffer_init(&request->fields, CALL_FORWARD_FIELDS_MAX);
	buffer_init(&request->stage, CALL_REQUEST_STAGE);
	buffer_init(&request->body, limits->body_bytes);
	buffer_init(&request->upstream_head, CALL_REQUEST_HEAD_MAX);
	*request_r = request;
	return RESULT_OK;
}

void
call_request_free(struct call_request **request)
{
	if (*request == NULL)
		return;
	buffer_free(&(*request)->head_bytes);
	buffer_free(&(*request)->query);
	buffer_free(&(*request)->fields);
	buffer_free(&(*request)->stage);
	buffer_free(&(*request)->body);
	buffer_free(&(*request)->upstream_head);
	body_decode_free(&(*request)->decode);
	json_decref((*request)->judged);
	free(*request);
	*request = NULL;
}

static void
call_request_enter(struct call_request *request, enum call_request_state state)
{
	request->state = state;
}

static const struct grant_limits *
call_request_limits(const struct call_request *request)
{
	return grant_limits_borrow(request->options.grant);
}

/* Refused. A body that is announced within the limit is read and dropped
 * first, so that the client sees the answer and may go on; not when it waits
 * for 100, or its framing is broken. */
static void
call_request_refuse(struct call_request *request)
{
	const struct http_head *head = &request->head;
	bool drain =
	    request->state == CALL_REQUEST_STATE_HEAD && head->head_len > 0 &&
	    !head->expect_continue && request->hop.has_body &&
	    (head->chunked || head->content_length <=
				  call_request_limits(request)->body_bytes);

	if (request->state == CALL_REQUEST_STATE_HEAD && head->head_len > 0 &&
	    !request->hop.has_body)
		request->whole = true;
	call_request_enter(request,
	    drain ? CALL_REQUEST_STATE_DRAIN : CALL_REQUEST_STATE_REFUSED);
}

static void
call_request_fail(struct call_request *request, enum call_code code,
    unsigned status, const char *detail)
{
	call_fault_set(&request->fault, code, status, "%s", detail);
	call_request_enter(request, CALL_REQUEST_STATE_REFUSED);
}

static void
call_request_complete(
    struct call_request *request, const struct call_policy *policy)
{
	struct call_request_result *result = &request->result;

	if (call_forward_head(&request->target, policy->model, &request->query,
		&request->fields, request->body.len,
		&request->upstream_head) != RESULT_OK) {
		call_request_fail(request, CALL_TOO_LARGE, 0,
		    "the head does not fit upstream");
		return;
	}
	result->provider = request->target.provider;
	result->path = request->target.path;
	memcpy(result->model, policy->model, sizeof(result->model));
	result->stream = policy->stream;
	result->keep_alive = request->hop.keep_alive;
	result->usage_added = policy->usage_added;
	result->is_call_llm = request->target.is_call_llm;
	result->input_chars = policy->input_chars;
	result->output_tokens = policy->output_tokens;
	result->head =
	    (const char *)buffer_bytes_borrow(&request->upstream_head);
	result->head_len = request->upstream_head.len;
	result->body = (const char *)buffer_bytes_borrow(&request->body);
	result->body_len = request->body.len;
	call_request_enter(request, CALL_REQUEST_STATE_DONE);
}

/* The whole request is here: judge the body. */
static void
call_request_judge(struct call_request *request)
{
	struct call_policy policy;

	request->whole = true;
	body_decode_free(&request->decode);
	buffer_free(&request->stage);
	request->body.max += CALL_POLICY_SPLICE_MAX;
	if (request->target.is_call_llm)
		call_llm_compose(&request->target,
		    call_request_limits(request)->input_chars, &request->body,
		    &request->fault);
	if (request->fault.code != CALL_OK)
		memset(&policy, 0, sizeof(policy));
	else if (request->target.path->body == NULL)
		call_policy_bare(&request->target, &policy);
	else
		call_policy_judge(&request->target, request->options.grant,
		    &request->body, &policy, &request->fault);
	request->judged = policy.judged;
	if (request->fault.code == CALL_OK)
		call_request_complete(request, &policy);
	else
		call_request_enter(request, CALL_REQUEST_STATE_REFUSED);
}

/* Does the head promise a body that the row can take? */
static void
call_request_judge_body(struct call_request *request)
{
	const struct http_head *head = &request->head;
	const struct provider_path *path = request->target.path;

	if (request->fault.code != CALL_OK)
		return;
	if (path->body == NULL && request->hop.has_body)
		call_fault_set(&request->fault, CALL_BAD_REQUEST, 0,
		    "this path takes no body");
	if (path->body != NULL && !request->hop.has_body)
		call_fault_set(&request->fault, CALL_BAD_REQUEST, 0,
		    "this path needs a body with its length");
	if (head->has_length &&
	    head->content_length > call_request_limits(request)->body_bytes)
		call_fault_set(&request->fault, CALL_TOO_LARGE, 0,
		    "the body may have %llu bytes",
		    (unsigned long long)call_request_limits(request)
			->body_bytes);
}

/* Everything that the head alone decides. */
static void
call_request_judge_head(struct call_request *request)
{
	struct call_fault *fault = &request->fault;
	const struct http_head *head = &request->head;

	call_head_judge(head, request->options.port, &request->hop, fault);
	if (fault->code == CALL_OK)
		call_target_judge(head, request->options.providers,
		    request->options.grant, &request->target, &request->query,
		    fault);
	if (fault->code == CALL_OK)
		call_forward_fields(request->target.is_call_llm ? NULL : head,
		    request->target.provider, &request->fields, fault);
	call_request_judge_body(request);
}

/* Get ready for the body. */
static void
call_request_open_body(struct call_request *request)
{
	const struct http_head *head = &request->head;
	enum body_decode_coding coding = request->hop.coding;
	uint8_t *space;
	size_t room, first = CALL_REQUEST_FIRST;

	if (head->chunked)
		http_body_init_unwrap(&request->framing);
	else
		http_body_init(&request->framing, head);
	if (request->fault.code != CALL_OK) {
		call_request_refuse(request);
		return;
	}
	if (coding != BODY_DECODE_IDENTITY) {
		request->body.max = call_request_limits(request)->decoded_bytes;
		if (body_decode_new(coding, &request->decode) !=
		    BODY_DECODE_OK) {
			call_request_fail(request, CALL_POLICY_UNAVAILABLE, 0,
			    "out of memory");
			return;
		}
	} else if (head->has_length) {
		/* Once, with room for what is put in. */
		if (head->content_length < first)
			first = (size_t)head->content_length +
				CALL_POLICY_SPLICE_MAX;
		(void)buffer_reserve(&request->body, first, &space, &room);
	}
	call_request_enter(request, CALL_REQUEST_STATE_BODY);
}

/* Bytes of the head; those behind it are not used. */
static void
call_request_feed_head(
    struct call_request *request, const char *bytes, size_t len, size_t *used_r)
{
	size_t before = request->head_bytes.len;
	size_t room = request->head_bytes.max - before;
	enum http_head_status status;

	if (len > room)
		len = room;
	*used_r = len;
	if (buffer_append(&request->head_bytes, bytes, len) != RESULT_OK) {
		call_request_fail(
		    request, CALL_POLICY_UNAVAILABLE, 0, "out of memory");
		return;
	}
	status = http_head_parse_request(
	    (const char *)buffer_bytes_borrow(&request->head_bytes),
	    request->head_bytes.len, &request->head);
	if (status == HTTP_HEAD_NEED_MORE)
		return;
	if (status != HTTP_HEAD_OK) {
		request->head.head_len = 0;
		call_head_refuse(status, &request->fault);
		call_request_refuse(request);
		return;
	}
	*used_r = request->head.head_len - before;
	call_request_judge_head(request);
	call_request_open_body(request);
}

static void
call_request_decode(struct call_request *request)
{
	enum body_decode_status status;

	status = body_decode_feed(request->decode,
	    (const char *)buffer_bytes_borrow(&request->stage),
	    request->stage.len, &request->body);
	buffer_clear(&request->stage);
	switch (status) {
	case BODY_DECODE_OK:
		return;
	case BODY_DECODE_BAD:
		call_request_fail(request, CALL_BAD_REQUEST, 415,
		    "the body is not one whole gzip member or zstd frame; "
		    "turn request compression off in the client");
		return;
	case BODY_DECODE_LARGE:
		call_request_fail(request, CALL_TOO_LARGE, 0,
		    "the body unpacks to more than is allowed");
		return;
	case BODY_DECODE_BOMB:
		call_request_fail(request, CALL_BAD_REQUEST, 415,
		    "the body unpacks to hundreds of times its size");
		return;
	case BODY_DECODE_MEMORY:
		break;
	}
	call_request_fail(request, CALL_POLICY_UNAVAILABLE, 0, "out of memory");
}

/* The framing of the body ended, and so must its coding. */
static void
call_request_end_body(struct call_request *request)
{
	if (request->decode != NULL &&
	    body_decode_finish(request->decode) != BODY_DECODE_OK)
		call_request_fail(request, CALL_BAD_REQUEST, 415,
		    "the body ends before its coding does");
	else
		call_request_judge(request);
}

/* One step of the body: framing, then coding. */
static void
call_request_feed_body(
    struct call_request *request, const char *bytes, size_t len, size_t *used_r)
{
	bool drain = request->state == CALL_REQUEST_STATE_DRAIN;
	bool coded = request->decode != NULL;
	struct buffer *out = drain || coded ? &request->stage : &request->body;
	size_t before = out->len;
	enum http_body_status status;

	status = http_body_feed(&request->framing, bytes, len, used_r, out);
	request->taken += out->len - before;
	if (status == HTTP_BODY_BAD)
		call_request_fail(request, CALL_BAD_REQUEST, 0,
		    "the chunks of the body are malformed");
	else if (request->taken > call_request_limits(request)->body_bytes ||
		 (status == HTTP_BODY_FULL && out == &request->body))
		call_request_fail(request, CALL_TOO_LARGE, 0,
		    "the body is longer than is allowed");
	else if (coded && !drain)
		call_request_decode(request);
	if (drain)
		buffer_clear(&request->stage);
	if (status != HTTP_BODY_DONE)
		return;
	if (request->state == CALL_REQUEST_STATE_BODY) {
		call_request_end_body(request);
	} else if (request->state == CALL_REQUEST_STATE_DRAIN) {
		request->whole = true;
		call_request_enter(request, CALL_REQUEST_STATE_REFUSED);
	}
}

static bool
call_request_in_body(const struct call_request *request)
{
	return request->state == CALL_REQUEST_STATE_BODY ||
	       request->state == CALL_REQUEST_STATE_DRAIN;
}

static enum call_request_status
call_request_status(const struct call_request *request)
{
	switch (request->state) {
	case CALL_REQUEST_STATE_DONE:
		return CALL_REQUEST_DONE;
	case CALL_REQUEST_STATE_REFUSED:
		return CALL_REQUEST_REFUSED;
	case CALL_REQUEST_STATE_HEAD:
	case CALL_REQUEST_STATE_BODY:
	case CALL_REQUEST_STATE_DRAIN:
		break;
	}
	return CALL_REQUEST_MORE;
}

enum call_request_status
call_request_feed(
    struct call_request *request, const char *bytes, size_t len, size_t *used_r)
{
	size_t used = 0, step = 0;

	if (request->state == CALL_REQUEST_STATE_HEAD) {
		call_request_feed_head(request, bytes, len, &used);
		if (request->state == CALL_REQUEST_STATE_BODY &&
		    request->head.expect_continue) {
			*used_r = used;
			return CALL_REQUEST_CONTINUE;
		}
		/* A request without a body ends with its head. */
		if (request->state == CALL_REQUEST_STATE_BODY &&
		    !request->hop.has_body)
			call_request_end_body(request);
	}
	while (call_request_in_body(request) && used < len) {
		call_request_feed_body(
		    request, bytes + used, len - used, &step);
		used += step;
	}
	*used_r = used;
	return call_request_status(request);
}

const struct call_request_result *
call_request_result(const struct call_request *request)
{
	return &request->result;
}

enum call_code
call_request_code(const struct call_request *request)
{
	return request->fault.code;
}

unsigned
call_request_http_status(const struct call_request *request)
{
	return request->fault.status != 0
		   ? request->fault.status
		   : call_code_status(request->fault.code);
}

const char *
call_request_detail(const struct call_request *request)
{
	return request->fault.detail;
}

enum provider_errors
call_request_shape(const struct call_request *request)
{
	if (request->target.is_call_llm)
		return PROVIDER_ERRORS_CALL_LLM;
	return request->target.provider == NULL
		   ? PROVIDER_ERRORS_OPENAI
		   : provider_error_shape(request->target.provider);
}

bool
call_request_reusable(const struct call_request *request)
{
	return request->whole && request->hop.keep_alive;
}
