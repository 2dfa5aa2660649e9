/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of states, events and reasons, for the log and for tests. The texts
 * are part of the log's format: docs/egress-policy.md lists the reasons.
 */
#ifndef EGRESS_PROXY_SESSION_TEXT_H
#define EGRESS_PROXY_SESSION_TEXT_H

#include "egress-proxy/session.h"
#include "egress-proxy/session_data.h"

/* Never NULL; "?" for what does not exist. */
const char *session_text_state(enum session_state state);
const char *session_text_event(enum session_event event);
const char *session_text_reason(enum session_reason reason);
const char *session_text_kind(enum session_kind kind);

#endif
