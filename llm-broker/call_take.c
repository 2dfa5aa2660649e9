/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills a call's fields. Called by call.c alone, which decides when. Must
 * never keep a pointer into a request: it is freed once it is sent.
 */
#include "llm-broker/call_take.h"

#include <string.h>

#include "llm-broker/call_actions.h"

enum result
call_take_fresh(struct call *call)
{
	struct call_request_options options = {
	    .providers = call->run->providers,
	    .grant = call->run->grant,
	    .port = call->run->port};

	call->provider = NULL;
	call->path = NULL;
	call->model[0] = '\0';
	memset(&call->charge, 0, sizeof(call->charge));
	call->in_bytes = call->down_bytes = 0;
	call->out_bytes = call->redacted = 0;
	call->first_ms = call->asked_ms = 0;
	call->upstream_status = 0;
	call->failure = 0;
	call->code = CALL_OK;
	call->keep = call->sent = call->asked = call->reserved = call->counted =
	    0;
	call->stream = call->usage_added = call->is_call_llm = 0;
	call->started_ms = call->actions->now_ms(call);
	call->number = call->actions->next_number(call);
	return call_request_new(&options, &call->request);
}

void
call_take_request(struct call *call)
{
	const struct call_request_result *result =
	    call_request_result(call->request);

	call->provider = result->provider;
	call->path = result->path;
	memcpy(call->model, result->model, strlen(result->model) + 1);
	call->keep = result->keep_alive;
	call->stream = result->stream;
	call->usage_added = result->usage_added;
	call->is_call_llm = result->is_call_llm;
	call_charge_reserve(&call->charge, call->run->grant,
	    provider_name(call->provider), call->model, result->input_chars,
	    result->output_tokens);
}

enum result
call_take_response(struct call *call)
{
	const struct grant_limits *limits =
	    grant_limits_borrow(call->run->grant);
	const struct call_relay_options options = {.path = call->path,
	    .patterns =
		key_table_patterns_borrow(call->run->keys, call->provider),
	    .stream = call->stream,
	    .strip = call->usage_added,
	    .collect = call->is_call_llm,
	    .keep_alive = call->keep,
	    .bytes_max = limits->response_bytes,
	    .output_chars_max = limits->output_chars,
	    .output_chars = &call->run->output_chars};

	call->first_ms = call->actions->now_ms(call);
	if (options.patterns == NULL)
		return RESULT_REFUSED;
	return call_relay_new(&options, &call->relay);
}
