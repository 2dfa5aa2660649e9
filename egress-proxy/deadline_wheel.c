/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wheel behind the time limits of connections; called by session_io.c
 * (arm, clear) and proxy.c (tick). A deadline lies in the slot of its tick
 * modulo the number of slots; one that is further away than a round is
 * looked at once a round and left there. Must never allocate or fail.
 */
#include "egress-proxy/deadline_wheel.h"

#include <string.h>

void
deadline_wheel_init(struct deadline_wheel *wheel, uint64_t now_ms)
{
	memset(wheel, 0, sizeof(*wheel));
	for (size_t i = 0; i < DEADLINE_WHEEL_SLOTS; i++)
		LIST_INIT(&wheel->slots[i]);
	LIST_INIT(&wheel->due);
	wheel->ticked = now_ms / DEADLINE_WHEEL_TICK_MS;
}

/* The tick at which a moment is past for certain. */
static uint64_t
deadline_wheel_tick_of(const struct deadline_wheel *wheel, uint64_t due_ms)
{
	uint64_t tick = due_ms / DEADLINE_WHEEL_TICK_MS + 1;

	return tick > wheel->ticked ? tick : wheel->ticked + 1;
}

void
deadline_wheel_arm(
    struct deadline_wheel *wheel, struct deadline *deadline, uint64_t due_ms)
{
	uint64_t tick;

	deadline_wheel_clear(wheel, deadline);
	deadline->due_ms = due_ms != 0 ? due_ms : 1;
	tick = deadline_wheel_tick_of(wheel, deadline->due_ms);
	LIST_INSERT_HEAD(
	    &wheel->slots[tick % DEADLINE_WHEEL_SLOTS], deadline, link);
	wheel->armed++;
}

void
deadline_wheel_clear(struct deadline_wheel *wheel, struct deadline *deadline)
{
	if (deadline->due_ms == 0)
		return;
	LIST_REMOVE(deadline, link);
	deadline->due_ms = 0;
	wheel->armed--;
}

/* Move what is due out of one slot first: firing may arm or clear others. */
static void
deadline_wheel_collect(
    struct deadline_wheel *wheel, struct deadline_slot *slot, uint64_t now_ms)
{
	struct deadline *deadline, *next;

	for (deadline = LIST_FIRST(slot); deadline != NULL; deadline = next) {
		next = LIST_NEXT(deadline, link);
		if (deadline->due_ms > now_ms)
			continue;
		LIST_REMOVE(deadline, link);
		LIST_INSERT_HEAD(&wheel->due, deadline, link);
	}
}

void
deadline_wheel_tick(struct deadline_wheel *wheel, uint64_t now_ms,
    deadline_wheel_fire *fire, void *context)
{
	uint64_t now_tick = now_ms / DEADLINE_WHEEL_TICK_MS;
	uint64_t from = wheel->ticked + 1;
	struct deadline *deadline;

	if (now_tick < from)
		return;
	if (now_tick - from >= DEADLINE_WHEEL_SLOTS)
		from = now_tick - DEADLINE_WHEEL_SLOTS + 1;
	for (uint64_t tick = from; tick <= now_tick; tick++)
		deadline_wheel_collect(
		    wheel, &wheel->slots[tick % DEADLINE_WHEEL_SLOTS], now_ms);
	wheel->ticked = now_tick;
	while ((deadline = LIST_FIRST(&wheel->due)) != NULL) {
		deadline_wheel_clear(wheel, deadline);
		fire(deadline, context);
	}
}
