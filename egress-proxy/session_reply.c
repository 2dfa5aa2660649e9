/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few bytes a session says itself. Called by session.c alone. Must
 * never repeat a byte that came from a client or an upstream.
 */
#include "egress-proxy/session_reply.h"

#include "common/buffer.h"
#include "egress-proxy/session_actions.h"

static const char session_reply_200[] =
    "HTTP/1.1 200 Connection established\r\n\r\n";

enum result
session_reply_established(struct session *session)
{
	return session->actions->send_client(
	    session, session_reply_200, sizeof(session_reply_200) - 1, false);
}

/* Tell a TLS client that it was refused: access_denied (RFC 8446 6.2). */
enum result
session_reply_alert(struct session *session)
{
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 49};

	return session->actions->send_client(
	    session, alert, sizeof(alert), true);
}

enum result
session_reply_send(struct session *session, unsigned status)
{
	struct buffer reply;
	enum result result;

	buffer_init(&reply, 2048);
	result = deny_reply(session->code, status, &reply);
	if (result == RESULT_OK)
		result = session->actions->send_client(
		    session, buffer_bytes_borrow(&reply), reply.len, true);
	buffer_free(&reply);
	return result;
}
