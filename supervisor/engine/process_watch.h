/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeing and causing the death of one process through its pidfd: our own
 * children (reaped here) and the engine's monitor and the container's init
 * (only seen). Used by child.c, engine_call.c and the sandbox's story.
 */
#ifndef SUPERVISOR_ENGINE_PROCESS_WATCH_H
#define SUPERVISOR_ENGINE_PROCESS_WATCH_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/result.h"

struct process_watch; /* opaque */

/* Called once from the loop. exit_code is -1 when a signal ended it or
 * when it is not our child. */
typedef void process_watch_end(int exit_code, int signal, void *context);

/* Takes ownership of pidfd. ours: reap it when it ends. */
enum result process_watch_new(struct event_base *base, int pidfd, bool ours,
    process_watch_end *ended, void *context, struct process_watch **watch_r);

/* SIGKILL; harmless when it is dead already. */
void process_watch_kill(struct process_watch *watch);
bool process_watch_alive(const struct process_watch *watch);

/* Stop watching. Our own child that still lives is killed and reaped.
 * Accepts NULL, clears. */
void process_watch_free(struct process_watch **watch);

#endif
