/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the gate for one package, and their judgement of one entry.
 * Pure: what an entry is about comes from mcp_message, what to do about a
 * denial is mcp_session's business.
 */
#ifndef SUPERVISOR_GATE_MCP_POLICY_H
#define SUPERVISOR_GATE_MCP_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/gate/mcp_message.h"

#define MCP_POLICY_TOOL_MAX 128U /* longest tool name */

enum mcp_denial {
	MCP_ALLOWED = 0,
	MCP_DENIED_METHOD,     /* not in the method table */
	MCP_DENIED_REACH,      /* the client's model, user, folders */
	MCP_DENIED_TOOL,       /* not in the allowlist */
	MCP_DENIED_TOOL_NAME,  /* absent, ambiguous, not a plain name */
	MCP_DENIED_RESOURCES,  /* turned off */
	MCP_DENIED_PROMPTS,    /* turned off */
	MCP_DENIED_INITIALIZE, /* in a batch, or ambiguous capabilities */
	MCP_DENIED_ID_IN_USE,  /* a request with that id waits already */
	MCP_DENIED_BUSY,       /* too many requests wait */
	MCP_DENIED_UNASKED,    /* an answer nobody waits for */
	MCP_DENIED_TOOL_LIST,  /* a tools/list result that is none */
	MCP_DENIED_BATCH,      /* another entry of the batch was denied */
	MCP_DENIED_MALFORMED,  /* the line broke a rule of JSON-RPC */
	MCP_DENIED_ANSWER,     /* the same, in an answer somebody awaits */
	MCP_DENIED_TOO_LONG,   /* the line was over the cap */
	MCP_DENIED_TIMEOUT,    /* no answer in time */
	MCP_DENIED_ENDED,      /* the server ended */
	/* Guard's, explained by mcp_guard: */
	MCP_DENIED_GUARD,     /* the rules deny it */
	MCP_DENIED_CONSENT,   /* nobody agreed to it, nobody can be asked */
	MCP_DENIED_ARGUMENTS, /* what the arguments hold */
	MCP_DENIED_RATE,      /* too many calls */
	MCP_DENIED_UNGUARDED, /* it could not be known */
	MCP_DENIAL_COUNT
};

struct mcp_policy {
	bool community; /* below trusted: nothing reaches the client */
	bool resources, prompts;
	bool has_tools;           /* false: every tool is allowed */
	const char *const *tools; /* allowed names, borrowed */
	size_t tool_count;
	const char *package; /* slug, for sentences; borrowed */
};

/* Judge a request or notification sent by from. Answers are always
 * MCP_ALLOWED here: whether they were asked for is mcp_pending's. */
enum mcp_denial mcp_policy_judge(const struct mcp_policy *policy,
    enum mcp_side from, bool in_batch, const struct mcp_entry *entry);

/* A tool name (1..128 printable ASCII bytes) that the policy lets pass. */
bool mcp_policy_tool_allowed(const struct mcp_policy *policy, const char *name);
/* Decode a plain tool name; false when it is none. */
bool mcp_policy_tool_name(
    struct mcp_span value, char name_r[MCP_POLICY_TOOL_MAX + 1]);

/* Short name for logs and error data ("tool_not_allowed"), JSON-RPC error
 * code, and a sentence for whoever sent it, with the remedy. subject is
 * the method or tool. */
const char *mcp_policy_reason(enum mcp_denial denial);
int mcp_policy_rpc_code(enum mcp_denial denial);
void mcp_policy_sentence(const struct mcp_policy *policy,
    enum mcp_denial denial, const char *subject, char *text_r, size_t size);

#endif
