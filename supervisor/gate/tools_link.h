/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools port's side to the supervisor: calls go out as `tool_call`,
 * `tool_result` comes in, refusals become `decision`. Made in mode agent
 * only; called by main.c. Arguments and results travel as sealed memfds.
 */
#ifndef SUPERVISOR_GATE_TOOLS_LINK_H
#define SUPERVISOR_GATE_TOOLS_LINK_H

#include <event2/event.h>

#include "common/ipc.h"
#include "common/peer.h"
#include "common/result.h"
#include "supervisor/gate/gate_config.h"
#include "supervisor/gate/gate_io.h"

struct tools_link; /* opaque */

/* config, io and sandbox are borrowed and outlive the link. */
enum result tools_link_new(struct event_base *base, struct gate_config *config,
    const struct mcp_hash_key *key, struct gate_io *io, const char *sandbox,
    struct tools_link **link_r);
void tools_link_free(struct tools_link **link);
/* The conversation; before the loop. */
void tools_link_set_peer(struct tools_link *link, struct peer *peer);

/* `listen` and `tool_result`: false when it is not as it must be. */
bool tools_link_listen(struct tools_link *link, struct ipc_message *message);
bool tools_link_result(struct tools_link *link, struct ipc_message *message);

/* All is over: tell the last refusals; counts go into `done`'s result. */
void tools_link_end(struct tools_link *link, json_t *result);

#endif
