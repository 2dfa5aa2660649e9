/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this call be sent, as far as the broker alone can say: the run's
 * grant, its limits, and a key. Pure. Used by call.c, once the request was
 * judged and again when the grant was replaced.
 */
#ifndef LLM_BROKER_CALL_ADMIT_H
#define LLM_BROKER_CALL_ADMIT_H

#include "llm-broker/call_code.h"
#include "llm-broker/call_data.h"

/* CALL_OK, or why not; detail_r then says which limit. */
enum call_code call_admit_check(const struct call *call, const char **detail_r);

/* Is its provider and model still granted? */
enum call_code call_admit_again(const struct call *call);

/* Count it in the run; undo when nothing of it was sent. */
void call_admit_count(struct call *call);
void call_admit_undo(struct call *call);

/* What the agent is told when llm-key could not get an answer. */
enum call_code call_admit_failure(enum lane_failure failure);
/* Had the provider nothing of it? */
bool call_admit_was_unsent(enum lane_failure failure);

#endif
