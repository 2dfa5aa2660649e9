/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of MCP methods the gate knows (specification 2024-11-05 to
 * 2025-11-25): who may send it, as what, and which rule looks at it. A
 * method that is not here does not pass. Pure.
 */
#ifndef SUPERVISOR_GATE_MCP_METHOD_H
#define SUPERVISOR_GATE_MCP_METHOD_H

#include <stdbool.h>

#define MCP_METHOD_MAX 64U /* longest method name, bytes */

enum mcp_side {
	MCP_CLIENT,
	MCP_SERVER
};

enum mcp_rule {
	MCP_RULE_PASS,
	MCP_RULE_INITIALIZE,  /* capabilities are looked at */
	MCP_RULE_TOOLS_LIST,  /* the result is filtered */
	MCP_RULE_TOOLS_CALL,  /* the name is looked at */
	MCP_RULE_RESOURCES,   /* passes unless the policy turns it off */
	MCP_RULE_PROMPTS,     /* the same */
	MCP_RULE_COMPLETION,  /* passes when both of these pass */
	MCP_RULE_CANCELLED,   /* ends a request of the sender's */
	MCP_RULE_REACH_CLIENT /* asks for the client's model, user or
			       * folders: trusted tiers only */
};

struct mcp_method {
	const char *name;
	enum mcp_side from;
	bool request; /* false: notification */
	enum mcp_rule rule;
};

extern const struct mcp_method mcp_method_table[]; /* ends with name NULL */

/* The row of a method as sent by from, or NULL. */
const struct mcp_method *mcp_method_find(
    const char *name, enum mcp_side from, bool request);

#endif
