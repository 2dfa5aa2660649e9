/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which of its sandbox's lists a session stands, and how many stand
 * there. Called by session.c alone, when a state is entered. The counters
 * are changed here and nowhere else.
 */
#include "egress-proxy/session_place.h"

/* What a state counts as in its sandbox. */
static enum session_list
session_place_of(const struct session *session, enum session_state state)
{
	switch (state) {
	case SESSION_NEW:
	case SESSION_HEAD:
		return SESSION_LIST_WAITING;
	case SESSION_HELLO:
		return session->kind == SESSION_KIND_DIRECT
			   ? SESSION_LIST_WAITING
			   : SESSION_LIST_OPENING;
	case SESSION_RESOLVE:
	case SESSION_DIAL:
		return SESSION_LIST_OPENING;
	case SESSION_TUNNEL:
	case SESSION_RETRY:
	case SESSION_EXCHANGE:
		return SESSION_LIST_OPEN;
	case SESSION_LINGER:
	case SESSION_CLOSED:
	case SESSION_STATE_COUNT:
		break;
	}
	return SESSION_LIST_LEAVING;
}

void
session_place_leave(struct session *session)
{
	struct session_sandbox *sandbox = session->sandbox;

	TAILQ_REMOVE(&sandbox->lists[session->list], session, link);
	sandbox->counts[session->list]--;
}

void
session_place_take(struct session *session, enum session_state state)
{
	struct session_sandbox *sandbox = session->sandbox;
	enum session_list list = session_place_of(session, state);

	session->list = list;
	TAILQ_INSERT_TAIL(&sandbox->lists[list], session, link);
	sandbox->counts[list]++;
}

bool
session_place_is_full(const struct session *session)
{
	const size_t *counts = session->sandbox->counts;

	return counts[SESSION_LIST_OPENING] + counts[SESSION_LIST_OPEN] >=
	       session->limits->max_tunnels;
}
