/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of the conversation. Called by mcp_session and mcp_refusal; it
 * must never log what a call carries.
 */
#include "supervisor/gate/mcp_report.h"

#include "common/log.h"

#define MCP_REPORT_NOISE_MAX 200U /* bytes of a noise line shown */

static const char *
mcp_report_side(enum mcp_side side)
{
	return side == MCP_CLIENT ? "client" : "server";
}

void
mcp_report_call(const struct mcp_pending_row *row, size_t answer_bytes,
    uint64_t now_ms, const char *outcome)
{
	char id[9];

	mcp_pending_id_text(row, id);
	log_event(LOG_INFO_LEVEL, "mcp_call", LOG_TEXT("method", row->method),
	    LOG_TEXT("tool", row->tool), LOG_TEXT("id", id),
	    LOG_REQUEST(NULL, 'm', row->ask),
	    LOG_UINT("ms", now_ms - row->since_ms),
	    LOG_UINT("request_bytes", row->bytes),
	    LOG_UINT("answer_bytes", answer_bytes),
	    LOG_TEXT("outcome", outcome));
}

void
mcp_report_denied(enum mcp_side from, const struct mcp_entry *entry,
    const char *subject, enum mcp_denial denial, uint64_t ask)
{
	log_event(LOG_WARN_LEVEL, "mcp_denied", LOG_REQUEST(NULL, 'm', ask),
	    LOG_TEXT("from", mcp_report_side(from)),
	    LOG_TEXT("method", entry->method), LOG_TEXT("subject", subject),
	    LOG_TEXT("code", mcp_policy_reason(denial)));
}

void
mcp_report_claim(const struct mcp_pending_row *row, unsigned texts)
{
	if (texts > 0)
		log_event(LOG_WARN_LEVEL, "mcp_claim",
		    LOG_TEXT("method", row->method),
		    LOG_TEXT("tool", row->tool), LOG_UINT("texts", texts));
}

void
mcp_report_capability(struct mcp_span key)
{
	log_event(LOG_INFO_LEVEL, "mcp_capability_removed",
	    LOG_BYTES("capability", key.bytes, key.len));
}

void
mcp_report_tools(const struct mcp_tools *tools)
{
	if (tools->not_allowed + tools->bad_name + tools->duplicate +
		tools->too_many ==
	    0)
		return;
	log_event(LOG_WARN_LEVEL, "mcp_tools_filtered",
	    LOG_UINT("not_allowed", tools->not_allowed),
	    LOG_UINT("bad_name", tools->bad_name),
	    LOG_UINT("duplicate", tools->duplicate),
	    LOG_UINT("too_many", tools->too_many));
}

void
mcp_report_noise(const char *bytes, size_t len, const char *why, uint64_t count)
{
	size_t shown = len < MCP_REPORT_NOISE_MAX ? len : MCP_REPORT_NOISE_MAX;

	log_event(LOG_WARN_LEVEL, "mcp_noise", LOG_UINT("count", count),
	    LOG_UINT("bytes", len), LOG_TEXT("why", why),
	    LOG_BYTES("text", bytes, shown));
}

void
mcp_report_malformed(enum mcp_side from, size_t len, const char *why)
{
	log_event(LOG_WARN_LEVEL, "mcp_malformed",
	    LOG_TEXT("from", mcp_report_side(from)), LOG_UINT("bytes", len),
	    LOG_TEXT("why", why));
}

void
mcp_report_too_long(enum mcp_side from, uint64_t len, size_t max)
{
	log_event(LOG_WARN_LEVEL, "mcp_line_too_long",
	    LOG_TEXT("from", mcp_report_side(from)), LOG_UINT("bytes", len),
	    LOG_UINT("max", max));
}
