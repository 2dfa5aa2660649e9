/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that end a run, as events of its loop: each standard signal
 * whose default would end this process and leave what the run made, also one
 * that was ignored before. Not real-time signals, nor SIGXFSZ and SIGPIPE
 * (common/event_loop.h), nor those by which a fault of ours is told.
 */
#ifndef SUPERVISOR_END_SIGNALS_H
#define SUPERVISOR_END_SIGNALS_H

#include <signal.h>

#include <event2/event.h>

#include "common/result.h"

#define END_SIGNALS_COUNT 13U

struct end_signals {
	struct event *events[END_SIGNALS_COUNT];
};

/* Catch them. signals_r is caller-owned, base and context are borrowed until
 * end_signals_free, which is called after a failure (RESULT_NO_MEMORY) too. */
enum result end_signals_new(struct end_signals *signals_r,
    struct event_base *base, event_callback_fn came, void *context);
void end_signals_free(struct end_signals *signals); /* of zeros: nothing */

/* The same for who waits without a loop: signalfd(2), sigprocmask(2). */
void end_signals_mask(sigset_t *set_r);

#endif
