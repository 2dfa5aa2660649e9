/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on real sockets: one edge-triggered event per descriptor for its
 * whole life, eager reads, the resolver and the dialler. Everything that
 * happens becomes a session_step; the story itself is in session.c.
 */
#ifndef EGRESS_PROXY_SESSION_IO_H
#define EGRESS_PROXY_SESSION_IO_H

#include <event2/event.h>
#include <sys/queue.h>

#include "common/dns.h"
#include "egress-proxy/deadline_wheel.h"
#include "egress-proxy/proxy_config.h"
#include "egress-proxy/session_data.h"
#include "egress-proxy/tunnel.h"

struct session_io; /* one connection; a struct session is its first field */

TAILQ_HEAD(session_io_queue, session_io);

/* Counted since the start, for `stats`. */
struct session_io_counters {
	uint64_t accepted, ended, refused, tunnels, exchanges, evicted;
	uint64_t up_bytes, down_bytes;
};

/* What all sessions of the process share; proxy.c owns it. */
struct session_io_shared {
	struct event_base *base;
	struct dns *dns;
	const struct proxy_config *config;
	struct session_limits limits;
	struct deadline_wheel wheel;
	struct session_io_queue again;     /* whose turn was over */
	struct session_io_queue throttled; /* wait for their quota */
	struct event *again_event;
	struct session_io_counters counters;
	uint64_t next_id;
	/* What a connection was allowed or refused, for the supervisor. */
	void (*on_decision)(const struct session *session, void *context);
	void *context;
	struct tunnel_shared tunnel; /* last: it is large */
};

enum result session_io_shared_init(struct session_io_shared *shared,
    struct event_base *base, struct dns *dns,
    const struct proxy_config *config);
void session_io_shared_close(struct session_io_shared *shared);

/* A connection was accepted. Takes client_fd. name is the direct
 * listener's, NULL for a proxy listener; port its entry's. */
void session_io_accept(struct session_io_shared *shared,
    struct session_sandbox *sandbox, int client_fd,
    const struct ip_addr *client, uint16_t client_port,
    const struct domain *name, uint16_t port);

/* Something happened to this session that is not about its sockets:
 * POLICY, EVICTED, SANDBOX_CLOSED. It may be gone afterwards. */
void session_io_tell(struct session *session, enum session_event event);

/* Deadlines that passed, and the throttled: call every wheel tick. */
void session_io_tick(struct session_io_shared *shared);

#endif
