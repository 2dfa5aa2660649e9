/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log line of a call. Called once per call. Codes and counts, names out
 * of the host's own configuration and grant: must never write a byte of a
 * request, a response or a provider's error.
 */
#include "llm-broker/call_report.h"

#include <stdio.h>

#include "common/log.h"

void
call_report_target(const struct call *call, char *text_r, size_t size)
{
	if (call->provider == NULL)
		(void)snprintf(text_r, size, "?");
	else if (call->model[0] == '\0')
		(void)snprintf(
		    text_r, size, "%s", provider_name(call->provider));
	else
		(void)snprintf(text_r, size, "%s/%s",
		    provider_name(call->provider), call->model);
}

static uint64_t
call_report_since(uint64_t from_ms, uint64_t to_ms)
{
	return from_ms != 0 && to_ms > from_ms ? to_ms - from_ms : 0;
}

void
call_report_write(const struct call *call, uint64_t now_ms)
{
	const struct call_amounts *used = &call->charge.used;
	const char *provider =
	    call->provider != NULL ? provider_name(call->provider) : "";

	log_event(LOG_INFO_LEVEL, "call", LOG_UINT("id", call->number),
	    LOG_REQUEST(call->run->id, 'l', call->number),
	    LOG_TEXT("provider", provider),
	    LOG_TEXT("path", call->path != NULL ? call->path->path : ""),
	    LOG_TEXT("model", call->model), LOG_BOOL("stream", call->stream),
	    LOG_TEXT("code", call_code_text(call->code)),
	    LOG_UINT("status", call->upstream_status),
	    LOG_UINT("in", call->in_bytes), LOG_UINT("out", call->out_bytes),
	    LOG_UINT("input_chars", used->input_chars),
	    LOG_UINT("output_chars", used->output_chars),
	    LOG_UINT("input_tokens", used->input_tokens),
	    LOG_UINT("output_tokens", used->output_tokens),
	    LOG_BOOL("estimated", call->charge.estimated),
	    LOG_UINT("redacted", call->redacted),
	    LOG_UINT(
		"first_ms", call_report_since(call->asked_ms, call->first_ms)),
	    LOG_UINT(
		"duration_ms", call_report_since(call->started_ms, now_ms)));
}
