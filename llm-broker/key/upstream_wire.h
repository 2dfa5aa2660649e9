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
	/* The kernel said that nothing is there; until the loop says
	 * otherwise it is not asked again. (A short read says nothing: an
	 * error may stand behind it, and has no edge of its own.) */
	bool is_drained;
	uint64_t drained_ms; /* when it said so last */
	bool is_ended;       /* the other side's end was read */
};

void upstream_wire_init(struct upstream_wire *wire, int fd);
void upstream_wire_close(struct upstream_wire *wire);

/* The loop reported an edge. */
void upstream_wire_note(struct upstream_wire *wire);

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
