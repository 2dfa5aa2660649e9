/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session knows, and what it can have done for it. session.c reads
 * and writes these fields; session_io.c (or a test) provides the actions
 * and fills what an event brings. A session in a tunnel has given up its
 * work: what remains is small, because thousands may be idle.
 */
#ifndef EGRESS_PROXY_SESSION_DATA_H
#define EGRESS_PROXY_SESSION_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buffer.h"
#include "common/dns.h"
#include "common/domain.h"
#include "common/ip_addr.h"
#include "egress-proxy/client_hello.h"
#include "egress-proxy/connect_request.h"
#include "egress-proxy/deadline_wheel.h"
#include "egress-proxy/deny.h"
#include "egress-proxy/egress_quota.h"
#include "egress-proxy/host_policy.h"
#include "egress-proxy/session.h"

/* Head and hello of one client together: no more is read before a tunnel. */
#define SESSION_IN_MAX (HTTP_HEAD_BYTES_MAX + CLIENT_HELLO_BYTES_MAX)
#define SESSION_LINGER_MS 2000U
#define SESSION_RULE_MAX POLICY_ENTRY_TEXT_MAX

/* How the client spoke to us. */
enum session_kind {
	SESSION_KIND_UNKNOWN, /* proxy listener, head not read yet */
	SESSION_KIND_CONNECT,
	SESSION_KIND_HTTP,
	SESSION_KIND_DIRECT
};

/* What its kind of listener and its state count a session as. */
enum session_list {
	SESSION_LIST_WAITING, /* for a head or a first hello */
	SESSION_LIST_OPENING, /* allowed, on its way to a tunnel */
	SESSION_LIST_OPEN,    /* bytes flow */
	SESSION_LIST_LEAVING, /* refused, lingering */
	SESSION_LIST_COUNT
};

TAILQ_HEAD(session_queue, session);

/* What the sessions of one sandbox share. */
struct session_sandbox {
	char id[65];
	struct host_policy *policy; /* owned by proxy_control.c */
	struct egress_quota quota;
	struct session_queue lists[SESSION_LIST_COUNT]; /* oldest first */
	size_t counts[SESSION_LIST_COUNT];
};

struct session_limits {
	size_t max_tunnels; /* OPENING and OPEN together */
	uint64_t head_ms, hello_ms, lookup_ms, dial_ms, idle_ms, total_ms;
};

/* Needed until the tunnel starts. */
struct session_work {
	struct buffer in;     /* client's bytes: head, then hello */
	struct buffer parent; /* came behind the corporate proxy's answer */
	struct client_hello_reader hello;
	struct domain name; /* canonical target; empty for a literal */
	struct ip_addr answers[DNS_ADDRESSES_MAX];
	size_t answer_count;
	enum result fault; /* of a failed lookup or dial */
	size_t paid;       /* of in: read by the tunnel, for a second hello */
};

struct session_actions; /* session_actions.h */

struct session {
	TAILQ_ENTRY(session) link; /* in sandbox->lists[list] */
	struct deadline deadline;
	const struct session_actions *actions;
	const struct session_limits *limits;
	struct deadline_wheel *wheel;
	struct session_sandbox *sandbox;
	struct session_work *work; /* NULL in a tunnel or exchange */
	char *host;                /* canonical target, "" until known */
	char *rule;                /* text of the entry that decided */
	uint64_t id, started_ms, active_ms;
	uint64_t up_bytes, down_bytes;
	size_t in_used; /* of work->in: consumed by the head */
	struct ip_addr client, address;
	uint16_t client_port, port;
	enum session_state state : 8;
	enum session_kind kind : 8;
	enum session_list list : 8;
	enum session_reason reason : 8;
	enum deny_code code : 8;
	unsigned raw : 1, /* tcp:// entry: no TLS asked for */
	    answered : 1, /* the client has bytes of ours: no reply */
	    reported : 1, /* its line is in the log */
	    tls : 1,      /* a hello was read and understood */
	    ech : 1;      /* it carries encrypted_client_hello */
	char *sni;        /* what it named, when not the host */
	char alpn[16];    /* protocols offered, cut, for the log */
};

#endif
