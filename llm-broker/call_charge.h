/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call is charged: the most it can use before it is sent, and what
 * it used when it is over, by the provider's word or by estimate. Pure.
 * Used by call.c; the ledger and the run's own counters get the numbers.
 */
#ifndef LLM_BROKER_CALL_CHARGE_H
#define LLM_BROKER_CALL_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "llm-broker/call_code.h"
#include "llm-broker/grant.h"
#include "llm-broker/usage_scan.h"

struct call_amounts {
	uint64_t requests, input_chars, output_chars;
	uint64_t input_tokens, output_tokens, cached_tokens;
	int64_t cost; /* micro-dollars; -1: the price is unknown */
};

struct call_charge {
	struct call_amounts reserve, used;
	bool estimated; /* of used: the provider did not say */
};

/* Before it is sent. Output characters are bounded while they flow, so one
 * stands for "some": the ledger refuses once none is left. */
void call_charge_reserve(struct call_charge *charge, const struct grant *grant,
    const char *provider, const char *model, uint64_t input_chars,
    uint64_t output_tokens);

enum call_charge_end {
	CALL_CHARGE_NOT_SENT, /* nothing reached the provider */
	CALL_CHARGE_REFUSED,  /* the provider's own error: not billed */
	CALL_CHARGE_CUT,      /* sent, and not ended in order */
	CALL_CHARGE_ENDED
};

/* When it is over. counts may be NULL: no response was read. A call that
 * was cut before the provider said its usage is charged what was reserved:
 * it may do all of it, whoever hung up. So is a whole body that says none,
 * or a response that could not be read to its end. */
void call_charge_settle(struct call_charge *charge, const struct grant *grant,
    const char *provider, const char *model, const struct usage_counts *counts,
    bool is_stream, enum call_charge_end end);

#endif
