/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key that its provider refuses (401 or 403) several times in a row is not
 * tried again for a while, and for longer each time: a wrong key must not
 * become a flood of failed logins. A call that went well, or a new key,
 * closes it. Pure: the caller brings the clock. One per provider.
 */
#ifndef LLM_BROKER_KEY_KEY_BREAKER_H
#define LLM_BROKER_KEY_KEY_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_BREAKER_REFUSALS 3U  /* in a row, until it opens */
#define KEY_BREAKER_DOUBLINGS 6U /* the pause grows up to 64 times */

struct key_breaker {
	uint64_t pause_ms;   /* the first one */
	uint64_t open_until; /* 0: closed */
	unsigned refusals;   /* in a row */
	unsigned openings;   /* since the last success */
};

void key_breaker_init(struct key_breaker *breaker, uint64_t pause_ms);
/* A success, or a new key. */
void key_breaker_reset(struct key_breaker *breaker);
/* True when this refusal opened it. */
bool key_breaker_refused(struct key_breaker *breaker, uint64_t now_ms);
bool key_breaker_is_open(const struct key_breaker *breaker, uint64_t now_ms);

#endif
