/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of init's protocol over the link, with what is attached to them.
 * Private to supervisor/mux.
 */
#ifndef SUPERVISOR_MUX_MUX_RECORD_H
#define SUPERVISOR_MUX_MUX_RECORD_H

#include "supervisor/mux/mux_bridge.h"

void mux_record_init(struct mux_bridge *bridge);
/* Closes and unmaps what is under way. */
void mux_record_clear(struct mux_bridge *bridge);

/* control is readable: one record of it. */
void mux_record_take(struct mux_bridge *bridge);
/* Frames of it, as far as there is room for a whole one in bridge->out. */
void mux_record_fill(struct mux_bridge *bridge);

/* A frame that carries a record, or bytes of one. */
void mux_record_attach(
    struct mux_bridge *bridge, const struct mux_frame *frame);
void mux_record_arrive(
    struct mux_bridge *bridge, const struct mux_frame *frame);
/* To control, unless it must wait for what was said before it. */
void mux_record_deliver(struct mux_bridge *bridge);

#endif
