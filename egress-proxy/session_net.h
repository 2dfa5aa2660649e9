/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a session on real sockets, shared by session_io.c, which
 * drives it, and session_net.c, which does what session.c asks for. Nobody
 * else includes this.
 */
#ifndef EGRESS_PROXY_SESSION_NET_H
#define EGRESS_PROXY_SESSION_NET_H

#include <event2/event_struct.h>

#include "common/dial.h"
#include "egress-proxy/exchange.h"
#include "egress-proxy/parent_dial.h"
#include "egress-proxy/session_actions.h"
#include "egress-proxy/session_io.h"

/* On which list of those that have more to do a session stands. */
enum session_net_waits {
	SESSION_NET_NOWHERE,
	SESSION_NET_AGAIN,    /* its turn was over */
	SESSION_NET_THROTTLED /* its sandbox's quota is used up for now */
};

struct session_io {
	struct session session; /* first: the two are one object */
	struct session_io_shared *shared;
	struct event client_event, upstream_event;
	int client_fd, upstream_fd;
	uint8_t client_can, upstream_can; /* TUNNEL_CAN_... not yet used */
	uint8_t waits;                    /* enum session_net_waits */
	uint8_t busy;                     /* a step is running */
	struct tunnel tunnel;
	struct exchange *exchange;
	struct dns_query *query;
	struct dial *dial;
	struct parent_dial *parent;
	TAILQ_ENTRY(session_io) wait;
};

extern const struct session_actions session_net_actions;

struct session_io *session_net_of(struct session *session);

/* Stand in line, or leave it. */
void session_net_wait(struct session_io *io, enum session_net_waits list);
void session_net_unwait(struct session_io *io);

/* Start a descriptor's one event. */
void session_net_watch(struct session_io *io, struct event *event, int fd,
    event_callback_fn callback);

/* Whether it tells of bytes to read, beside room and ends; and turn that on
 * or off. What became possible meanwhile is told when it is on again. */
bool session_net_hears(const struct event *event);
void session_net_hear(struct event *event, bool reads);

/* In session_io.c: a step and all that follows from it; io may be gone
 * afterwards. */
void session_io_drive(struct session_io *io, enum session_event event);
void session_io_on_upstream(evutil_socket_t fd, short what, void *context);

#endif
