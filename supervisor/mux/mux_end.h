/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors behind streams. Private to supervisor/mux.
 */
#ifndef SUPERVISOR_MUX_MUX_END_H
#define SUPERVISOR_MUX_MUX_END_H

#include "supervisor/mux/mux_bridge.h"

struct mux_end *mux_end_of(
    struct mux_bridge *bridge, const struct mux_stream *stream);

/* Nothing is behind it. */
void mux_end_reset(struct mux_end *end);
/* Is there something that came and could not be written yet? */
bool mux_end_waits(const struct mux_end *end);

/* A stream of ours with these descriptors (taken). NULL: none is free. */
struct mux_stream *mux_end_open(struct mux_bridge *bridge,
    enum mux_frame_kind kind, uint16_t number, int in, int out);
/* The descriptors (taken) of a stream the other end opened. */
void mux_end_attach(
    struct mux_bridge *bridge, struct mux_stream *stream, int in, int out);

/* Bytes that came; everything that has arrived, when it is over. */
void mux_end_data(struct mux_bridge *bridge, struct mux_stream *stream,
    const uint8_t *bytes, uint32_t len);
void mux_end_eof(struct mux_bridge *bridge, struct mux_stream *stream);
void mux_end_gone(struct mux_bridge *bridge, struct mux_stream *stream);
/* It can be written again. */
void mux_end_drain(struct mux_bridge *bridge, struct mux_stream *stream);
/* At most room bytes to send; 0: none now. */
uint32_t mux_end_read(struct mux_bridge *bridge, struct mux_stream *stream,
    uint8_t *bytes_r, uint32_t room);
/* Frees it when nothing of it is left. */
void mux_end_settle(struct mux_bridge *bridge, struct mux_stream *stream);

/* Is there output of the container that has not left it (or, on the host,
 * not left us)? */
bool mux_end_has_output(const struct mux_bridge *bridge);

/* Non-blocking and close-on-exec; closes it and is -1 when that fails. */
int mux_end_prepare(int fd);

#endif
