/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes, statuses and sentences of calls that were not served. Called by
 * call.c, call_reply.c and the process's log. It must never put a byte of
 * an agent or a provider into a sentence.
 */
#include "llm-broker/call_code.h"

#include <stddef.h>

struct call_code_row {
	const char *text;
	unsigned status;
	const char *sentence;
};

static const struct call_code_row call_code_rows[CALL_CODE_COUNT] = {
    [CALL_OK] = {"", 200, "The call was served."},
    [CALL_BAD_REQUEST] = {"bad_request", 400,
	"The request is not strictly valid HTTP/1.1 with a JSON body; send it "
	"as the provider's own client does."},
    [CALL_METHOD_REFUSED] = {"method_refused", 405,
	"This method is not served here; use GET or POST as the provider's "
	"documentation says."},
    [CALL_MISDIRECTED] = {"misdirected", 421,
	"The Host header is not the broker's; use the base URL that the "
	"environment of this sandbox names."},
    [CALL_UPGRADE_REFUSED] = {"upgrade_refused", 400,
	"Connections are never upgraded; turn WebSocket transport off in the "
	"client."},
    [CALL_PATH_NOT_ALLOWED] = {"path_not_allowed", 404,
	"The broker has no such path; use /<provider>/ and a path of the "
	"provider's file."},
    [CALL_PROVIDER_NOT_ALLOWED] = {"provider_not_allowed", 403,
	"This provider was not granted to the agent; the operator can add it "
	"to agent_sandbox.llm and the manifest to llm_access."},
    [CALL_MODEL_NOT_ALLOWED] = {"model_not_allowed", 403,
	"The model is not exactly one of those granted to the agent; the "
	"operator can add it to agent_sandbox.llm."},
    [CALL_FIELD_NOT_ALLOWED] = {"field_not_allowed", 400,
	"The body has a field or value that is closed here; leave it out, or "
	"the operator can opt in where the documentation says so."},
    [CALL_HEADER_NOT_ALLOWED] = {"header_not_allowed", 400,
	"A header has a value that is closed here; leave it out."},
    [CALL_TOO_LARGE] = {"too_large", 413,
	"The body is larger than this sandbox may send; send less, or the "
	"operator can raise the limit."},
    [CALL_BUDGET_EXCEEDED] = {"budget_exceeded", 429,
	"The call does not fit the budget that is left; the operator can see "
	"it with agentnode llm usage and raise it."},
    [CALL_TOO_MANY_CALLS] = {"too_many_calls", 429,
	"Too many calls are open at one time; wait for one to end."},
    [CALL_CREDENTIAL_UNAVAILABLE] = {"credential_unavailable", 503,
	"The host has no usable key for this provider; the operator can store "
	"one with agentnode auth set."},
    [CALL_KEY_REFUSED] = {"key_refused", 502,
	"The provider refused the host's key; the operator should look at "
	"agentnode auth test."},
    [CALL_POLICY_UNAVAILABLE] = {"policy_unavailable", 503,
	"No valid policy is loaded, so no call is served; the operator should "
	"look at agentnode sandbox doctor."},
    [CALL_LOOKUP_FAILED] = {"lookup_failed", 502,
	"The provider's name could not be resolved; try again later."},
    [CALL_ADDRESS_NOT_ALLOWED] = {"address_not_allowed", 502,
	"The provider's name resolves to an address that may not be dialled; "
	"the operator can list its ranges for this provider."},
    [CALL_DIAL_FAILED] = {"dial_failed", 502,
	"The provider did not accept a connection; try again later."},
    [CALL_UPSTREAM_TLS] = {"upstream_tls", 502,
	"The provider's certificate or TLS version is not acceptable; the "
	"operator should look at the log."},
    [CALL_UPSTREAM_BAD] = {"upstream_bad", 502,
	"The provider's answer is not strictly valid HTTP."},
    [CALL_UPSTREAM_CLOSED] = {"upstream_closed", 502,
	"The provider closed the connection before its answer was complete; "
	"try again."},
    [CALL_UPSTREAM_ERROR] = {"upstream_error", 502,
	"The provider answered with an error of its own."},
    [CALL_REDIRECT_REFUSED] = {"redirect_refused", 502,
	"The provider answered with a redirect, which is never followed."},
    [CALL_TIMEOUT] = {"timeout", 504,
	"A time limit passed before the call was complete; try again, or the "
	"operator can raise the limit."},
    [CALL_CANCELLED] = {"cancelled", 499,
	"The client went away before the call was complete."},
    [CALL_OUTPUT_LIMIT] = {"output_limit", 429,
	"The output of this run is used up; the operator can raise the "
	"limit."},
};

static const struct call_code_row *
call_code_find(enum call_code code)
{
	/* An impossible code is told as the strictest one. */
	if ((unsigned)code >= CALL_CODE_COUNT)
		return &call_code_rows[CALL_POLICY_UNAVAILABLE];
	return &call_code_rows[code];
}

const char *
call_code_text(enum call_code code)
{
	return call_code_find(code)->text;
}

const char *
call_code_sentence(enum call_code code)
{
	return call_code_find(code)->sentence;
}

unsigned
call_code_status(enum call_code code)
{
	return call_code_find(code)->status;
}
