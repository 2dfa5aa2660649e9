/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a lane on its sockets, shared by key_lane_io.c, which moves
 * its bytes, and key_lane_net.c, which does what key_lane.c asks for. Nobody
 * else includes this.
 */
#ifndef LLM_BROKER_KEY_KEY_LANE_NET_H
#define LLM_BROKER_KEY_KEY_LANE_NET_H

#include <event2/event_struct.h>

#include "common/buffer.h"
#include "llm-broker/key/key_lane_io.h"

struct key_lane_io {
	struct key_lane lane; /* first: the two are one object */
	struct key_lane_world *world;
	TAILQ_ENTRY(key_lane_io) link, wait;
	struct lane_seat seat;
	uint32_t told; /* the call whose first frame went by the trunk */
	int fd;
	struct event on_read, on_write;
	struct buffer in;  /* of the trunk, not yet taken */
	struct buffer out; /* to the broker, not yet sent */
	struct key_site *site;
	struct upstream *upstream;
	struct deadline deadline;
	struct ip_addr address; /* of the connection, for the log */
	uint64_t generation;    /* of the key it was sent with */
	bool is_reused, is_resumed;
	/* as of struct upstream_wire */
	bool is_drained, is_short, is_hung_up;
	bool is_waiting; /* on the list of those that have more to do */
};

extern const struct key_lane_actions key_lane_net_actions;

struct key_lane_io *key_lane_net_of(struct key_lane *lane);

/* One frame to the broker: the first of a call by the trunk; of another what
 * the lane's socket does not take waits in out. */
void key_lane_net_put(struct key_lane_io *io, const void *bytes, size_t len);
/* The next frame of this call is its first. */
bool key_lane_net_is_first(const struct key_lane_io *io);

/* The call that is over last is logged, if it was not yet: behind what others
 * wait for. */
void key_lane_net_tell(struct key_lane_world *world);

/* In key_lane_io.c: more to do in the next turn of the loop; and what a
 * connection tells its call. */
#define KEY_LANE_IO_TURNS 4U /* reads of one side before others have theirs */
void key_lane_io_again(struct key_lane_io *io);
void key_lane_io_on_ready(void *context);
void key_lane_io_on_failed(
    enum lane_failure failure, const char *detail, void *context);
void key_lane_io_on_upstream(void *context);

#endif
