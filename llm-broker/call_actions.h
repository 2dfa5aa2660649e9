/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What call.c has done for it: by call_net.c on real sockets, by
 * tests/machine in a script. None of these may call call_step before it
 * returns.
 */
#ifndef LLM_BROKER_CALL_ACTIONS_H
#define LLM_BROKER_CALL_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "llm-broker/lane.h"

struct call;

struct call_actions {
	uint64_t (*now_ms)(struct call *call);
	uint64_t (*next_number)(struct call *call);
	/* Ask the ledger for call->charge.reserve. RESULT_OK: RESERVED,
	 * REFUSED or BUDGET_LOST follows, never before this returns;
	 * RESULT_EXISTS: it is reserved, no answer follows. */
	enum result (*reserve)(struct call *call);
	/* The call used call->charge.used. */
	void (*settle)(struct call *call);
	/* No answer is wanted any more: settle as soon as it comes. */
	void (*forget_reserve)(struct call *call);
	/* Take a lane and begin to send call->request into it. SENT follows
	 * when all of it is there. RESULT_TOO_LONG: there are too many;
	 * anything else: llm-key is not there. */
	enum result (*ask)(struct call *call);
	/* The call is done with its lane. */
	void (*release_lane)(struct call *call, enum lane_release how);
	void (*drop_lane)(struct call *call);
	/* As much of out as the agent takes now: the response is whole, and
	 * what is left to do need not be waited for. */
	void (*push)(struct call *call);
	/* FIN to the agent once out is empty, drop what it still sends. */
	void (*linger)(struct call *call);
	/* Close the agent's descriptor; reset: so that nobody takes what it
	 * got for the whole. */
	void (*close_agent)(struct call *call, bool reset);
	/* The log line, usage and decision of a call that is over. */
	void (*report)(struct call *call);
};

#endif
