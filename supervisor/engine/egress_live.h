/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the egress policy of a running sandbox as narrow as the
 * configuration has become, and without the addresses that the host got:
 * reads both again when they change, has the narrowing recorded, then tells
 * egress-proxy. Nothing ever widens; what was
 * taken away comes back with the next start. Used by the sandbox's story.
 */
#ifndef SUPERVISOR_ENGINE_EGRESS_LIVE_H
#define SUPERVISOR_ENGINE_EGRESS_LIVE_H

#include <event2/event.h>

#include "common/result.h"
#include "supervisor/engine/egress_part.h"
#include "supervisor/policy/audit.h"

struct egress_live; /* opaque */

/* The policy in force is not known any more, so the run must end:
 * "config_unreadable": a file of the configuration is malformed or cannot
 * be read, three times within a second (an editor may be writing it), or its
 * folder is gone; "audit_failed": the narrowing cannot be recorded;
 * "internal": no memory, or the host's own addresses cannot be read. */
typedef void egress_live_fault(
    const char *code, const char *detail, void *context);

/* plan and part are borrowed and outlive it; plan->policy is replaced. */
enum result egress_live_start(struct event_base *base, struct audit *audit,
    const char *id, struct egress_plan *plan, struct egress_part *part,
    egress_live_fault *on_fault, void *context, struct egress_live **live_r);
/* The sandbox is ending: nothing more is read or sent. Accepts NULL. */
void egress_live_stop(struct egress_live *live);
/* Accepts NULL, clears; while the audit lives. */
void egress_live_free(struct egress_live **live);

#endif
