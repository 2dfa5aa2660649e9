/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the line of a call that is over: who, what, how much, how it
 * ended. Used by call_net.c.
 */
#ifndef LLM_BROKER_CALL_REPORT_H
#define LLM_BROKER_CALL_REPORT_H

#include "llm-broker/call_data.h"

#define CALL_REPORT_TARGET_MAX 264U

/* "provider/model", "provider" or "?"; for the log and `decision`. */
void call_report_target(const struct call *call, char *text_r, size_t size);

void call_report_write(const struct call *call, uint64_t now_ms);

#endif
