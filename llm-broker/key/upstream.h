/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one connection to a provider: lookup, judge every address,
 * dial a judged one (or ask the corporate proxy for it), TLS, then calls one
 * after the other, resting in the pool between them (upstream_pool.c).
 * Passes bytes; never looks at what they say, and follows nothing.
 */
#ifndef LLM_BROKER_KEY_UPSTREAM_H
#define LLM_BROKER_KEY_UPSTREAM_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/dial.h"
#include "common/dns.h"
#include "egress-proxy/deadline_wheel.h"
#include "egress-proxy/parent_dial.h"
#include "llm-broker/key/key_config.h"
#include "llm-broker/key/upstream_tls.h"
#include "llm-broker/key/upstream_wire.h"
#include "llm-broker/lane.h"

enum upstream_state {
	UPSTREAM_NEW,
	UPSTREAM_LOOKUP,    /* of the provider's name */
	UPSTREAM_PARENT,    /* lookup of the corporate proxy's name */
	UPSTREAM_DIAL,      /* of a judged address */
	UPSTREAM_THROUGH,   /* the same through the corporate proxy */
	UPSTREAM_TURN,      /* others shake hands first */
	UPSTREAM_HANDSHAKE, /* TLS */
	UPSTREAM_BUSY,      /* serves a call */
	UPSTREAM_IDLE,      /* in the pool */
	UPSTREAM_CLOSED
};

/* What connections to all providers share. */
struct upstream_world {
	struct event_base *base;
	struct dns *dns;
	const struct key_config *config;
	struct deadline_wheel *wheel; /* fires upstream_on_deadline */
	struct upstream_counters {
		uint64_t dialed, handshakes, resumed, reused, stale;
		uint64_t failed, closed, sent, received; /* TLS of ended ones */
	} counters;
};

struct upstream;
TAILQ_HEAD(upstream_list, upstream);

/* One provider and its connections. */
struct upstream_site {
	struct upstream_world *world;
	const struct key_config_provider *provider;
	struct upstream_tls_context *tls;   /* NULL: in the clear, keyless */
	struct upstream_list idle;          /* newest first */
	struct upstream_list open;          /* all others; of these: */
	struct upstream_list turn, shaking; /* wait, or shake hands */
	struct event next; /* one has its turn (upstream_turn) */
	size_t idle_count, count, shaking_count;
	uint64_t generation; /* older connections do not rest any more */
};

/* What its call is told, never before the function that asked returned. */
struct upstream_user {
	void (*on_ready)(void *context); /* it is BUSY now */
	/* It did not become ready, and is gone: forget the pointer. */
	void (*on_failed)(
	    enum lane_failure failure, const char *detail, void *context);
	/* While BUSY: bytes, the end or room may be there. */
	void (*on_event)(void *context);
	void *context;
};

struct upstream {
	TAILQ_ENTRY(upstream) link, wait;
	struct upstream_site *site;
	enum upstream_state state;
	struct upstream_user user;
	struct upstream_wire wire;
	struct upstream_tls *tls;
	struct event event;
	struct deadline deadline;
	struct dns_query *query;
	struct dial *dial;
	struct parent_dial *parent;
	struct dns_answer *judged; /* while the proxy's name is looked up */
	struct ip_addr address;    /* the provider's, that was judged */
	uint64_t generation, turn_ms;
	unsigned calls;         /* served before this one */
	bool in_line, has_turn; /* since turn_ms (upstream_turn.h) */
};

/* Begin a connection. RESULT_NO_MEMORY, or RESULT_OK: on_ready or on_failed
 * will follow unless it is closed before. */
enum result upstream_open(struct upstream_site *site,
    const struct upstream_user *user, struct upstream **upstream_r);
/* The one end, in any state; the user hears nothing more. */
void upstream_close(struct upstream **upstream, const char *why);
/* For the wheel: a deadline that lies in a struct upstream passed. */
void upstream_on_deadline(struct upstream *upstream);

/* While BUSY. RESULT_NEED_MORE, _EOF (ended in order) or _CLOSED. */
enum result upstream_read(
    struct upstream *upstream, void *bytes, size_t size, size_t *len_r);
/* All of it, or RESULT_CLOSED. Not while upstream_unsent. */
enum result upstream_write(struct upstream *up, const void *bytes, size_t len);
/* More of what came can be read without asking the kernel. */
bool upstream_has_more(const struct upstream *upstream);
size_t upstream_unsent(const struct upstream *upstream);

/* For upstream_pool.c; the first is the callback of a site's next. */
void upstream_on_next(evutil_socket_t fd, short what, void *context);
void upstream_enter(
    struct upstream *upstream, enum upstream_state state, const char *why);

#endif
