/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request is refused: the first fault found stays. Used by the files
 * that judge a request, and by call_request.c, which tells it.
 */
#ifndef LLM_BROKER_CALL_FAULT_H
#define LLM_BROKER_CALL_FAULT_H

#include "llm-broker/call_code.h"

#define CALL_FAULT_DETAIL_MAX 512U

struct call_fault {
	enum call_code code;                /* CALL_OK: none so far */
	unsigned status;                    /* 0: the code's own */
	char detail[CALL_FAULT_DETAIL_MAX]; /* printable */
};

/* Note a fault, unless there is one. What the format puts in must be from
 * the project or a provider's file, or a name of the agent's: it is made
 * printable and cut, never a whole value. */
void call_fault_set(struct call_fault *fault, enum call_code code,
    unsigned status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
