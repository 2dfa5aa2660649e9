/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look, and the loop that does. Called by both mains and by who
 * awaits something. Must never look for longer than QUICK_WAIT_NS, or when
 * the last waits do not say that it helps.
 */
#include "llm-broker/quick_wait.h"

#include <string.h>
#include <time.h>

uint64_t
quick_wait_now_ns(void)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail on Linux */
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void
quick_wait_init(struct quick_wait *wait)
{
	memset(wait, 0, sizeof(*wait));
	wait->need = QUICK_WAIT_LEAST;
}

void
quick_wait_begin(struct quick_wait *wait, uint64_t open)
{
	if (open > 1)
		wait->lone = 0;
	else if (wait->lone < QUICK_WAIT_LONE)
		wait->lone++;
	wait->since_ns = 0;
}

bool
quick_wait_is_lone(const struct quick_wait *wait)
{
	return wait->lone >= QUICK_WAIT_LONE;
}

void
quick_wait_expect(struct quick_wait *wait, uint64_t now_ns)
{
	wait->since_ns = quick_wait_is_lone(wait) ? now_ns : 0;
}

void
quick_wait_came(struct quick_wait *wait, uint64_t now_ns)
{
	bool looked = wait->near >= wait->need;

	if (wait->since_ns == 0)
		return;
	if (now_ns - wait->since_ns > QUICK_WAIT_NS)
		wait->near = 0;
	else if (!looked)
		wait->near++;
	else if (wait->need > QUICK_WAIT_LEAST)
		wait->need--;
	wait->since_ns = 0;
}

bool
quick_wait_looks(struct quick_wait *wait, uint64_t now_ns)
{
	if (wait->since_ns == 0 || wait->near < wait->need)
		return false;
	if (now_ns - wait->since_ns <= QUICK_WAIT_NS)
		return true;
	wait->since_ns = 0;
	wait->near = 0;
	wait->need =
	    wait->need < QUICK_WAIT_MOST / 2 ? wait->need * 2 : QUICK_WAIT_MOST;
	return false;
}

enum result
quick_wait_run(struct event_base *base, struct quick_wait *wait)
{
	int how;

	do {
		how = wait->since_ns != 0 &&
			      quick_wait_looks(wait, quick_wait_now_ns())
			  ? EVLOOP_NONBLOCK
			  : EVLOOP_ONCE;
		if (event_base_loop(base, how | EVLOOP_NO_EXIT_ON_EMPTY) < 0)
			return RESULT_INTERNAL;
	} while (!event_base_got_break(base));
	return RESULT_OK;
}
