/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call takes over from its request, and with what its response is
 * read. Used by call.c.
 */
#ifndef LLM_BROKER_CALL_TAKE_H
#define LLM_BROKER_CALL_TAKE_H

#include "llm-broker/call_data.h"

/* Nothing is left of the call before; a request can be fed. */
enum result call_take_fresh(struct call *call);

/* The request is whole: keep what is needed once it is gone. */
void call_take_request(struct call *call);

/* The response's first byte: call->relay is there. RESULT_REFUSED: the key
 * is gone, so nothing could be looked for. */
enum result call_take_response(struct call *call);

#endif
