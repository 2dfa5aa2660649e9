/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session says in its own words: the 200 of a CONNECT, and refusals.
 * RESULT_OK: all of it was sent.
 */
#ifndef EGRESS_PROXY_SESSION_REPLY_H
#define EGRESS_PROXY_SESSION_REPLY_H

#include "common/result.h"
#include "egress-proxy/session_data.h"

enum result session_reply_established(struct session *session);

/* The refusal with session->code; status 0 is the code's own. */
enum result session_reply_send(struct session *session, unsigned status);

/* A TLS client is told by an alert: access_denied (RFC 8446 section 6.2). */
enum result session_reply_alert(struct session *session);

#endif
