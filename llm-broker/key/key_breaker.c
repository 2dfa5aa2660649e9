/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts refusals of one key. Called by key_lane_io.c before a call and at
 * its end. Must never keep a new key waiting for what an old one did.
 */
#include "llm-broker/key/key_breaker.h"

void
key_breaker_init(struct key_breaker *breaker, uint64_t pause_ms)
{
	breaker->pause_ms = pause_ms;
	key_breaker_reset(breaker);
}

void
key_breaker_reset(struct key_breaker *breaker)
{
	breaker->open_until = 0;
	breaker->refusals = 0;
	breaker->openings = 0;
}

bool
key_breaker_is_open(const struct key_breaker *breaker, uint64_t now_ms)
{
	return now_ms < breaker->open_until;
}

bool
key_breaker_refused(struct key_breaker *breaker, uint64_t now_ms)
{
	/* Calls that were under way when it opened say nothing new. */
	if (key_breaker_is_open(breaker, now_ms))
		return false;
	breaker->refusals++;
	/* After a pause one refusal is enough. */
	if (breaker->openings == 0 && breaker->refusals < KEY_BREAKER_REFUSALS)
		return false;
	breaker->open_until =
	    now_ms + (breaker->pause_ms << (breaker->openings));
	if (breaker->openings < KEY_BREAKER_DOUBLINGS)
		breaker->openings++;
	breaker->refusals = 0;
	return true;
}
