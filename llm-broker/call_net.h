/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a call on real sockets, shared by call_io.c, which drives
 * it, and call_net.c, which does what call.c asks for. Nobody else includes
 * this.
 */
#ifndef LLM_BROKER_CALL_NET_H
#define LLM_BROKER_CALL_NET_H

#include <event2/event_struct.h>

#include "llm-broker/call_actions.h"
#include "llm-broker/call_io.h"

#define CALL_NET_CAN_READ 1U
#define CALL_NET_CAN_WRITE 2U
#define CALL_NET_HUNG_UP 4U /* the other side sent its FIN */

struct call_io {
	struct call call; /* first: the two are one object */
	struct call_io_shared *shared;
	struct event event; /* of the agent's descriptor */
	int fd;
	uint8_t agent_can, lane_can; /* CALL_NET_..., not yet used */
	uint8_t waits;               /* stands in shared->again */
	uint8_t busy;                /* a step is running */
	struct lane *lane;
	TAILQ_ENTRY(call_io) wait;
};

extern const struct call_actions call_net_actions;

struct call_io *call_net_of(struct call *call);

/* One call runs, no other one, and so it was of late. */
bool call_net_is_alone(const struct call_io_shared *shared);

/* Stand in line for another turn, or leave it. */
void call_net_wait(struct call_io *io);
void call_net_unwait(struct call_io *io);

#endif
