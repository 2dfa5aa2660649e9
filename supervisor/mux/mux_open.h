/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New streams. Private to supervisor/mux.
 */
#ifndef SUPERVISOR_MUX_MUX_OPEN_H
#define SUPERVISOR_MUX_MUX_OPEN_H

#include "supervisor/mux/mux_bridge.h"

/* Inside: clients of a listener, as many as there are streams for. */
void mux_open_accept(struct mux_bridge *bridge, unsigned index);
/* The other end opened one; of something that is not there ends the link. */
void mux_open_take(struct mux_bridge *bridge, struct mux_stream *stream);
/* One that waits to be passed on is tried again (mux_bridge.crowded). */
void mux_open_again(struct mux_bridge *bridge, struct mux_stream *stream);
/* The other end spoke. Host: the workload's streams are opened. */
void mux_open_greet(struct mux_bridge *bridge);

#endif
