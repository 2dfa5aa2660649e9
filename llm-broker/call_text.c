/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of names. Called by call.c and call_report.c. Must never be asked
 * for anything a client wrote.
 */
#include "llm-broker/call_text.h"

static const char *const call_text_states[CALL_STATE_COUNT] = {"new", "idle",
    "request", "reserve", "ask", "relay", "drain", "linger", "closed"};

static const char *const call_text_events[CALL_EVENT_COUNT] = {"accepted",
    "agent_bytes", "agent_gone", "reserved", "refused", "budget_lost", "sent",
    "lane_bytes", "lane_end", "lane_failed", "lane_lost", "drained", "deadline",
    "narrowed", "evicted", "sandbox_closed"};

static const char *const call_text_ends[CALL_END_COUNT] = {"none", "done",
    "agent_gone", "broken", "idle", "evicted", "sandbox_closed", "no_memory"};

const char *
call_text_state(enum call_state state)
{
	return (unsigned)state < CALL_STATE_COUNT ? call_text_states[state]
						  : "?";
}

const char *
call_text_event(enum call_event event)
{
	return (unsigned)event < CALL_EVENT_COUNT ? call_text_events[event]
						  : "?";
}

const char *
call_text_end(enum call_end end)
{
	return (unsigned)end < CALL_END_COUNT ? call_text_ends[end] : "?";
}
