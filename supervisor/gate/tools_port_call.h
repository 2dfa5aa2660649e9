/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a tools port: judged, counted, handed on by the port's hook,
 * answered when the supervisor has an answer. Part of the story in
 * tools_port.
 */
#ifndef SUPERVISOR_GATE_TOOLS_PORT_CALL_H
#define SUPERVISOR_GATE_TOOLS_PORT_CALL_H

#include "supervisor/gate/tools_port.h"

/* A request to run a tool: CALLING, or refused. */
void tools_port_call_tool(struct tools_port *port, size_t connection,
    struct tools_body *body, uint64_t now_ms);
/* A request for all tools: LISTING, or answered from what is known. */
void tools_port_call_list(
    struct tools_port *port, size_t connection, uint64_t now_ms);
/* Nobody waits for the connection's call any more: the package may stop
 * working on it. Its place is free; what was counted stays counted. */
void tools_port_call_drop(struct tools_port *port, size_t connection);
/* The client of this connection's session no longer wants the answer to its
 * request of that id, which is then answered with nothing. */
void tools_port_call_cancel(struct tools_port *port, size_t connection,
    struct mcp_span id, uint64_t now_ms);
/* Something ended: there may be room to ask, or nothing left to ask. */
void tools_port_call_move(struct tools_port *port, uint64_t now_ms);
/* As tools_port_answer. */
void tools_port_call_answered(struct tools_port *port, uint64_t id,
    const char *code, const char *detail, const char *bytes, size_t len,
    uint64_t now_ms);

#endif
