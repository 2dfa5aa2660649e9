/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a lane, shared by lane_client.c, which keeps the pool and
 * writes, and lane_frames.c, which reads what llm-key said. Nobody else
 * includes this.
 *
 * The first frame of an answer comes by the trunk, every other one in the
 * lane; so the lane of a call is not read before its first frame was heard.
 * What stands in it until then is of an earlier call, or behind that frame.
 */
#ifndef LLM_BROKER_LANE_FRAMES_H
#define LLM_BROKER_LANE_FRAMES_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "llm-broker/lane_client.h"
#include "llm-broker/lane_trunk.h"

struct lane {
	TAILQ_ENTRY(lane) link; /* in client->idle, when it has no owner */
	struct lane_client *client;
	struct lane_seat seat;
	struct event event, room;
	void *owner; /* NULL: idle, or its call is over */
	int fd;
	uint32_t number; /* of the call in it, or of the last one */
	unsigned begun : 1, writing : 1, reading : 1, dropped : 1, hung_up : 1,
	    heard : 1,     /* the first frame of its answer, by the trunk; */
	    missed : 1,    /* something stood in the lane before that */
	    owes : 1,      /* the RELEASE of the call before, */
	    owes_long : 1; /* for a moment already */
	/* what goes out: open, head and body, of which the rest follows in the
	 * lane once its beginning is in the trunk */
	struct lane_frame release;
	struct lane_open open;
	const char *head, *body;
	size_t head_len, body_len;
	/* what comes in: a header, then left bytes of DATA */
	struct lane_frame frame;
	size_t frame_len, left;
};

TAILQ_HEAD(lane_queue, lane);

struct lane_client {
	struct event_base *base;
	struct lane_client_handlers handlers;
	void *context;
	struct lane_queue idle; /* the last used is the first */
	struct event *owed;     /* sends what idle lanes owe */
	struct lane_trunk trunk;
	size_t max, open_count, idle_count;
	char scratch[LANE_CLIENT_READ];
};

/* llm-key said what it cannot have said: the process ends. */
_Noreturn void lane_frames_broken(const char *what);

/* Bytes of one read of the lane, to the handlers. */
void lane_frames_parse(struct lane *lane, const char *bytes, size_t len);

/* A record of the trunk: the first frame of an answer, whole. */
void lane_frames_on_record(
    struct lane_seat *seat, const char *bytes, size_t len);

/* In lane_client.c: the lane's end. */
void lane_client_close(struct lane *lane);

#endif
