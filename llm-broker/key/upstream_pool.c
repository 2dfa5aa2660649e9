/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle connections of one provider. Called by key_lane_io.c at both ends of
 * a call. Must never hand out a connection that said something while it
 * rested.
 */
#include "llm-broker/key/upstream_pool.h"

#include <string.h>

#include "common/event_loop.h"
#include "llm-broker/key/upstream_turn.h"

#define UPSTREAM_POOL_FRESH_MS 1U /* less than a way to any provider */

void
upstream_pool_init(struct upstream_site *site, struct upstream_world *world,
    const struct key_config_provider *provider,
    struct upstream_tls_context *tls)
{
	memset(site, 0, sizeof(*site));
	site->world = world;
	site->provider = provider;
	site->tls = tls;
	TAILQ_INIT(&site->idle);
	TAILQ_INIT(&site->open);
	upstream_turn_init(site);
	(void)event_assign(
	    &site->next, world->base, -1, 0, upstream_on_next, site);
}

static void
upstream_pool_drop(struct upstream_list *list, const char *why)
{
	struct upstream *upstream;

	while ((upstream = TAILQ_FIRST(list)) != NULL)
		upstream_close(&upstream, why);
}

void
upstream_pool_free(struct upstream_site *site)
{
	upstream_pool_drop(&site->idle, "the end");
	upstream_pool_drop(&site->open, "the end");
	(void)event_del(&site->next);
	upstream_tls_context_free(&site->tls);
}

/* Nothing was said, nothing ended, nothing is half done. Tickets and key
 * updates of TLS are read here, too. */
static bool
upstream_pool_is_quiet(struct upstream *upstream)
{
	uint8_t byte;
	size_t len;

	return upstream_read(upstream, &byte, sizeof(byte), &len) ==
		   RESULT_NEED_MORE &&
	       upstream_wire_flush(&upstream->wire) == RESULT_OK;
}

void
upstream_pool_on_event(struct upstream *upstream)
{
	if (!upstream_pool_is_quiet(upstream))
		upstream_close(&upstream, "it spoke or ended while it rested");
}

static void
upstream_pool_wake(struct upstream *upstream, const struct upstream_user *user)
{
	struct upstream_site *site = upstream->site;

	TAILQ_REMOVE(&site->idle, upstream, link);
	site->idle_count--;
	TAILQ_INSERT_HEAD(&site->open, upstream, link);
	deadline_wheel_clear(site->world->wheel, &upstream->deadline);
	upstream->user = *user;
	upstream->calls++;
	upstream_enter(upstream, UPSTREAM_BUSY, "taken");
	site->world->counters.reused++;
}

enum result
upstream_pool_take(struct upstream_site *site, const struct upstream_user *user,
    struct upstream **upstream_r)
{
	struct upstream *upstream;
	enum result result;

	*upstream_r = NULL;
	while ((upstream = TAILQ_FIRST(&site->idle)) != NULL) {
		/* Ask the kernel, unless it was asked just now: the loop may
		 * not have come to it yet. */
		if (upstream->wire.is_drained &&
		    event_loop_now_ms() - upstream->wire.drained_ms >
			UPSTREAM_POOL_FRESH_MS)
			upstream_wire_look(&upstream->wire);
		if (upstream_pool_is_quiet(upstream)) {
			upstream_pool_wake(upstream, user);
			*upstream_r = upstream;
			return RESULT_OK;
		}
		site->world->counters.stale++;
		upstream_close(&upstream, "it was dead when it was needed");
	}
	if (site->count >= (size_t)site->world->config->max_connections)
		return RESULT_TOO_LONG;
	result = upstream_open(site, user, upstream_r);
	return result == RESULT_OK ? RESULT_NEED_MORE : result;
}

static void
upstream_pool_rest(struct upstream *upstream)
{
	struct upstream_site *site = upstream->site;
	const struct upstream_world *world = site->world;

	TAILQ_REMOVE(&site->open, upstream, link);
	TAILQ_INSERT_HEAD(&site->idle, upstream, link);
	site->idle_count++;
	upstream_enter(upstream, UPSTREAM_IDLE, "given back");
	deadline_wheel_arm(world->wheel, &upstream->deadline,
	    event_loop_now_ms() + (uint64_t)world->config->idle_timeout_ms);
}

void
upstream_pool_give(struct upstream **upstream, bool keep)
{
	struct upstream *given = *upstream;

	*upstream = NULL;
	if (given == NULL)
		return;
	memset(&given->user, 0, sizeof(given->user));
	if (keep && given->state == UPSTREAM_BUSY &&
	    given->generation == given->site->generation &&
	    given->site->idle_count <
		(size_t)given->site->world->config->max_idle &&
	    upstream_unsent(given) == 0 && upstream_pool_is_quiet(given))
		upstream_pool_rest(given);
	else
		upstream_close(&given, keep ? "no room to rest" : "done");
}

void
upstream_pool_renew(struct upstream_site *site)
{
	site->generation++;
	upstream_pool_drop(&site->idle, "the key changed");
}
