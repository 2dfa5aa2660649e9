/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What session.c has done for it: by session_io.c on real sockets, by
 * tests/machine in a script. None of these may call session_step before it
 * returns.
 */
#ifndef EGRESS_PROXY_SESSION_ACTIONS_H
#define EGRESS_PROXY_SESSION_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

struct session;

struct session_actions {
	uint64_t (*now_ms)(struct session *session);
	/* Start; RESOLVED/LOOKUP_FAILED, DIALED/DIAL_FAILED follow, never
	 * before these return, unless it could not be started. dial goes to
	 * work->answers, through the corporate proxy when there is one. */
	enum result (*resolve)(struct session *session);
	enum result (*dial)(struct session *session);
	/* The sandbox has all its tunnels: end one that keeps its place
	 * without saying hello. False when there is none. */
	bool (*make_room)(struct session *session);
	/* Give up whichever of the two is running. */
	void (*cancel)(struct session *session);
	/* All or RESULT_CLOSED: what is sent here is small. last: linger
	 * follows, so that bytes and FIN may share a packet. */
	enum result (*send_client)(
	    struct session *session, const void *bytes, size_t len, bool last);
	/* Pass on work->in from in_used and then everything, both ways; when
	 * it begins with a hello that was read (work->hello), watch for a
	 * second one. */
	enum result (*start_tunnel)(struct session *session);
	/* The second hello is due: the client's bytes that came already go
	 * into work->in, and more of them is CLIENT_BYTES. Once it is judged,
	 * all of work->in goes on. */
	enum result (*take_back)(struct session *session);
	enum result (*resume_tunnel)(struct session *session);
	/* The same for one plain request whose head lies in work->in. */
	enum result (*start_exchange)(struct session *session);
	/* Close the upstream, FIN to the client, drop what it still sends. */
	void (*linger)(struct session *session);
	/* Close the descriptors; reset: so that nobody takes it for an
	 * orderly end. Memory is freed after session_step returned. */
	void (*release)(struct session *session, bool reset);
	/* The log line and the decision of a session that ended. */
	void (*report)(struct session *session);
};

#endif
