/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a container: everything in its control group is killed, round
 * after round until nothing is left; then the engine's own record is
 * removed, and that it is gone is verified. Used by the sandbox's story.
 */
#ifndef SUPERVISOR_ENGINE_CONTAINER_END_H
#define SUPERVISOR_ENGINE_CONTAINER_END_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/result.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/engine_host.h"

struct container_end; /* opaque */

struct container_end_handlers {
	/* Nothing of it lives (true), or something does after 5 s; where we
	 * may signal nobody, after the time init takes to end by itself. */
	void (*on_dead)(bool dead, void *context);
	/* The engine no longer knows it (true), or still does after 20 s and
	 * three tries: its own calls may take seconds on a busy machine. */
	void (*on_removed)(bool removed, const char *detail, void *context);
};

/* host is borrowed and must outlive it; name and the id of the run, which
 * tells the container's id when init never spoke, are copied. */
enum result container_end_new(struct event_base *base,
    const struct engine_host *host, const char *name, const char *run,
    const struct container_end_handlers *handlers, void *context,
    struct container_end **end_r);

/* Kill now and every 2 ms until empty. cgroup is copied. When init never
 * spoke its groups are not known (empty): what holds socket (an inode) is
 * given grace_ms to end by itself, then killed. on_dead comes from the
 * loop, never before this returns. */
enum result container_end_kill(struct container_end *end,
    const struct cgroup *cgroup, ino_t socket, unsigned grace_ms);

/* Remove and verify. client_removed: the engine's client ran with --rm and
 * ended by itself without a complaint, so that a look at the storage is
 * enough; else the engine is asked, and what the runtime may have kept is
 * deleted too. */
enum result container_end_remove(
    struct container_end *end, bool client_removed);

/* Without an engine: its control groups are all there is to remove. */
enum result container_end_remove_groups(struct container_end *end);

/* Accepts NULL, clears. */
void container_end_free(struct container_end **end);

#endif
