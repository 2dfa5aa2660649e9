/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may pass. Called by mcp_session for every entry; it must never
 * allow what it does not know.
 */
#include "supervisor/gate/mcp_policy.h"

#include <stdio.h>
#include <string.h>

/* One row per denial; %1 is the subject, %2 the package. */
struct mcp_policy_row {
	const char *reason;
	int rpc_code;
	const char *sentence;
};

static const struct mcp_policy_row mcp_policy_rows[MCP_DENIAL_COUNT] = {
    [MCP_ALLOWED] = {"allowed", 0, "allowed"},
    [MCP_DENIED_METHOD] = {"method_not_allowed", -32601,
	"method \"%1\" is not one that passes the gate"},
    [MCP_DENIED_REACH] = {"capability_off", -32601,
	"\"%1\" is off: a package below tier trusted may not use the "
	"client's model, user or folders"},
    [MCP_DENIED_TOOL] = {"tool_not_allowed", -32602,
	"tool \"%1\" is not in the allowlist of %2; to allow it, install "
	"%2 again with --tool %1"},
    [MCP_DENIED_TOOL_NAME] = {"tool_name", -32602,
	"tools/call needs params.name: one plain name of at most 128 "
	"printable ASCII characters"},
    [MCP_DENIED_RESOURCES] = {"resources_off", -32601,
	"\"%1\" is off: the policy of %2 lets no resources pass"},
    [MCP_DENIED_PROMPTS] = {"prompts_off", -32601,
	"\"%1\" is off: the policy of %2 lets no prompts pass"},
    [MCP_DENIED_INITIALIZE] = {"initialize", -32600,
	"initialize must stand alone, with one object of capabilities"},
    [MCP_DENIED_ID_IN_USE] = {"id_in_use", -32600,
	"a request with this id still waits for its answer"},
    [MCP_DENIED_BUSY] = {"too_many_requests", -32000,
	"too many requests wait for an answer; wait for some of them"},
    [MCP_DENIED_UNASKED] = {"unasked_answer", -32600,
	"an answer to no request that waits"},
    [MCP_DENIED_TOOL_LIST] = {"tool_list", -32603,
	"the server's tools/list answer holds no list of tools"},
    [MCP_DENIED_BATCH] = {"batch_denied", -32600,
	"another entry of the batch was denied, so all of it was"},
    [MCP_DENIED_MALFORMED] = {"malformed", -32600, "refused: %1"},
    [MCP_DENIED_ANSWER] = {"answer_refused", -32603,
	"the server's answer was refused: %1"},
    [MCP_DENIED_TOO_LONG] = {"line_too_long", -32603,
	"a message longer than mcp.line_max (%1) was dropped"},
    [MCP_DENIED_TIMEOUT] = {"timeout", -32001,
	"the server gave no answer within %1"},
    [MCP_DENIED_ENDED] = {"server_ended", -32000, "server ended%1"},
    [MCP_DENIED_GUARD] = {"guard_denied", -32003, "%1"},
    [MCP_DENIED_CONSENT] = {"guard_consent", -32003, "%1"},
    [MCP_DENIED_ARGUMENTS] = {"guard_arguments", -32602, "%1"},
    [MCP_DENIED_RATE] = {"guard_rate_limit", -32029, "%1"},
    [MCP_DENIED_UNGUARDED] = {"guard_unavailable", -32000, "%1"},
};

const char *
mcp_policy_reason(enum mcp_denial denial)
{
	return mcp_policy_rows[denial].reason;
}

int
mcp_policy_rpc_code(enum mcp_denial denial)
{
	return mcp_policy_rows[denial].rpc_code;
}

void
mcp_policy_sentence(const struct mcp_policy *policy, enum mcp_denial denial,
    const char *subject, char *text_r, size_t size)
{
	const char *p = mcp_policy_rows[denial].sentence, *insert;
	size_t len = 0;

	while (*p != '\0' && len + 1 < size) {
		if (*p != '%') {
			text_r[len++] = *p++;
			continue;
		}
		insert = p[1] == '1' ? subject : policy->package;
		while (*insert != '\0' && len + 1 < size)
			text_r[len++] = *insert++;
		p += 2;
	}
	text_r[len] = '\0';
}

bool
mcp_policy_tool_name(
    struct mcp_span value, char name_r[MCP_POLICY_TOOL_MAX + 1])
{
	size_t i, len;

	if (!mcp_cursor_decode(value, name_r, MCP_POLICY_TOOL_MAX + 1, &len) ||
	    len == 0)
		return false;
	for (i = 0; i < len; i++) {
		if (name_r[i] <= 0x20 || name_r[i] > 0x7e)
			return false;
	}
	return true;
}

bool
mcp_policy_tool_allowed(const struct mcp_policy *policy, const char *name)
{
	size_t i;

	if (!policy->has_tools)
		return true;
	for (i = 0; i < policy->tool_count; i++) {
		if (strcmp(policy->tools[i], name) == 0)
			return true;
	}
	return false;
}

static enum mcp_denial
mcp_policy_judge_call(
    const struct mcp_policy *policy, const struct mcp_entry *entry)
{
	char name[MCP_POLICY_TOOL_MAX + 1];

	if (mcp_cursor_has_lookalike(entry->params, "name") ||
	    !mcp_policy_tool_name(mcp_cursor_find(entry->params, "name"), name))
		return MCP_DENIED_TOOL_NAME;
	return mcp_policy_tool_allowed(policy, name) ? MCP_ALLOWED
						     : MCP_DENIED_TOOL;
}

static enum mcp_denial
mcp_policy_judge_initialize(bool in_batch, const struct mcp_entry *entry)
{
	struct mcp_span capabilities =
	    mcp_cursor_find(entry->params, "capabilities");

	if (in_batch ||
	    mcp_cursor_has_lookalike(entry->params, "capabilities") ||
	    mcp_cursor_kind(capabilities) != MCP_VALUE_OBJECT)
		return MCP_DENIED_INITIALIZE;
	return MCP_ALLOWED;
}

enum mcp_denial
mcp_policy_judge(const struct mcp_policy *policy, enum mcp_side from,
    bool in_batch, const struct mcp_entry *entry)
{
	const struct mcp_method *row;

	if (entry->kind == MCP_RESULT || entry->kind == MCP_ERROR)
		return MCP_ALLOWED;
	row = mcp_method_find(entry->method, from, entry->kind == MCP_REQUEST);
	if (row == NULL)
		return MCP_DENIED_METHOD;
	switch (row->rule) {
	case MCP_RULE_PASS:
	case MCP_RULE_TOOLS_LIST:
	case MCP_RULE_CANCELLED:
		return MCP_ALLOWED;
	case MCP_RULE_INITIALIZE:
		return mcp_policy_judge_initialize(in_batch, entry);
	case MCP_RULE_TOOLS_CALL:
		return mcp_policy_judge_call(policy, entry);
	case MCP_RULE_RESOURCES:
		return policy->resources ? MCP_ALLOWED : MCP_DENIED_RESOURCES;
	case MCP_RULE_PROMPTS:
		return policy->prompts ? MCP_ALLOWED : MCP_DENIED_PROMPTS;
	case MCP_RULE_COMPLETION:
		if (!policy->resources)
			return MCP_DENIED_RESOURCES;
		return policy->prompts ? MCP_ALLOWED : MCP_DENIED_PROMPTS;
	case MCP_RULE_REACH_CLIENT:
		return policy->community ? MCP_DENIED_REACH : MCP_ALLOWED;
	}
	return MCP_DENIED_METHOD;
}
