/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a mux link: bytes of the link on one side, descriptors on the
 * other. What speaks init's record protocol (init_protocol.h) is behind
 * `control`, a SOCK_SEQPACKET socket: init itself inside, the supervisor on
 * the host. Records go through as they are; descriptors become streams, and
 * sealed memfds become bytes and memfds again.
 *
 * Both ends are this code, in the poll loop of init_mux.c and mux_host.c.
 * Nothing here waits. docs/protocol.md has the conversation.
 */
#ifndef SUPERVISOR_MUX_MUX_BRIDGE_H
#define SUPERVISOR_MUX_MUX_BRIDGE_H

#include <poll.h>

#include "supervisor/mux/docker_stream.h"
#include "supervisor/mux/mux_link.h"
#include "supervisor/mux/mux_part.h"

#define MUX_BRIDGE_IN (2U * (MUX_FRAME_HEADER + MUX_FRAME_DATA_MAX))
#define MUX_BRIDGE_OUT 131072U
#define MUX_BRIDGE_ATTACHED_MAX INIT_GO_MAX
#define MUX_BRIDGE_DETAIL_MAX 128U
#define MUX_BRIDGE_CROWDED_MS 10 /* until it is tried again */
/* Link in and out, control, listeners, two for each stream. */
#define MUX_BRIDGE_POLLS (3U + INIT_LISTENERS_MAX + 2U * MUX_LINK_STREAMS)

enum mux_bridge_state {
	MUX_BRIDGE_RUNNING,
	MUX_BRIDGE_CLOSED, /* the other end, or control, is gone */
	MUX_BRIDGE_BROKEN, /* the other end broke the protocol */
	MUX_BRIDGE_FAILED, /* no memory, no descriptor */
};

enum mux_poll_kind {
	MUX_POLL_LINK_IN,
	MUX_POLL_LINK_OUT,
	MUX_POLL_CONTROL,
	MUX_POLL_LISTENER,
	MUX_POLL_END
};

struct mux_bridge {
	enum mux_bridge_state state; /* assigned in mux_bridge_close alone */
	char detail[MUX_BRIDGE_DETAIL_MAX];
	struct mux_link link;
	int link_in, link_out, control;
	/* Inside: listening. On the host: a socket of a pair, over which
	 * connections are passed to whoever serves them. */
	int listeners[INIT_LISTENERS_MAX];
	int streams[3]; /* the workload's, until they are streams; -1 */
	struct mux_end ends[MUX_LINK_STREAMS]; /* of link.streams */
	struct mux_leaving leaving;
	struct mux_arriving arriving;
	struct mux_stage stage;
	struct mux_pour pour;
	bool from_pipe, to_pipe; /* what the link is */
	bool chunked;            /* docker's headers are between its bytes */
	struct docker_stream docker;
	uint8_t in[MUX_BRIDGE_IN], out[MUX_BRIDGE_OUT];
	size_t in_start, in_len, out_start, out_len;
	bool more;    /* to be written, although out is empty */
	bool crowded; /* a descriptor waits that fd_send cannot pass now */
	uint64_t tick_ms;
	struct {
		enum mux_poll_kind kind;
		unsigned index;
	} polled[MUX_BRIDGE_POLLS];
};

/* All descriptors are taken, made non-blocking; streams: the workload's
 * stdin, stdout and stderr from this end (-1: nobody's). false: errno. */
bool mux_bridge_init(struct mux_bridge *bridge, enum mux_link_side side,
    int link_in, int link_out, int control, const int streams[3],
    uint64_t now_ms);

/* After it, on the host: the link is a connection to a Docker daemon that
 * attached it to a container. */
void mux_bridge_by_docker(struct mux_bridge *bridge);

/* After it, inside: others read the link and write it on, with a buffer of
 * their size. Payload is copied into it then: a pipe whose writer set
 * O_DIRECT (pipe(7)) has packets, splice(2) hands them on as such, and what
 * of one does not fit a read(2) is lost, so that a workload could say where
 * a frame begins. */
void mux_bridge_is_passed(struct mux_bridge *bridge);

/* What to poll for, at most MUX_BRIDGE_POLLS; then, with what poll(2)
 * found, everything that can be done without waiting. timeout_ms_r: when
 * to come back although nothing happened. */
unsigned mux_bridge_polls(struct mux_bridge *bridge, struct pollfd *polls_r,
    uint64_t now_ms, int *timeout_ms_r);
void mux_bridge_turn(struct mux_bridge *bridge, const struct pollfd *polls,
    unsigned count, uint64_t now_ms);

/* Nothing is left to be said over the link. */
bool mux_bridge_idle(const struct mux_bridge *bridge);

/* The one way it ends; closes everything. The first reason stays. */
void mux_bridge_close(
    struct mux_bridge *bridge, enum mux_bridge_state state, const char *detail);

#endif
