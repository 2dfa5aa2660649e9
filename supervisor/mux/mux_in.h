/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that come. Private to supervisor/mux.
 */
#ifndef SUPERVISOR_MUX_MUX_IN_H
#define SUPERVISOR_MUX_MUX_IN_H

#include "supervisor/mux/mux_bridge.h"

/* The link is readable. */
void mux_in_turn(struct mux_bridge *bridge, uint64_t now_ms);
/* What was read already; it may have waited for a record. */
void mux_in_frames(struct mux_bridge *bridge, uint64_t now_ms);

#endif
