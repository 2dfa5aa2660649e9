/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of states and ends, for logs and tests. Pure.
 */
#ifndef LLM_BROKER_CALL_TEXT_H
#define LLM_BROKER_CALL_TEXT_H

#include "llm-broker/call.h"

const char *call_text_state(enum call_state state);
const char *call_text_event(enum call_event event);
const char *call_text_end(enum call_end end);

#endif
