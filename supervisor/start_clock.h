/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a start goes: when each step began and how long it took,
 * on the monotonic clock. Steps that run at the same time overlap, and are
 * shown so. Used by the stories of a run and of its sandbox.
 */
#ifndef SUPERVISOR_START_CLOCK_H
#define SUPERVISOR_START_CLOCK_H

#include <stdint.h>
#include <stdio.h>

enum start_step {
	START_PLAN,    /* configuration, lockfile, package, secrets */
	START_LEDGER,  /* agentnode-ledger, until it is ready */
	START_IMAGE,   /* engine, image and limits of this sandbox */
	START_RECORD,  /* the launch record, until it is on disk */
	START_ENGINE,  /* the engine's client, until init speaks */
	START_PROXY,   /* egress-proxy, until it listens */
	START_VOLUMES, /* the seals of its volumes */
	START_GATE,    /* agentnode-gate, until it was told to start */
	START_WALLS,   /* listeners, and what a workload could reach */
	START_CHECKS,  /* what of proxy and volumes is still awaited */
	START_FILES,   /* trees that are copied in */
	START_ANSWER,  /* from go to the first answer to the client */
	START_STEP_COUNT
};

struct start_clock {
	int64_t origin_us; /* 0: nobody looks, nothing is noted */
	struct {
		int64_t begin_us, end_us; /* 0: not yet */
	} steps[START_STEP_COUNT];
};

/* Now, in microseconds. */
int64_t start_clock_now(void);

/* Accept NULL. A step is noted once; an end without its beginning is none. */
void start_clock_begin(struct start_clock *clock, enum start_step step);
void start_clock_end(struct start_clock *clock, enum start_step step);
void start_clock_end_at(
    struct start_clock *clock, enum start_step step, int64_t at_us);

/* One line per step that began: name, begin, length, and its place in the
 * whole. */
void start_clock_print(const struct start_clock *clock, FILE *out);

#endif
