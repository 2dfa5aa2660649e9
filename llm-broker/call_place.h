/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a call in its run: a list per stage, oldest first, with its
 * count. Limits and evictions look at these.
 */
#ifndef LLM_BROKER_CALL_PLACE_H
#define LLM_BROKER_CALL_PLACE_H

#include "llm-broker/call_data.h"

/* Stand where this state belongs; the call stands nowhere yet. */
void call_place_take(struct call *call, enum call_state state);
void call_place_leave(struct call *call);

#endif
