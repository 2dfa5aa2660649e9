/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of what session.c does. Called when logging; must stay in the order
 * of the enums, which a unit test walks through.
 */
#include "egress-proxy/session_text.h"

#include <stddef.h>

static const char *const session_text_states[SESSION_STATE_COUNT] = {"new",
    "head", "hello", "resolve", "dial", "tunnel", "retry", "exchange", "linger",
    "closed"};

static const char *const session_text_events[SESSION_EVENT_COUNT] = {"accepted",
    "client_bytes", "client_end", "client_lost", "resolved", "lookup_failed",
    "dialed", "dial_failed", "retry", "second_hello", "moved_all",
    "move_broken", "bad_request_body", "bad_response", "byte_limit", "deadline",
    "policy", "evicted", "sandbox_closed"};

static const char *const session_text_reasons[SESSION_REASON_COUNT] = {"none",
    "done", "refused", "client_gone", "reset", "idle", "total", "byte_limit",
    "evicted", "narrowed", "sandbox_closed", "no_memory"};

static const char *const session_text_kinds[] = {
    "unknown", "connect", "http", "direct"};

static const char *
session_text_at(const char *const *list, size_t count, unsigned index)
{
	return index < count && list[index] != NULL ? list[index] : "?";
}

const char *
session_text_state(enum session_state state)
{
	return session_text_at(
	    session_text_states, SESSION_STATE_COUNT, (unsigned)state);
}

const char *
session_text_event(enum session_event event)
{
	return session_text_at(
	    session_text_events, SESSION_EVENT_COUNT, (unsigned)event);
}

const char *
session_text_reason(enum session_reason reason)
{
	return session_text_at(
	    session_text_reasons, SESSION_REASON_COUNT, (unsigned)reason);
}

const char *
session_text_kind(enum session_kind kind)
{
	return session_text_at(session_text_kinds, 4, (unsigned)kind);
}
