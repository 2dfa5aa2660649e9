/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected socket that takes whatever it is given: what the kernel does
 * not take at once is kept, within a bound, until it does. So the TLS layer
 * above never has to be asked twice, and no plaintext waits. Used by
 * upstream.c and upstream_tls.c; the loop is told edges only.
 */
#ifndef LLM_BROKER_KEY_UPSTREAM_WIRE_H
#define LLM_BROKER_KEY_UPSTREAM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"

/* Kept at most: the records of one full read of a lane, and their frames. */
#define UPSTREAM_WIRE_UNSENT_MAX 98304U

struct upstream_wire {
	int fd;
	struct buffer unsent;
	uint64_t sent, received; /* bytes the kernel took and gave */
	/* The kernel said that nothing is there, or a read was short; until
	 * the loop says otherwise it is not asked again. Behind a short read
	 * an error may stand, which has no edge of its own: it is asked once
	 * more before long (upstream_wire_doubt). */
	bool is_drained, is_short;
	bool is_dry;         /* it was asked since, and had nothing */
	bool is_hung_up;     /* the end is behind what is there */
	uint64_t drained_ms; /* when it said so last */
	bool is_ended;       /* the other side's end was read */
};

void upstream_wire_init(struct upstream_wire *wire, int fd);
void upstream_wire_close(struct upstream_wire *wire);

/* The loop reported an edge; hung_up: that the other side ended. */
void upstream_wire_note(struct upstream_wire *wire, bool hung_up);
/* True: the last read was short, and nobody asked since; read again. */
bool upstream_wire_doubt(struct upstream_wire *wire);
/* Ask the kernel whether something came that no edge told of yet. */
void upstream_wire_look(struct upstream_wire *wire);

/* All of it is taken, or the wire is dead: RESULT_CLOSED. The caller does
 * not send while much is unsent: RESULT_TOO_LONG. */
enum result upstream_wire_send(
    struct upstream_wire *wire, const void *bytes, size_t len);
/* RESULT_OK: nothing is unsent; RESULT_NEED_MORE; RESULT_CLOSED. */
enum result upstream_wire_flush(struct upstream_wire *wire);
/* RESULT_NEED_MORE: nothing there; RESULT_EOF; RESULT_CLOSED. */
enum result upstream_wire_receive(
    struct upstream_wire *wire, void *bytes, size_t size, size_t *len_r);

#endif
