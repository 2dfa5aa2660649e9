/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libevent base each process runs on: epoll, no signals but those asked
 * for, one monotonic clock. Callers use libevent's own types for events.
 */
#ifndef COMMON_EVENT_LOOP_H
#define COMMON_EVENT_LOOP_H

#include <event2/event.h>
#include <stdint.h>

#include "common/result.h"

/* A base with EVENT_BASE_FLAG_IGNORE_ENV and precise timers off; everything
 * that libevent reads lazily is read here, before confinement. SIGPIPE and
 * SIGXFSZ are ignored from here on (reset before an exec of somebody else).
 * Free with event_base_free. */
enum result event_loop_new(struct event_base **base_r);

/* The same for a process whose descriptors come and go by the thousand:
 * changes of what is watched reach the kernel once a turn. No watched
 * descriptor may then have a duplicate that outlives it. */
enum result event_loop_new_batched(struct event_base **base_r);

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t event_loop_now_ms(void);

/* Run until event_loop_stop. RESULT_INTERNAL when libevent gave up. */
enum result event_loop_run(struct event_base *base);
void event_loop_stop(struct event_base *base);

/* Milliseconds as a struct timeval. */
struct timeval event_loop_timeval(uint64_t ms);

#endif
