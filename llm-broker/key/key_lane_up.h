/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way up of a lane: what the broker sent of a call by the trunk, and the
 * rest of a long body, which is read from the lane itself when the upstream
 * took what was there before. Used by key_lane_io.c alone.
 */
#ifndef LLM_BROKER_KEY_KEY_LANE_UP_H
#define LLM_BROKER_KEY_KEY_LANE_UP_H

#include "llm-broker/key/key_lane_net.h"

/* Bytes of one read, and of what waits. */
#define KEY_LANE_UP_READ LANE_DATA_MAX
/* A request that waits for its connection, and what may stand behind it. */
#define KEY_LANE_UP_IN_MAX (2 * LANE_TRUNK_RECORD_MAX)

/* Bytes that came by the trunk: taken, or kept until they are wanted. */
void key_lane_up_take(struct key_lane_io *io, const char *bytes, size_t len);
/* Whatever can go up now. */
void key_lane_up_feed(struct key_lane_io *io);
/* The rest of a body is read from the lane now. */
bool key_lane_up_reads(const struct key_lane_io *io);

#endif
