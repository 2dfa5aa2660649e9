/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's log lines about a conversation: names, sizes, times and
 * reasons; never arguments, results or ids as sent. Leaf of mcp_session.
 */
#ifndef SUPERVISOR_GATE_MCP_REPORT_H
#define SUPERVISOR_GATE_MCP_REPORT_H

#include "supervisor/gate/mcp_pending.h"
#include "supervisor/gate/mcp_policy.h"
#include "supervisor/gate/mcp_tools.h"

/* mcp_call: one request of the client that has been answered. */
void mcp_report_call(const struct mcp_pending_row *row, size_t answer_bytes,
    uint64_t now_ms, const char *outcome);
/* mcp_denied: one entry that did not pass. */
void mcp_report_denied(enum mcp_side from, const struct mcp_entry *entry,
    const char *subject, enum mcp_denial denial, uint64_t ask);
/* mcp_claim: texts of a server's error were marked; none: nothing. */
void mcp_report_claim(const struct mcp_pending_row *row, unsigned texts);
/* mcp_capability_removed: a member cut from the client's initialize. */
void mcp_report_capability(struct mcp_span key);
/* mcp_tools_filtered: what the last list lost, if anything. */
void mcp_report_tools(const struct mcp_tools *tools);
/* mcp_noise: a line of the server that is no message; its start. */
void mcp_report_noise(
    const char *bytes, size_t len, const char *why, uint64_t count);
/* mcp_malformed, mcp_line_too_long. */
void mcp_report_malformed(enum mcp_side from, size_t len, const char *why);
void mcp_report_too_long(enum mcp_side from, uint64_t len, size_t max);

#endif
