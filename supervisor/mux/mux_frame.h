/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frame of the mux wiring: a header of twelve bytes in network order
 * (type, flags, two bytes of zero, stream, length), then length bytes. Pure;
 * used by both ends, which trust each other with nothing that is not checked
 * here. docs/protocol.md is the prose to this header.
 */
#ifndef SUPERVISOR_MUX_MUX_FRAME_H
#define SUPERVISOR_MUX_MUX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUX_FRAME_VERSION 1U
#define MUX_FRAME_MAGIC 0x414e5831U /* "ANX1" */
#define MUX_FRAME_HEADER 12U
#define MUX_FRAME_DATA_MAX 65536U
#define MUX_FRAME_RECORD_MAX 16384U
#define MUX_FRAME_ATTACHED_MAX 2U /* to one record */
/* The longest frame without data: a hello. */
#define MUX_FRAME_CONTROL_MAX (MUX_FRAME_HEADER + 12U)

enum mux_frame_type {
	MUX_FRAME_HELLO = 1, /* magic, version, first window of a stream */
	MUX_FRAME_OPEN,      /* kind and number, 16 bits each */
	MUX_FRAME_DATA,      /* 1 to 65536 bytes of a stream */
	MUX_FRAME_WINDOW,    /* so many bytes more may be sent, not 0 */
	MUX_FRAME_EOF,       /* nothing more comes on this stream */
	MUX_FRAME_RESET,     /* it is over, both ways; a code. With DONE: the
			      * answer, which frees it */
	MUX_FRAME_ATTACH,    /* bytes that the next record carries; flags: to
			      * which of its descriptors */
	MUX_FRAME_RECORD,    /* a record of init's protocol; flags: how many
			      * are attached; stream: the tree it is about */
	MUX_FRAME_PING,
	MUX_FRAME_PONG,
};

#define MUX_FRAME_DONE 1U /* flag of RESET */

/* What a stream is for. */
enum mux_frame_kind {
	MUX_KIND_CONNECTION = 1, /* accepted on listener `number` */
	MUX_KIND_STDIN,
	MUX_KIND_STDOUT,
	MUX_KIND_STDERR,
	MUX_KIND_TREE_IN,  /* into the container */
	MUX_KIND_TREE_OUT, /* out of it */
};

enum mux_frame_result {
	MUX_FRAME_OK,
	MUX_FRAME_MORE, /* not whole yet */
	MUX_FRAME_BAD_TYPE,
	MUX_FRAME_BAD_FLAGS,
	MUX_FRAME_BAD_STREAM, /* one where none may be, or none */
	MUX_FRAME_BAD_LENGTH,
	MUX_FRAME_BAD_VALUE,
};

struct mux_frame {
	enum mux_frame_type type;
	unsigned flags;
	uint32_t stream; /* 0: of the link itself */
	/* DATA, ATTACH, RECORD; in the bytes that were decoded. */
	const uint8_t *payload;
	uint32_t length;
	uint32_t version, window; /* HELLO; window: of WINDOW, too */
	uint32_t code;            /* RESET */
	enum mux_frame_kind kind; /* OPEN */
	uint16_t number;
};

/* The first frame of bytes; used_r is its whole length. Bytes of a header
 * are judged as soon as they are there, so that a length nobody may send is
 * not waited for. */
enum mux_frame_result mux_frame_decode(const uint8_t *bytes, size_t len,
    struct mux_frame *frame_r, size_t *used_r);

/* The same of the header alone: the bytes of a stream need not be there as a
 * whole. payload is NULL. */
enum mux_frame_result mux_frame_head(
    const uint8_t *bytes, size_t len, struct mux_frame *frame_r);

/* Bytes of everything but DATA, ATTACH and RECORD; bytes_r has room for
 * MUX_FRAME_CONTROL_MAX. How many they are. */
size_t mux_frame_encode(const struct mux_frame *frame, uint8_t *bytes_r);
/* The header of a frame whose length bytes follow. */
void mux_frame_header(
    const struct mux_frame *frame, uint8_t bytes_r[MUX_FRAME_HEADER]);

const char *mux_frame_text(enum mux_frame_result result);

#endif
