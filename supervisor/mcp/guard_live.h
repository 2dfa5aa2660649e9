/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard's rules while a server runs: when the configuration or the team
 * policy changes, the desk judges every later call by what they say now,
 * beside what the gate began with. So a change narrows at once, and widens
 * with the next run only. And its end: what would not be started any more,
 * or has expired (run_term.h). Used by mcp_run and tool_session.
 */
#ifndef SUPERVISOR_MCP_GUARD_LIVE_H
#define SUPERVISOR_MCP_GUARD_LIVE_H

#include <event2/event.h>

#include "supervisor/mcp/mcp_run_plan.h"
#include "supervisor/mcp/run_term.h"
#include "supervisor/policy/guard_desk.h"

struct guard_live; /* opaque */

/* All are borrowed and must outlive it. Begins to judge soon. */
enum result guard_live_new(struct event_base *base, struct guard_desk *desk,
    const struct mcp_run_plan *plan, const struct mcp_run_options *options,
    run_term_over *over, void *context, struct guard_live **live_r);
/* Accepts NULL, clears. */
void guard_live_free(struct guard_live **live);

#endif
