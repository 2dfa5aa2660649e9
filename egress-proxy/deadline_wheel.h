/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines of thousands of connections at no cost while nothing is due: a
 * hashed timing wheel. Arming, moving and clearing are O(1) and allocate
 * nothing; one tick looks at one slot. Precision is one tick, which is
 * enough for limits. Pure: the caller brings the clock (proxy.c ticks it).
 */
#ifndef EGRESS_PROXY_DEADLINE_WHEEL_H
#define EGRESS_PROXY_DEADLINE_WHEEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define DEADLINE_WHEEL_TICK_MS 100U
#define DEADLINE_WHEEL_SLOTS 256U

/* Embedded in its owner; zeroed means not armed. */
struct deadline {
	LIST_ENTRY(deadline) link;
	uint64_t due_ms; /* 0: not armed */
};

LIST_HEAD(deadline_slot, deadline);

struct deadline_wheel {
	struct deadline_slot slots[DEADLINE_WHEEL_SLOTS];
	struct deadline_slot due; /* what the running tick has found */
	uint64_t ticked;          /* last tick that was handled */
	size_t armed;             /* deadlines waiting */
};

/* Called for each deadline that passed; it is not armed any more and may
 * be armed again, and any other may be cleared, from inside. */
typedef void deadline_wheel_fire(struct deadline *deadline, void *context);

void deadline_wheel_init(struct deadline_wheel *wheel, uint64_t now_ms);

/* Arm, or move an armed one. A moment already past fires at the next tick. */
void deadline_wheel_arm(
    struct deadline_wheel *wheel, struct deadline *deadline, uint64_t due_ms);
void deadline_wheel_clear(
    struct deadline_wheel *wheel, struct deadline *deadline);

/* Handle every tick up to now. */
void deadline_wheel_tick(struct deadline_wheel *wheel, uint64_t now_ms,
    deadline_wheel_fire *fire, void *context);

#endif
