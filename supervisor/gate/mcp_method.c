/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The method table. Called by mcp_policy; it must never get a row with a
 * wildcard: an unknown method is refused with its name.
 */
#include "supervisor/gate/mcp_method.h"

#include <stddef.h>
#include <string.h>

#define MCP_METHOD_NOTE "notifications/"

const struct mcp_method mcp_method_table[] = {
    /* requests of the client */
    {"initialize", MCP_CLIENT, true, MCP_RULE_INITIALIZE},
    {"ping", MCP_CLIENT, true, MCP_RULE_PASS},
    {"tools/list", MCP_CLIENT, true, MCP_RULE_TOOLS_LIST},
    {"tools/call", MCP_CLIENT, true, MCP_RULE_TOOLS_CALL},
    {"resources/list", MCP_CLIENT, true, MCP_RULE_RESOURCES},
    {"resources/templates/list", MCP_CLIENT, true, MCP_RULE_RESOURCES},
    {"resources/read", MCP_CLIENT, true, MCP_RULE_RESOURCES},
    {"resources/subscribe", MCP_CLIENT, true, MCP_RULE_RESOURCES},
    {"resources/unsubscribe", MCP_CLIENT, true, MCP_RULE_RESOURCES},
    {"prompts/list", MCP_CLIENT, true, MCP_RULE_PROMPTS},
    {"prompts/get", MCP_CLIENT, true, MCP_RULE_PROMPTS},
    {"completion/complete", MCP_CLIENT, true, MCP_RULE_COMPLETION},
    {"logging/setLevel", MCP_CLIENT, true, MCP_RULE_PASS},
    {"tasks/get", MCP_CLIENT, true, MCP_RULE_PASS},
    {"tasks/list", MCP_CLIENT, true, MCP_RULE_PASS},
    {"tasks/result", MCP_CLIENT, true, MCP_RULE_PASS},
    {"tasks/cancel", MCP_CLIENT, true, MCP_RULE_PASS},
    /* notifications of the client */
    {MCP_METHOD_NOTE "initialized", MCP_CLIENT, false, MCP_RULE_PASS},
    {MCP_METHOD_NOTE "cancelled", MCP_CLIENT, false, MCP_RULE_CANCELLED},
    {MCP_METHOD_NOTE "progress", MCP_CLIENT, false, MCP_RULE_PASS},
    {MCP_METHOD_NOTE "roots/list_changed", MCP_CLIENT, false,
	MCP_RULE_REACH_CLIENT},
    {MCP_METHOD_NOTE "tasks/status", MCP_CLIENT, false, MCP_RULE_REACH_CLIENT},
    /* requests of the server */
    {"ping", MCP_SERVER, true, MCP_RULE_PASS},
    {"sampling/createMessage", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    {"elicitation/create", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    {"roots/list", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    {"tasks/get", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    {"tasks/list", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    {"tasks/result", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    {"tasks/cancel", MCP_SERVER, true, MCP_RULE_REACH_CLIENT},
    /* notifications of the server */
    {MCP_METHOD_NOTE "cancelled", MCP_SERVER, false, MCP_RULE_CANCELLED},
    {MCP_METHOD_NOTE "progress", MCP_SERVER, false, MCP_RULE_PASS},
    {MCP_METHOD_NOTE "message", MCP_SERVER, false, MCP_RULE_PASS},
    {MCP_METHOD_NOTE "tools/list_changed", MCP_SERVER, false, MCP_RULE_PASS},
    {MCP_METHOD_NOTE "resources/list_changed", MCP_SERVER, false,
	MCP_RULE_RESOURCES},
    {MCP_METHOD_NOTE "resources/updated", MCP_SERVER, false,
	MCP_RULE_RESOURCES},
    {MCP_METHOD_NOTE "prompts/list_changed", MCP_SERVER, false,
	MCP_RULE_PROMPTS},
    {MCP_METHOD_NOTE "elicitation/complete", MCP_SERVER, false,
	MCP_RULE_REACH_CLIENT},
    {MCP_METHOD_NOTE "tasks/status", MCP_SERVER, false, MCP_RULE_PASS},
    {NULL, MCP_CLIENT, false, MCP_RULE_PASS},
};

const struct mcp_method *
mcp_method_find(const char *name, enum mcp_side from, bool request)
{
	const struct mcp_method *row;

	for (row = mcp_method_table; row->name != NULL; row++) {
		if (row->from == from && row->request == request &&
		    strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}
