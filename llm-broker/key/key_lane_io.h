/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes on their sockets: moves bytes between the broker's end and a
 * provider's connection, with backpressure both ways, and does what
 * key_lane.c asks for. At most one read's worth of bytes waits in each
 * direction; while it does, nothing more is read. Used by key_holder.c.
 */
#ifndef LLM_BROKER_KEY_KEY_LANE_IO_H
#define LLM_BROKER_KEY_KEY_LANE_IO_H

#include <event2/event.h>
#include <sys/queue.h>

#include "egress-proxy/deadline_wheel.h"
#include "llm-broker/key/key_breaker.h"
#include "llm-broker/key/key_inject.h"
#include "llm-broker/key/key_lane.h"
#include "llm-broker/key/key_store.h"
#include "llm-broker/key/upstream.h"
#include "llm-broker/lane_trunk.h"
#include "llm-broker/quick_wait.h"

/* One provider: its connections and the breaker of its key. */
struct key_site {
	struct upstream_site upstream;
	struct key_breaker breaker;
	size_t index; /* in the store and in the configuration */
};

struct key_lane_io;
TAILQ_HEAD(key_lane_io_list, key_lane_io);

struct key_lane_counters {
	uint64_t calls, served, failed, cancelled, retried;
	uint64_t failures[LANE_FAILED_BUSY + 1];
	uint64_t up, down; /* bytes of bodies and responses */
};

/* The log line of a call that is over, until there is time for it. */
struct key_lane_line {
	bool is_due;
	char provider[LANE_PROVIDER_MAX];
	const char *host, *code;     /* of the configuration; a fixed text */
	struct ip_addr address;      /* family 0: none */
	struct ip_addr told;         /* the last that was written, */
	char text[IP_ADDR_TEXT_MAX]; /* as it was written */
	bool failed, reused, resumed, retried;
	char detail[KEY_LANE_DETAIL_MAX];
	uint64_t number, up, down, sent_ms, first_ms, total_ms;
};

/* What all lanes share. */
struct key_lane_world {
	struct event_base *base;
	struct upstream_world upstreams;
	struct key_site sites[KEY_CONFIG_PROVIDERS_MAX];
	size_t site_count;
	struct key_store *store;
	struct key_inject *inject;
	struct deadline_wheel lane_wheel, upstream_wheel;
	struct event *tick, *again_event, *tell_event;
	struct key_lane_io_list lanes, again;
	struct lane_trunk trunk;
	size_t lane_count;
	struct quick_wait quick; /* for the answer to a lone call */
	struct key_lane_counters counters;
	struct key_lane_line line;
	uint64_t trimmed, trim_ms; /* changes then; not before */
	bool is_crowd;             /* many changes before that */
	char *scratch;             /* one frame: what passes through */
	/* The broker broke the rules of lane.h: the process ends. */
	void (*on_broken)(void *context);
	void *context;
};

/* base, upstreams.dns and .config, sites and store are the caller's. */
enum result key_lane_io_init(struct key_lane_world *world);
/* Closes every lane, then every connection. */
void key_lane_io_close(struct key_lane_world *world);

/* The first descriptor of the broker's is the trunk, every other one a lane;
 * takes fd. RESULT_TOO_LONG: LANE_COUNT_MAX; RESULT_BAD: it is no stream
 * socket. */
enum result key_lane_io_add(struct key_lane_world *world, int fd);
/* The broker is gone. */
void key_lane_io_drop_all(struct key_lane_world *world);
/* A key came, changed or went: calls that wait for one are told. */
void key_lane_io_key_changed(struct key_lane_world *world, size_t provider);

#endif
