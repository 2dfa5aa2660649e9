/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to a line that does not pass: whoever sent a request is
 * answered with an error, whoever waits for a refused answer is told, the
 * rest is dropped, and all of it is in the log. Leaf of mcp_session.
 */
#ifndef SUPERVISOR_GATE_MCP_REFUSAL_H
#define SUPERVISOR_GATE_MCP_REFUSAL_H

#include "supervisor/gate/mcp_session.h"

/* The parsed message in session is denied; one verdict per entry. */
void mcp_refusal_denied(struct mcp_session *session, enum mcp_side from,
    const enum mcp_denial *denials);

/* A line that is no message of the protocol. */
void mcp_refusal_malformed(struct mcp_session *session, enum mcp_side from,
    const char *bytes, size_t len, enum mcp_fault fault,
    enum mcp_json_fault json, size_t position);

/* Tell whom it concerns, as far as peek knows. */
void mcp_refusal_line(struct mcp_session *session, enum mcp_side from,
    const struct mcp_peek *peek, enum mcp_denial denial, const char *subject);

/* One error line to a side. */
void mcp_refusal_error(struct mcp_session *session, enum mcp_side to,
    struct mcp_span id, enum mcp_denial denial, const char *subject);

#endif
