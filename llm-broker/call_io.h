/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on real sockets: one edge-triggered event per descriptor for its
 * whole life, eager reads, nothing read that the state does not want.
 * Everything that happens becomes a call_step; the story is in call.c.
 */
#ifndef LLM_BROKER_CALL_IO_H
#define LLM_BROKER_CALL_IO_H

#include <event2/event.h>
#include <sys/queue.h>

#include "egress-proxy/deadline_wheel.h"
#include "llm-broker/call_data.h"
#include "llm-broker/lane_client.h"
#include "llm-broker/quick_wait.h"

#define CALL_IO_READ 32768U /* bytes of one read from an agent */

struct call_io; /* one connection; a struct call is its first field */

TAILQ_HEAD(call_io_queue, call_io);

/* Counted since the start, for `stats`. */
struct call_io_counters {
	uint64_t accepted, ended, calls, served, refused, redacted;
};

/* The ledger's end of a reservation; broker_ledger.h does it. */
struct call_io_ledger {
	enum result (*reserve)(struct call *call, void *context);
	void (*settle)(struct call *call, void *context);
	void (*forget)(struct call *call, void *context);
};

/* What all calls of the process share; broker.c owns it. */
struct call_io_shared {
	struct event_base *base;
	struct deadline_wheel wheel;
	struct call_limits limits;
	struct lane_client *lanes; /* NULL until llm-key is there */
	struct call_io_ledger ledger;
	struct call_io_queue again; /* whose turn was over */
	struct event *again_event;
	struct call_io_counters counters;
	uint64_t next_number;
	struct quick_wait quick; /* for an agent's next request */
	/* A call is over: usage and decision. */
	void (*on_report)(const struct call *call, void *context);
	void *context; /* of on_report and of the ledger's functions */
	struct call_relay_space space;
	char scratch[CALL_IO_READ];
};

enum result call_io_shared_init(
    struct call_io_shared *shared, struct event_base *base);
void call_io_shared_close(struct call_io_shared *shared);

/* A connection was accepted. Takes fd. */
void call_io_accept(
    struct call_io_shared *shared, struct call_run *run, int fd);

/* Something happened to this call that is not about its sockets. It may be
 * gone afterwards. */
void call_io_tell(struct call *call, enum call_event event);

/* Deadlines that passed: call every wheel tick. */
void call_io_tick(struct call_io_shared *shared);

/* The pool's handlers; its context is nobody's. */
extern const struct lane_client_handlers call_io_lane_handlers;

#endif
