/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate and total of one sandbox's bytes. Called by tunnel.c for every read
 * and by proxy.c once a tick. Must never look at a clock itself.
 */
#include "egress-proxy/egress_quota.h"

void
egress_quota_init(
    struct egress_quota *quota, uint64_t rate, uint64_t max, uint64_t now_ms)
{
	quota->rate = rate;
	quota->max = max;
	quota->tokens = rate;
	quota->debt = 0;
	quota->filled_ms = now_ms;
	quota->used = 0;
}

void
egress_quota_refill(struct egress_quota *quota, uint64_t now_ms)
{
	uint64_t passed, room, fresh, paid;

	if (quota->rate == 0 || now_ms <= quota->filled_ms)
		return;
	passed = now_ms - quota->filled_ms;
	if (passed > 1000)
		passed = 1000;
	fresh =
	    quota->rate / 1000 * passed + quota->rate % 1000 * passed / 1000;
	if (fresh == 0)
		return; /* a tiny rate: wait until a whole byte is due */
	quota->filled_ms = now_ms;
	paid = fresh < quota->debt ? fresh : quota->debt;
	quota->debt -= paid;
	fresh -= paid;
	room = quota->rate - quota->tokens;
	quota->tokens += fresh < room ? fresh : room;
}

size_t
egress_quota_ask(const struct egress_quota *quota, size_t want)
{
	if (quota->rate != 0 && want > quota->tokens)
		want = (size_t)quota->tokens;
	if (quota->max != 0) {
		uint64_t left =
		    quota->max > quota->used ? quota->max - quota->used : 0;

		if (want > left)
			want = (size_t)left;
	}
	return want;
}

void
egress_quota_spend(struct egress_quota *quota, size_t count)
{
	quota->used += count;
	if (quota->rate == 0)
		return;
	if (count <= quota->tokens) {
		quota->tokens -= count;
		return;
	}
	quota->debt += count - quota->tokens;
	quota->tokens = 0;
}

bool
egress_quota_exhausted(const struct egress_quota *quota)
{
	return quota->max != 0 && quota->used >= quota->max;
}
