/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep-alive connections of one provider: the newest idle one is taken
 * first, so that the others can grow old and go. A connection rests only
 * after a complete response, and only while it is perfectly quiet: a byte or
 * an end that comes while it rests closes it, and before it is used again it
 * is asked once more, so that a call is never written into a connection that
 * is known to be dead. Used by key_lane_io.c.
 */
#ifndef LLM_BROKER_KEY_UPSTREAM_POOL_H
#define LLM_BROKER_KEY_UPSTREAM_POOL_H

#include "common/result.h"
#include "llm-broker/key/upstream.h"

void upstream_pool_init(struct upstream_site *site,
    struct upstream_world *world, const struct key_config_provider *provider,
    struct upstream_tls_context *tls);
/* Close everything. */
void upstream_pool_free(struct upstream_site *site);

/* RESULT_OK: *upstream_r is BUSY and may be written. RESULT_NEED_MORE: it is
 * being opened, user hears. RESULT_TOO_LONG: max_connections. */
enum result upstream_pool_take(struct upstream_site *site,
    const struct upstream_user *user, struct upstream **upstream_r);
/* A call is over; keep: its response was complete. */
void upstream_pool_give(struct upstream **upstream, bool keep);
/* Close what rests, and let nothing of today rest again. */
void upstream_pool_renew(struct upstream_site *site);

/* For upstream.c: something happened to a resting connection. */
void upstream_pool_on_event(struct upstream *upstream);

#endif
