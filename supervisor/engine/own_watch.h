/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells when the host's own addresses may have changed: the kernel's routing
 * messages (rtnetlink(7)) about addresses of this network namespace. What
 * changed is found out by reading them again (egress_plan_own). Used by
 * egress_live.c.
 */
#ifndef SUPERVISOR_ENGINE_OWN_WATCH_H
#define SUPERVISOR_ENGINE_OWN_WATCH_H

#include <event2/event.h>

#include "common/result.h"

struct own_watch; /* opaque */

/* Must not free the watch. */
typedef void own_watch_changed(void *context);

/* RESULT_SYSTEM with errno: the kernel has no such messages for us. */
enum result own_watch_new(struct event_base *base, own_watch_changed *changed,
    void *context, struct own_watch **watch_r);
/* Accepts NULL, clears. */
void own_watch_free(struct own_watch **watch);

#endif
