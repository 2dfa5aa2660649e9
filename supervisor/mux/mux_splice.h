/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload that moves from pipe to pipe without being copied: out of the pipe
 * behind a stream into the link, and out of the link into the pipe behind a
 * stream. A frame's header must come first and say how much follows, so what
 * leaves is collected in pipes of our own until it is counted; what comes and
 * cannot be written yet waits in a spare pipe of its stream. Private to
 * supervisor/mux.
 */
#ifndef SUPERVISOR_MUX_MUX_SPLICE_H
#define SUPERVISOR_MUX_MUX_SPLICE_H

#include "supervisor/mux/mux_bridge.h"

#define MUX_SPLICE_PIPE (256 << 10) /* ours, in bytes; less is slower only */
#define MUX_SPLICE_LEAST 4096U      /* what is smaller is copied */

/* Is it a pipe? */
bool mux_splice_is_pipe(int fd);

/* What the link is; the bridge's own pipes are made when they are needed,
 * and where they cannot be everything is copied. */
void mux_splice_init(struct mux_bridge *bridge);
void mux_splice_close(struct mux_bridge *bridge);

/* May a frame of this stream be made without a copy? */
bool mux_splice_may_take(struct mux_bridge *bridge, const struct mux_end *end);
/* What is in bridge->out, then a frame of at most most bytes of stream. */
void mux_splice_take(
    struct mux_bridge *bridge, struct mux_stream *stream, uint32_t most);
/* How much of it waits to be written to the link; writes of it. false: it
 * takes no more now. */
size_t mux_splice_waits(const struct mux_bridge *bridge);
bool mux_splice_write(struct mux_bridge *bridge);

/* At most most bytes of the link for stream, at once or to its spare pipe;
 * 0: they must be read. */
uint32_t mux_splice_give(
    struct mux_bridge *bridge, struct mux_stream *stream, uint32_t most);
/* Of the spare pipe; false: it broke. */
bool mux_splice_drain(struct mux_end *end, struct mux_stream *stream);

#endif
