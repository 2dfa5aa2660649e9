/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress-proxy as a part of one sandbox: started with the engine, told the
 * policy as soon as it is ready, given each listener when it comes. Used by
 * the sandbox's story, which ends everything when this ends.
 */
#ifndef SUPERVISOR_ENGINE_EGRESS_PART_H
#define SUPERVISOR_ENGINE_EGRESS_PART_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"
#include "supervisor/engine/egress_plan.h"

struct egress_part; /* opaque */

struct egress_part_handlers {
	void (*on_ready)(void *context); /* confined, policy sent */
	void (*on_end)(const char *detail, void *context); /* dead */
	/* A decision message (common/ipc); and, once after egress_part_close:
	 * all of them were told, or never will be. NULL: nobody asks. */
	void (*on_decision)(const json_t *body, void *context);
	void (*on_settled)(void *context);
};

/* plan is borrowed and must outlive the part; log_fd is borrowed. */
enum result egress_part_start(struct event_base *base, const char *id,
    const struct egress_plan *plan, int log_fd,
    const struct egress_part_handlers *handlers, void *context,
    struct egress_part **part_r);

/* index 0 is the proxy port, the others are plan->direct[index - 1]. fd is
 * taken; kept until the proxy is ready. */
enum result egress_part_listen(
    struct egress_part *part, uint32_t index, int fd);

/* plan->policy was replaced by a narrower one: tell it. What it no longer
 * lets through is reset. */
enum result egress_part_replace(struct egress_part *part);

/* Close its tunnels (the process stays). */
void egress_part_close(struct egress_part *part);
/* Nothing more is to be waited for; NULL is settled. */
bool egress_part_settled(const struct egress_part *part);
/* Kill and reap. Accepts NULL, clears. */
void egress_part_free(struct egress_part **part);

#endif
