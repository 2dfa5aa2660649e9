/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a control socketpair on the event loop: receives datagrams,
 * decodes them against the catalogue (ipc.h), hands them to a callback;
 * queues what cannot be sent at once, within a bound. A malformed or
 * forbidden message, an overflow or EOF ends the peer: on_end says why,
 * once, and nothing more is delivered.
 */
#ifndef COMMON_PEER_H
#define COMMON_PEER_H

#include <event2/event.h>

#include "common/ipc.h"
#include "common/result.h"

struct peer; /* opaque */

struct peer_handlers {
	/* message and its descriptors are borrowed for the call; a
	 * descriptor that is kept must be taken with ipc_message_take_fd. */
	void (*on_message)(struct ipc_message *message, void *context);
	/* why: RESULT_EOF, RESULT_BAD, RESULT_TOO_LONG, RESULT_SYSTEM;
	 * detail: one sentence for the log. */
	void (*on_end)(enum result why, const char *detail, void *context);
};

/* Takes ownership of fd. self is our role, other the peer's: they select
 * what the catalogue lets pass in each direction. The peer reads from the
 * loop until peer_free. */
enum result peer_new(struct event_base *base, int fd, enum ipc_role self,
    enum ipc_role other, const struct peer_handlers *handlers, void *context,
    struct peer **peer_r);
void peer_free(struct peer **peer);

/* State the conversation is in; messages outside it are refused. */
void peer_set_state(struct peer *peer, enum ipc_state state);

/* Send; never blocks. Takes nothing: descriptors are duplicated by the
 * kernel and stay the caller's. RESULT_TOO_LONG: the peer does not read
 * and the queue is full (the caller ends it). */
enum result peer_send(struct peer *peer, const struct ipc_message *message);

/* Before the loop: wait for exactly one message, at most timeout_ms. */
enum result peer_receive_first(int fd, enum ipc_role self, enum ipc_role other,
    unsigned timeout_ms, struct ipc_message *message_r, char *detail_r,
    size_t detail_size);

#endif
