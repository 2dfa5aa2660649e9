/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a mux link: streams, windows, what is to be said next. Pure;
 * mux_bridge moves the bytes. Both ends run it, neither believes the other.
 *
 * A stream may be sent at most what the other end granted: MUX_LINK_WINDOW
 * from its OPEN on, more by WINDOW as bytes are taken. One that uses it up
 * borrows from a pool: at one end wait STREAMS * WINDOW + POOL bytes at most.
 */
#ifndef SUPERVISOR_MUX_MUX_LINK_H
#define SUPERVISOR_MUX_MUX_LINK_H

#include "supervisor/mux/mux_frame.h"
#define MUX_LINK_STREAMS 264U
#define MUX_LINK_CONNECTIONS 256U /* the others are the host's to open */
#define MUX_LINK_WINDOW 65536U
#define MUX_LINK_WINDOW_MOST 262144U      /* of a connection */
#define MUX_LINK_WINDOW_STANDARD 1048576U /* of what there is one of */
#define MUX_LINK_POOL (16U << 20)
#define MUX_LINK_ANSWERS 512U /* resets that wait to be said */
#define MUX_LINK_PING_MS 3000U
#define MUX_LINK_SILENT_MS 15000U /* the way a daemon's death is known */

enum mux_link_side {
	MUX_LINK_HOST,
	MUX_LINK_INSIDE
};
enum mux_link_reason { /* GONE: what is behind it; FULL: no stream is free */
	MUX_LINK_GONE = 1,
	MUX_LINK_FULL
};
enum mux_link_result {
	MUX_LINK_OK,
	MUX_LINK_BAD_VERSION,
	MUX_LINK_BAD_ORDER,  /* before or after hello */
	MUX_LINK_BAD_STREAM, /* never opened, or not theirs to open */
	MUX_LINK_BAD_KIND,
	MUX_LINK_BAD_WINDOW, /* more bytes, or more window, than there is */
	MUX_LINK_BAD_FLOOD,  /* more resets than can be owed */
	MUX_LINK_SILENT,     /* nothing came for too long */
};

struct mux_stream {
	uint32_t id; /* 0: free */
	enum mux_frame_kind kind;
	uint16_t number;
	uint32_t may_send;
	/* may_come + waiting + taken == window */
	uint32_t window, may_come, waiting, taken;
	uint32_t code;
	bool say_open, say_eof, say_reset, eof_said, eof_heard;
	bool resetting; /* waits for DONE; what comes is dropped */
	bool over;      /* reset: nothing may be said of it any more */
	bool ready;     /* the bridge's: there are bytes to send */
};

struct mux_link {
	enum mux_link_side side;
	bool hello_said, hello_heard, say_ping, say_pong;
	uint32_t their_window;         /* first of each stream */
	uint32_t our_next, their_last; /* even ids are the host's */
	uint32_t pool;                 /* left of it */
	struct mux_stream streams[MUX_LINK_STREAMS];
	unsigned used, next;                /* next: whose turn it is */
	unsigned high;                      /* none lives from here on */
	uint64_t answers[MUX_LINK_ANSWERS]; /* id, and above it done */
	unsigned answer_first, answer_count;
	uint64_t heard_ms, pinged_ms;
};

/* What a frame means; stream is NULL where it is not about one that lives. */
enum mux_link_event {
	MUX_LINK_NOTHING,
	MUX_LINK_HELLO,
	MUX_LINK_OPENED,
	MUX_LINK_DATA, /* of the frame: take them, then mux_link_taken */
	MUX_LINK_EOF,
	MUX_LINK_RESET, /* close what is behind it, then mux_link_free */
	MUX_LINK_ATTACH,
	MUX_LINK_RECORD,
};

void mux_link_init(
    struct mux_link *link, enum mux_link_side side, uint64_t now_ms);

/* Not OK: the link ends. */
enum mux_link_result mux_link_receive(struct mux_link *link,
    const struct mux_frame *frame, uint64_t now_ms,
    enum mux_link_event *event_r, struct mux_stream **stream_r);

/* NULL: none is free, or no hello came yet. */
struct mux_stream *mux_link_open(
    struct mux_link *link, enum mux_frame_kind kind, uint16_t number);
struct mux_stream *mux_link_find(struct mux_link *link, uint32_t id);
/* Bytes that came have left: they may be granted again. Nothing more is sent
 * on it. It is over both ways; it stays until the other end knows. */
void mux_link_taken(struct mux_stream *stream, uint32_t count);
void mux_link_eof(struct mux_stream *stream);
void mux_link_reset(struct mux_stream *stream, enum mux_link_reason reason);
/* Both ends know that it is over, and nothing of it waits: close what is
 * behind it, then free it. */
bool mux_link_is_over(const struct mux_stream *stream);
void mux_link_free(struct mux_link *link, struct mux_stream *stream);

/* The next frame that is not data; 0: there is none. */
size_t mux_link_say(struct mux_link *link, uint8_t *bytes_r);
/* The stream whose turn it is to send data, and how much at most; then
 * mux_link_sent (0: it had none). NULL: none may, or none has any. */
struct mux_stream *mux_link_turn(struct mux_link *link, uint32_t *most_r);
void mux_link_sent(struct mux_stream *stream, uint32_t count);
bool mux_link_may_send(const struct mux_stream *stream);

/* Keepalive; next_r: when to call again. deaf: it is not read just now. */
void mux_link_deaf(struct mux_link *link, uint64_t now_ms);
enum mux_link_result mux_link_tick(
    struct mux_link *link, uint64_t now_ms, uint64_t *next_r);

const char *mux_link_text(enum mux_link_result result);

#endif
