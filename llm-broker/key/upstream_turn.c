/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line before the handshakes of one provider, and those that are under
 * way, both oldest first. Called by upstream.c. Must never end a connection
 * itself.
 */
#include "llm-broker/key/upstream_turn.h"

#include "common/event_loop.h"

void
upstream_turn_init(struct upstream_site *site)
{
	TAILQ_INIT(&site->turn);
	TAILQ_INIT(&site->shaking);
	site->shaking_count = 0;
}

/* The oldest handshake in the way of one with this address; NULL: there is
 * none. */
static struct upstream *
upstream_turn_in_the_way(
    const struct upstream_site *site, const struct ip_addr *address)
{
	struct upstream *other, *oldest = NULL;
	unsigned count = 0;

	if (site->shaking_count >= UPSTREAM_TURN_MAX)
		return TAILQ_FIRST(&site->shaking);
	if (site->shaking_count < UPSTREAM_TURN_ADDRESS)
		return NULL;
	TAILQ_FOREACH(other, &site->shaking, wait)
	{
		if (!ip_addr_equal(&other->address, address))
			continue;
		oldest = oldest != NULL ? oldest : other;
		count++;
	}
	return count >= UPSTREAM_TURN_ADDRESS ? oldest : NULL;
}

static void
upstream_turn_begin(struct upstream *upstream, uint64_t now_ms)
{
	struct upstream_site *site = upstream->site;

	upstream->in_line = false;
	upstream->has_turn = true;
	upstream->turn_ms = now_ms;
	TAILQ_INSERT_TAIL(&site->shaking, upstream, wait);
	site->shaking_count++;
}

/* Someone waits: look again, also when nobody leaves. */
static void
upstream_turn_look_later(struct upstream_site *site)
{
	struct timeval moment = event_loop_timeval(UPSTREAM_TURN_LOOK_MS);

	if (!event_pending(&site->next, EV_TIMEOUT, NULL))
		(void)event_add(&site->next, &moment);
}

bool
upstream_turn_ask(struct upstream *upstream, uint64_t now_ms)
{
	struct upstream_site *site = upstream->site;

	if (upstream_turn_in_the_way(site, &upstream->address) == NULL) {
		upstream_turn_begin(upstream, now_ms);
		return true;
	}
	upstream->in_line = true;
	TAILQ_INSERT_TAIL(&site->turn, upstream, wait);
	upstream_turn_look_later(site);
	return false;
}

/* Half of what a connection may take at most: the other half is for who
 * comes behind. */
static bool
upstream_turn_is_stale(const struct upstream *upstream, uint64_t now_ms)
{
	uint64_t most =
	    (uint64_t)upstream->site->world->config->connect_timeout_ms / 2;

	return now_ms - upstream->turn_ms >= most;
}

struct upstream *
upstream_turn_next(
    struct upstream_site *site, uint64_t now_ms, struct upstream **stale_r)
{
	const struct ip_addr *full = NULL;
	struct upstream *upstream, *other;

	*stale_r = NULL;
	TAILQ_FOREACH(upstream, &site->turn, wait)
	{
		if (full != NULL && ip_addr_equal(full, &upstream->address))
			continue;
		other = upstream_turn_in_the_way(site, &upstream->address);
		if (other == NULL) {
			TAILQ_REMOVE(&site->turn, upstream, wait);
			upstream_turn_begin(upstream, now_ms);
			return upstream;
		}
		if (upstream_turn_is_stale(other, now_ms)) {
			*stale_r = other;
			return NULL;
		}
		if (site->shaking_count >= UPSTREAM_TURN_MAX)
			break;
		full = &upstream->address;
	}
	if (!TAILQ_EMPTY(&site->turn))
		upstream_turn_look_later(site);
	return NULL;
}

void
upstream_turn_leave(struct upstream *upstream)
{
	struct upstream_site *site = upstream->site;

	if (upstream->in_line)
		TAILQ_REMOVE(&site->turn, upstream, wait);
	upstream->in_line = false;
	if (!upstream->has_turn)
		return;
	upstream->has_turn = false;
	TAILQ_REMOVE(&site->shaking, upstream, wait);
	site->shaking_count--;
	if (!TAILQ_EMPTY(&site->turn))
		event_active(&site->next, EV_TIMEOUT, 0);
}
