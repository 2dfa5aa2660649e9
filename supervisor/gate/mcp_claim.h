/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of a server that speak as the gate does. A client tells the gate's
 * own errors by error.data.reason and by how the message begins; a server
 * could write both. Such an error is passed on with "server: " before these
 * texts, and with no other change. Pure; called by mcp_session.
 */
#ifndef SUPERVISOR_GATE_MCP_CLAIM_H
#define SUPERVISOR_GATE_MCP_CLAIM_H

#include "supervisor/gate/mcp_edit.h"

/* What a text of the server's gets in front. */
#define MCP_CLAIM_MARK "server: "

/* Mark what this error object claims; how many texts that were. Keys and
 * codes are compared without regard to case, as a lenient client may. */
unsigned mcp_claim_mark(struct mcp_edit *edit, struct mcp_span error);

#endif
