/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bridge is made of, besides the link's state: what is behind each
 * stream, what is on its way to the link and from it. Private to
 * supervisor/mux; all of it is mux_bridge's.
 */
#ifndef SUPERVISOR_MUX_MUX_PART_H
#define SUPERVISOR_MUX_MUX_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/init/init_protocol.h"
#include "supervisor/mux/mux_frame.h"

struct mux_stream;

/* What is behind a stream. A socket is both; a pipe has one. */
struct mux_end {
	int in, out;   /* read to be sent; written with what came; -1 */
	int lend;      /* the other end, for init or who serves it; -1 */
	int spare[2];  /* came and cannot be written yet: in a pipe, -1, */
	uint8_t *hold; /* and after that here (mux_splice.h) */
	uint32_t spared, start, len, size;
	bool in_pipe, out_pipe;
	bool bulk; /* in had much, last time */
};

/* A frame of a stream's bytes on its way to the link, before out. */
struct mux_stage {
	int head[2], body[2]; /* pipes; -1: everything is copied */
	uint32_t head_len, body_len;
};

/* A frame of a stream's bytes whose header came. */
struct mux_pour {
	struct mux_stream *stream; /* NULL: nobody wants them */
	uint32_t left;
	bool bulk; /* the next one is like it */
};

/* A record on its way to the link: attachments first, mapped. */
struct mux_leaving {
	bool busy;
	uint8_t record[MUX_FRAME_RECORD_MAX];
	size_t len;
	uint32_t stream;
	struct {
		void *bytes;
		size_t len, done;
	} attached[MUX_FRAME_ATTACHED_MAX];
	unsigned attached_count;
};

/* A record on its way from the link to control. */
struct mux_arriving {
	bool held; /* streams it speaks of are not written out yet */
	uint8_t record[MUX_FRAME_RECORD_MAX];
	size_t len;
	uint32_t stream;
	bool gathered; /* fds are what goes with it */
	int fds[MUX_FRAME_ATTACHED_MAX];
	size_t fd_count;
	int attached[MUX_FRAME_ATTACHED_MAX]; /* memfds; -1 */
	size_t attached_len[MUX_FRAME_ATTACHED_MAX];
	unsigned attached_count; /* as the record says */
};

#endif
