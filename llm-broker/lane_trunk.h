/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trunk beside the lanes (lane.h): one SOCK_STREAM pair between
 * llm-broker and llm-key that carries what is short of all calls, many in
 * one write and one read. Used by both ends in the same way.
 *
 * Up go OPEN, head, the first LANE_TRUNK_BODY_MAX bytes of the body, and
 * RELEASE; down goes the first frame of an answer, at most
 * LANE_TRUNK_DATA_MAX bytes of it. The rest of a body and of an answer goes
 * through the lane, whose socket then is the backpressure. So what waits
 * here is bounded by the lanes, and neither end waits for the other's agent
 * or provider.
 *
 * A record is of one lane; lanes are numbered by the order in which their
 * ends were handed over. It also says how many messages its writer had sent
 * on the pair of the two processes before: the reader takes these first. So
 * a lane is there before its first record, and what a key looks like is
 * known before an answer that can hold it.
 */
#ifndef LLM_BROKER_LANE_TRUNK_H
#define LLM_BROKER_LANE_TRUNK_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "common/buffer.h"
#include "common/result.h"
#include "llm-broker/lane.h"

#define LANE_TRUNK_MAGIC 0x414e5431U /* "ANT1" */
#define LANE_TRUNK_BODY_MAX 16384U
#define LANE_TRUNK_DATA_MAX 16384U
#define LANE_TRUNK_RECORD_MAX \
	(sizeof(struct lane_open) + LANE_HEAD_MAX + LANE_TRUNK_BODY_MAX)
#define LANE_TRUNK_BUCKETS 256U

struct lane_record {
	uint32_t magic, lane;
	uint32_t len;   /* bytes that follow, 1..RECORD_MAX */
	uint32_t after; /* messages that were sent on the pair before */
};

/* A lane's place in the trunk; part of its owner's structure. */
struct lane_seat {
	LIST_ENTRY(lane_seat) link;
	uint32_t number; /* 0: it has none */
};
LIST_HEAD(lane_seat_list, lane_seat);

struct lane_trunk_handlers {
	/* Bytes of this lane; it may leave its seat meanwhile. */
	void (*on_bytes)(struct lane_seat *seat, const char *bytes, size_t len);
	/* The other end closed it (what is NULL) or broke its rules; nothing
	 * follows. */
	void (*on_end)(const char *what, void *context);
};

struct lane_trunk {
	struct event_base *base;
	const struct lane_trunk_handlers *handlers;
	void *context;
	int fd; /* -1: not open */
	struct event read, room, flush;
	struct buffer in, out;
	struct lane_seat_list seats[LANE_TRUNK_BUCKETS];
	uint32_t seated;      /* the number of the last seat */
	uint32_t told, heard; /* messages that were sent, and taken */
	bool is_due, is_held, is_reading;
};

/* Closed, and nobody sits in it. */
void lane_trunk_init(struct lane_trunk *trunk, struct event_base *base,
    const struct lane_trunk_handlers *handlers, void *context);
/* Takes fd, an end of a stream pair. priority: of its events. */
enum result lane_trunk_open(struct lane_trunk *trunk, int fd, int priority);
/* Back to what init left; lanes must have left their seats. */
void lane_trunk_close(struct lane_trunk *trunk);

/* The next lane, in the order of handing over. When all numbers are used
 * up, the trunk ends. */
void lane_trunk_seat(struct lane_trunk *trunk, struct lane_seat *seat);
void lane_trunk_unseat(struct lane_seat *seat);
/* NULL: nobody of that number, or no longer. */
struct lane_seat *lane_trunk_find(struct lane_trunk *trunk, uint32_t number);

/* A message was sent or taken on the pair of the two processes. */
void lane_trunk_told(struct lane_trunk *trunk);
void lane_trunk_heard(struct lane_trunk *trunk);

/* One record; it leaves when this turn of the loop ends. RESULT_TOO_LONG or
 * RESULT_NO_MEMORY: nothing was put; RESULT_CLOSED. */
enum result lane_trunk_put(struct lane_trunk *trunk,
    const struct lane_seat *seat, const struct iovec *parts, size_t count);
/* What was put leaves now, as far as there is room. */
void lane_trunk_flush(struct lane_trunk *trunk);
/* Take what has come by now; nothing when called from inside on_bytes. */
void lane_trunk_drain(struct lane_trunk *trunk);

#endif
