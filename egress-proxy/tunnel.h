/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes both ways between two connected sockets, after everything has been
 * decided. The two ends are the same struct, so that backpressure and
 * half-close are written once. Small pieces are copied through a scratch
 * buffer, streams go by splice(2) through a pipe of the pool; a tunnel with
 * nothing in flight holds no memory but this struct.
 *
 * No events here: session_io.c owns one edge-triggered event per descriptor
 * and tells tunnel_note what became possible.
 */
#ifndef EGRESS_PROXY_TUNNEL_H
#define EGRESS_PROXY_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress-proxy/egress_quota.h"
#include "egress-proxy/hello_watch.h"
#include "egress-proxy/splice_pipe.h"

#define TUNNEL_SCRATCH 65536U
#define TUNNEL_TURN (1U << 20) /* bytes one direction moves per turn */

/* What an edge-triggered event said about one end. */
#define TUNNEL_CAN_READ 1U
#define TUNNEL_CAN_WRITE 2U
#define TUNNEL_HUNG_UP 4U /* the other side may have ended: no edge follows */

/* Shared by all tunnels of the process. */
struct tunnel_shared {
	struct splice_pipe_pool pipes;
	bool no_splice; /* copy everything (a test, or an odd kernel) */
	uint8_t scratch[TUNNEL_SCRATCH];
};

struct tunnel_end {
	int fd;             /* borrowed from the session */
	uint32_t held;      /* bytes read here, not yet written there */
	uint32_t held_from; /* where they start, when in held_bytes */
	unsigned readable : 1, writable : 1, hung_up : 1,
	    eof : 1,     /* everything of this side was read */
	    shut : 1,    /* we have sent our FIN to this side */
	    prompt : 1,  /* TCP_NODELAY is set */
	    watched : 1, /* its bytes are shown to the watch */
	    stopped : 1, /* its next bytes may be a second hello */
	    stream : 3;  /* small reads until it is no longer a stream */
	struct hello_watch watch;
	uint32_t unpaid; /* of held and behind: the quota was not asked */
	uint32_t behind_len;
	uint8_t *behind;          /* read, and to pass behind what is held */
	struct splice_pipe *pipe; /* holds the held bytes, or */
	uint8_t *held_bytes;      /* holds them when no pipe could be had */
	uint64_t moved; /* bytes read here and written to the other end */
};

struct tunnel {
	struct tunnel_end ends[2];
	bool retry;   /* the server asked for a second hello */
	bool told;    /* and that was said */
	bool refused; /* a second hello came, and nobody had asked */
};

enum tunnel_status {
	TUNNEL_WAIT,      /* nothing to do until the next event */
	TUNNEL_AGAIN,     /* its turn is over, but there is more */
	TUNNEL_THROTTLED, /* waits for the quota */
	TUNNEL_RETRY,     /* the client's second hello is due: tunnel_behind */
	TUNNEL_DONE,      /* both sides ended in order */
	TUNNEL_REFUSED,   /* a second hello that nobody asked for */
	TUNNEL_BROKEN,    /* reset or error on a side: errno says which */
};

/* Both descriptors non-blocking. An end counts as writable and as having
 * nothing to read until tunnel_note says otherwise. */
void tunnel_start(struct tunnel *tunnel, int client_fd, int upstream_fd);

/* Bytes read before the tunnel began, to be written to the other side
 * first; copied. The quota pays for them when they go. */
enum result tunnel_preload(
    struct tunnel *tunnel, unsigned end, const void *bytes, size_t count);

/* The same for a judged ClientHello (hello of the count bytes) and what came
 * behind it, of which paid bytes were read by the tunnel. From here on both
 * ends are watched until no second hello can come in the clear; one that
 * the server asked for is TUNNEL_RETRY, once, and the client is not read
 * until this is called again. Answers of the server pass all the time. */
enum result tunnel_hello(struct tunnel *tunnel, const void *bytes, size_t hello,
    size_t count, size_t paid);

/* After TUNNEL_RETRY: the client's bytes from the record on that must be
 * the second hello, as far as they were read. */
const uint8_t *tunnel_behind_borrow(
    const struct tunnel *tunnel, size_t *count_r);

/* Note what an end can do now (TUNNEL_CAN_... bits). */
void tunnel_note(struct tunnel *tunnel, unsigned end, unsigned can);

/* Move what can be moved. quota is the sandbox's. */
enum tunnel_status tunnel_continue(struct tunnel *tunnel,
    struct tunnel_shared *shared, struct egress_quota *quota);

/* What was read at this end waits for the other side: nothing more is read
 * here, and to hear of more is of no use. */
bool tunnel_stuck(const struct tunnel *tunnel, unsigned end);

/* All that had come to this end was read: only an event tells of more. */
bool tunnel_drained(const struct tunnel *tunnel, unsigned end);

/* Give back what is held; the descriptors stay the session's. */
void tunnel_stop(struct tunnel *tunnel, struct tunnel_shared *shared);

#endif
