/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run's limits and counters. Called by call.c alone; the counters are
 * changed here and by call_relay.c (output characters, as they flow). The
 * ledger holds the same limits across processes; these need no answer.
 */
#include "llm-broker/call_admit.h"

#include <string.h>

enum call_code
call_admit_check(const struct call *call, const char **detail_r)
{
	const struct call_run *run = call->run;
	const struct grant_limits *limits = grant_limits_borrow(run->grant);

	*detail_r = "";
	if (!key_table_may_call(run->keys, call->provider))
		return CALL_CREDENTIAL_UNAVAILABLE;
	if (run->counts[CALL_LIST_RUNNING] >= limits->concurrent)
		return CALL_TOO_MANY_CALLS;
	*detail_r = "requests of this run";
	if (run->requests >= limits->requests)
		return CALL_BUDGET_EXCEEDED;
	*detail_r = "input_chars of this run";
	if (call->charge.reserve.input_chars > limits->input_chars ||
	    run->input_chars >
		limits->input_chars - call->charge.reserve.input_chars)
		return CALL_BUDGET_EXCEEDED;
	*detail_r = "output_chars of this run";
	if (run->output_chars >= limits->output_chars)
		return CALL_BUDGET_EXCEEDED;
	return CALL_OK;
}

enum call_code
call_admit_again(const struct call *call)
{
	const struct grant *grant = call->run->grant;
	const char *name = provider_name(call->provider);
	size_t len = strlen(call->model);

	if (!grant_provider(grant, name))
		return CALL_PROVIDER_NOT_ALLOWED;
	if (len > 0 && !grant_model(grant, name, call->model, len))
		return CALL_MODEL_NOT_ALLOWED;
	return CALL_OK;
}

void
call_admit_count(struct call *call)
{
	call->counted = 1;
	call->run->requests++;
	call->run->input_chars += call->charge.reserve.input_chars;
}

void
call_admit_undo(struct call *call)
{
	if (!call->counted)
		return;
	call->counted = 0;
	call->run->requests--;
	call->run->input_chars -= call->charge.reserve.input_chars;
}

enum call_code
call_admit_failure(enum lane_failure failure)
{
	switch (failure) {
	case LANE_FAILED_NO_KEY:
		return CALL_CREDENTIAL_UNAVAILABLE;
	case LANE_FAILED_BREAKER:
		return CALL_KEY_REFUSED;
	case LANE_FAILED_LOOKUP:
		return CALL_LOOKUP_FAILED;
	case LANE_FAILED_ADDRESS:
		return CALL_ADDRESS_NOT_ALLOWED;
	case LANE_FAILED_DIAL:
		return CALL_DIAL_FAILED;
	case LANE_FAILED_TLS:
		return CALL_UPSTREAM_TLS;
	case LANE_FAILED_TIMEOUT:
		return CALL_TIMEOUT;
	case LANE_FAILED_CLOSED:
		return CALL_UPSTREAM_CLOSED;
	case LANE_FAILED_BUSY:
		return CALL_TOO_MANY_CALLS;
	case LANE_FAILED_HEAD:
		break;
	}
	return CALL_POLICY_UNAVAILABLE;
}

bool
call_admit_was_unsent(enum lane_failure failure)
{
	return failure != LANE_FAILED_TIMEOUT && failure != LANE_FAILED_CLOSED;
}
