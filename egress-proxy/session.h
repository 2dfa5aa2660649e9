/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one connection out of a sandbox: what is read, decided,
 * looked up, dialled and passed on, in which order. session.c holds nothing
 * but that order; everything that touches a socket, a resolver or a clock
 * is an action (session_actions.h), so that tests/machine plays the same
 * story with scripted events.
 */
#ifndef EGRESS_PROXY_SESSION_H
#define EGRESS_PROXY_SESSION_H

struct session; /* session_data.h */

/* In the order of a CONNECT; a direct listener has no HEAD and reads HELLO
 * before RESOLVE, so that nothing is dialled for a foreign name. */
enum session_state {
	SESSION_NEW,      /* accepted, nothing read */
	SESSION_HEAD,     /* the request head is being read */
	SESSION_HELLO,    /* the TLS ClientHello is being read */
	SESSION_RESOLVE,  /* the allowed name is being looked up */
	SESSION_DIAL,     /* a judged address is being dialled */
	SESSION_TUNNEL,   /* bytes both ways */
	SESSION_RETRY,    /* the server asked for a second ClientHello */
	SESSION_EXCHANGE, /* one plain HTTP request and its response */
	SESSION_LINGER,   /* refused: the client reads the reason */
	SESSION_CLOSED,   /* counted, logged, about to be freed */
	SESSION_STATE_COUNT
};

enum session_event {
	SESSION_EVENT_ACCEPTED,
	SESSION_EVENT_CLIENT_BYTES, /* work->in has grown */
	SESSION_EVENT_CLIENT_END,   /* the client sent its FIN */
	SESSION_EVENT_CLIENT_LOST,  /* reset or error */
	SESSION_EVENT_RESOLVED,     /* work->answers is filled */
	SESSION_EVENT_LOOKUP_FAILED,
	SESSION_EVENT_DIALED, /* the upstream descriptor is there */
	SESSION_EVENT_DIAL_FAILED,
	SESSION_EVENT_RETRY,            /* the server wants a second hello */
	SESSION_EVENT_SECOND_HELLO,     /* one came that it did not want */
	SESSION_EVENT_MOVED_ALL,        /* tunnel or exchange ended in order */
	SESSION_EVENT_MOVE_BROKEN,      /* an end was reset */
	SESSION_EVENT_BAD_REQUEST_BODY, /* plain HTTP: broken framing */
	SESSION_EVENT_BAD_RESPONSE,     /* plain HTTP: broken head */
	SESSION_EVENT_BYTE_LIMIT,
	SESSION_EVENT_DEADLINE,
	SESSION_EVENT_POLICY,  /* the sandbox's policy was replaced */
	SESSION_EVENT_EVICTED, /* its place is needed */
	SESSION_EVENT_SANDBOX_CLOSED,
	SESSION_EVENT_COUNT
};

/* Why a session ended; the code of a refusal is kept beside it. */
enum session_reason {
	SESSION_REASON_NONE,
	SESSION_REASON_DONE,        /* both sides ended in order */
	SESSION_REASON_REFUSED,     /* see the deny code */
	SESSION_REASON_CLIENT_GONE, /* ended before anything was decided */
	SESSION_REASON_RESET,       /* an end was reset */
	SESSION_REASON_IDLE,        /* no byte for the idle limit */
	SESSION_REASON_TOTAL,       /* open for the total limit */
	SESSION_REASON_BYTE_LIMIT,  /* the sandbox's bytes are used up */
	SESSION_REASON_EVICTED,     /* the oldest waiting, place was needed */
	SESSION_REASON_NARROWED,    /* the policy no longer allows it */
	SESSION_REASON_SANDBOX_CLOSED, /* the sandbox ended */
	SESSION_REASON_NO_MEMORY,
	SESSION_REASON_COUNT
};

/* Put a zeroed session with its fields set into its sandbox. */
void session_begin(struct session *session);

/* The one entry: something happened. Never frees: when it returns with the
 * state CLOSED, the caller does (session_end). */
void session_step(struct session *session, enum session_event event);

/* Free what a closed session owns, but not the session itself. */
void session_end(struct session *session);

#endif
