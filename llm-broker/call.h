/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one agent's connection and of the calls on it, one after the
 * other: what is read, judged, reserved, sent and passed back, in which
 * order. call.c holds nothing but that order; everything that touches a
 * socket, the ledger or a clock is an action (call_actions.h), so that
 * tests/machine plays the same story with scripted events.
 */
#ifndef LLM_BROKER_CALL_H
#define LLM_BROKER_CALL_H

#include <stddef.h>

struct call; /* call_data.h */

enum call_state {
	CALL_STATE_NEW,     /* accepted, nothing read */
	CALL_STATE_IDLE,    /* between calls */
	CALL_STATE_REQUEST, /* a request is being read and judged */
	CALL_STATE_RESERVE, /* the ledger was asked, its answer is due */
	CALL_STATE_ASK,     /* on its way up; the response's head is due */
	CALL_STATE_RELAY,   /* the response is being passed on */
	CALL_STATE_DRAIN,   /* the call is over, its last bytes go out */
	CALL_STATE_LINGER,  /* we are done; the agent reads the rest */
	CALL_STATE_CLOSED,  /* about to be freed */
	CALL_STATE_COUNT
};

enum call_event {
	CALL_EVENT_ACCEPTED,
	CALL_EVENT_AGENT_BYTES, /* call->given is set */
	CALL_EVENT_AGENT_GONE,  /* FIN, reset or error */
	CALL_EVENT_RESERVED,
	CALL_EVENT_REFUSED,     /* by the ledger; call->refusal is set */
	CALL_EVENT_BUDGET_LOST, /* the ledger is gone */
	CALL_EVENT_SENT,        /* the whole request is in the lane */
	CALL_EVENT_LANE_BYTES,  /* call->given is set */
	CALL_EVENT_LANE_END,    /* the upstream closed in order */
	CALL_EVENT_LANE_FAILED, /* call->failure is set */
	CALL_EVENT_LANE_LOST,   /* llm-key closed the lane */
	CALL_EVENT_DRAINED,     /* DRAIN: call->out is empty */
	CALL_EVENT_DEADLINE,
	CALL_EVENT_NARROWED, /* the grant was replaced */
	CALL_EVENT_EVICTED,  /* its place is needed */
	CALL_EVENT_SANDBOX_CLOSED,
	CALL_EVENT_COUNT
};

/* Why a connection ended. What became of its calls is enum call_code. */
enum call_end {
	CALL_END_NONE,
	CALL_END_DONE,       /* in order, after its last call */
	CALL_END_AGENT_GONE, /* by the agent */
	CALL_END_BROKEN,     /* an answer could not be completed */
	CALL_END_IDLE,       /* no next request for too long */
	CALL_END_EVICTED,
	CALL_END_SANDBOX_CLOSED,
	CALL_END_NO_MEMORY,
	CALL_END_COUNT
};

/* Put a zeroed call with its fields set into its run. */
void call_begin(struct call *call);

/* The one entry: something happened. Never frees: when it returns with the
 * state CLOSED, the caller does (call_free_parts). */
void call_step(struct call *call, enum call_event event);

/* Free what a closed call owns, but not the call itself. */
void call_free_parts(struct call *call);

#endif
