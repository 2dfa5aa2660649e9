/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes one sandbox may still move: a token bucket for the rate
 * and a counter for the total, both directions together. Pure; asked by
 * tunnel.c before each read, refilled by proxy.c's tick.
 */
#ifndef EGRESS_PROXY_EGRESS_QUOTA_H
#define EGRESS_PROXY_EGRESS_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct egress_quota {
	uint64_t rate;   /* bytes per second, 0: no limit */
	uint64_t max;    /* bytes in the sandbox's life, 0: no limit */
	uint64_t tokens; /* bytes that may move now, when rate is set */
	uint64_t debt;   /* bytes that moved beyond them */
	uint64_t filled_ms;
	uint64_t used;
};

void egress_quota_init(
    struct egress_quota *quota, uint64_t rate, uint64_t max, uint64_t now_ms);

/* Add the tokens of the time that passed; at most one second's worth. */
void egress_quota_refill(struct egress_quota *quota, uint64_t now_ms);

/* At most this many of want bytes may be read now; 0: wait for a refill,
 * or never when the total is used up. */
size_t egress_quota_ask(const struct egress_quota *quota, size_t want);

/* Account for bytes that were read. More than was granted (a ClientHello
 * goes whole or not at all) is a debt that later refills pay first. */
void egress_quota_spend(struct egress_quota *quota, size_t count);

/* The total is used up: open connections end. */
bool egress_quota_exhausted(const struct egress_quota *quota);

#endif
