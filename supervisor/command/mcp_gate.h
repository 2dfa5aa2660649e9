/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of agentnode-gate: starts it, gives it the streams
 * of a run, tells it how the workload ended, hears that the conversation
 * is over. Used by mcp_run.
 */
#ifndef SUPERVISOR_COMMAND_MCP_GATE_H
#define SUPERVISOR_COMMAND_MCP_GATE_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"
#include "supervisor/command/mcp_streams.h"
#include "supervisor/sandbox.h"

struct mcp_gate; /* opaque */

struct mcp_gate_handlers {
	/* Once: the conversation is over; reason as in gate.h. */
	void (*on_done)(const char *reason, const char *detail, void *context);
	/* Once: the process is dead; with no on_done before it a fault. */
	void (*on_end)(const char *detail, void *context);
};

/* options: of the gate's config message (gate_config.h); taken. streams
 * are borrowed until on_end; they are closed here once the gate has them. */
enum result mcp_gate_start(struct event_base *base, const char *sandbox_id,
    json_t *options, int log_fd, struct mcp_streams *streams,
    const struct mcp_gate_handlers *handlers, void *context,
    struct mcp_gate **gate_r);
/* The workload is gone, or never came. */
void mcp_gate_workload_ended(
    struct mcp_gate *gate, const struct sandbox_outcome *outcome);
/* Kills it. Accepts NULL, clears. */
void mcp_gate_free(struct mcp_gate **gate);

#endif
