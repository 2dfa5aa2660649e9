/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of llm-broker and of llm-key. A process that is woken out of an
 * idle core answers some 30 microseconds later than one that looks, on a
 * virtual machine. So where one thing alone is awaited, and it came within
 * QUICK_WAIT_NS several times in a row, the loop looks for it that long
 * before it sleeps. It never does while anything else is under way, and not
 * for a provider that takes as long as providers do; looking in vain makes it
 * rare, looking with success frequent again.
 */
#ifndef LLM_BROKER_QUICK_WAIT_H
#define LLM_BROKER_QUICK_WAIT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"

#define QUICK_WAIT_NS 150000U /* looked for so long, at most */
#define QUICK_WAIT_LONE 16U   /* lone calls in a row, and */
#define QUICK_WAIT_LEAST 4U   /* quick waits in a row before it looks; twice */
#define QUICK_WAIT_MOST                                       \
	1024U /* as many each time it did in vain, up to here \
	       */

struct quick_wait {
	uint64_t since_ns;   /* awaited since then; 0: nothing is */
	unsigned near, need; /* quick waits in a row, and how many it takes */
	unsigned lone;       /* calls in a row that began alone */
};

/* The clock is the caller's, so that a test has one of its own. */
uint64_t quick_wait_now_ns(void);

void quick_wait_init(struct quick_wait *wait);
/* A call begins; open: how many there are with it. A crowd that is between
 * two of its bursts is no lone call. */
void quick_wait_begin(struct quick_wait *wait, uint64_t open);
/* The calls of late were alone, so nothing is gained by waiting for another
 * one to share a write with. */
bool quick_wait_is_lone(const struct quick_wait *wait);
/* One thing alone is awaited from now on; nothing, unless they were lone. */
void quick_wait_expect(struct quick_wait *wait, uint64_t now_ns);
void quick_wait_came(struct quick_wait *wait, uint64_t now_ns);
/* Look now, do not sleep. */
bool quick_wait_looks(struct quick_wait *wait, uint64_t now_ns);

/* As event_loop_run. */
enum result quick_wait_run(struct event_base *base, struct quick_wait *wait);

#endif
