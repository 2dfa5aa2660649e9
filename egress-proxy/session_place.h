/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a session in its sandbox: a list per stage, oldest first,
 * with its count. Limits and evictions look at these.
 */
#ifndef EGRESS_PROXY_SESSION_PLACE_H
#define EGRESS_PROXY_SESSION_PLACE_H

#include "egress-proxy/session_data.h"

/* Stand where this state belongs; the session stands nowhere yet. */
void session_place_take(struct session *session, enum session_state state);
void session_place_leave(struct session *session);

/* All tunnels of the sandbox are in use. */
bool session_place_is_full(const struct session *session);

#endif
