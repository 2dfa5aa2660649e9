/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caller mode on the wire: the messages to a tool package and what its
 * answers mean for the jobs. Leaf of gate_caller and gate.c.
 */
#ifndef SUPERVISOR_GATE_GATE_CALLER_WIRE_H
#define SUPERVISOR_GATE_GATE_CALLER_WIRE_H

#include "supervisor/gate/gate_caller.h"

#define GATE_CALLER_WIRE_INITIALIZE 1U /* id of the first request */

/* Send initialize. */
void gate_caller_wire_begin(
    struct gate_caller *caller, struct mcp_session *session, uint64_t now_ms);
/* A job that waits: its call, or the first page of a list. */
void gate_caller_wire_send(struct gate_caller *caller,
    struct mcp_session *session, struct gate_caller_job *job, uint64_t now_ms);
/* The server may stop working on it; its answer is nobody's any more.
 * reason: a word of ours. */
void gate_caller_wire_cancel(struct mcp_session *session,
    const struct gate_caller_job *job, const char *reason, uint64_t now_ms);
/* The session refused a request of caller's (mcp_session's hook): only its
 * answer is told with a code of Guard's. */
void gate_caller_wire_refused(
    struct mcp_span id, enum mcp_denial denial, void *caller);
/* A line the session let pass to the client. */
void gate_caller_wire_line(struct gate_caller *caller,
    struct mcp_session *session, const char *bytes, size_t len,
    uint64_t now_ms);

#endif
