/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allowlist of an agent. Called by tools_port; it must never widen what
 * the configuration names.
 */
#include "supervisor/gate/tools_grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t
tools_grant_find(const struct tools_grant *grant, const char *slug)
{
	for (size_t i = 0; i < grant->count; i++) {
		if (strcmp(grant->packages[i].slug, slug) == 0)
			return i;
	}
	return TOOLS_GRANT_NONE;
}

bool
tools_grant_has_tool(
    const struct tools_grant_package *package, const char *tool)
{
	if (!package->has_tools)
		return true;
	for (size_t i = 0; i < package->tool_count; i++) {
		if (strcmp(package->tools[i], tool) == 0)
			return true;
	}
	return false;
}

/* No tool was named: the one that is granted, or the one there is. */
static enum tools_fault
tools_grant_only(
    const struct tools_grant_package *package, struct tools_body *call)
{
	if (!package->has_tools)
		return TOOLS_FAULT_NONE;
	if (package->tool_count == 0)
		return TOOLS_FAULT_DENIED;
	if (package->tool_count > 1) {
		(void)snprintf(call->detail, sizeof(call->detail),
		    "%zu tools of %s are allowed: say tool_name",
		    package->tool_count, package->slug);
		return TOOLS_FAULT_PARAMS;
	}
	(void)snprintf(call->tool, sizeof(call->tool), "%s", package->tools[0]);
	return TOOLS_FAULT_NONE;
}

enum tools_fault
tools_grant_judge(
    const struct tools_grant *grant, struct tools_body *call, size_t *index_r)
{
	const struct tools_grant_package *package;
	enum tools_fault fault = TOOLS_FAULT_NONE;

	*index_r = tools_grant_find(grant, call->slug);
	if (*index_r == TOOLS_GRANT_NONE)
		return TOOLS_FAULT_DENIED;
	package = &grant->packages[*index_r];
	if (call->tool[0] == '\0')
		fault = tools_grant_only(package, call);
	else if (!tools_grant_has_tool(package, call->tool))
		fault = TOOLS_FAULT_DENIED;
	if (fault == TOOLS_FAULT_NONE && grant->calls >= grant->calls_max)
		fault = TOOLS_FAULT_MANY_CALLS;
	return fault;
}

void
tools_grant_free(struct tools_grant *grant)
{
	while (grant->count > 0) {
		grant->count--;
		free(grant->packages[grant->count].tools);
		grant->packages[grant->count].tools = NULL;
	}
}
