/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from how a call ended: what is charged, what becomes of its
 * lane, and what the agent is told. Used by call.c.
 */
#ifndef LLM_BROKER_CALL_OUTCOME_H
#define LLM_BROKER_CALL_OUTCOME_H

#include <stdbool.h>

#include "llm-broker/call_data.h"
#include "llm-broker/call_reply.h"

/* Charge the run and settle with the ledger. */
void call_outcome_settle(struct call *call, enum call_code code);

/* A lane whose call ended in order, or was ended by llm-key, is used again;
 * any other is closed, which cancels the call. */
void call_outcome_leave_lane(struct call *call, bool ended);

#define CALL_OUTCOME_DETAIL_MAX 512U

/* A reply, with the text it points to. */
struct call_outcome {
	struct call_reply reply;
	char detail[CALL_OUTCOME_DETAIL_MAX];
};

void call_outcome_of_request(
    const struct call *call, struct call_outcome *outcome_r);
void call_outcome_of_budget(
    const struct call *call, struct call_outcome *outcome_r);
/* The provider's own error: its status and its word, in its shape. */
void call_outcome_of_provider(
    const struct call *call, struct call_outcome *outcome_r);
/* llm-key could not get an answer. */
void call_outcome_of_failure(
    const struct call *call, struct call_outcome *outcome_r);

/* The whole answer to a call_llm, in its own shape, to call->out.
 * RESULT_BAD: the provider's has no text. */
enum result call_outcome_llm(struct call *call);

#endif
