/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent was granted: packages, of each all tools or a few, and how
 * many calls. Absent is none. Pure; used by tools_port.
 */
#ifndef SUPERVISOR_GATE_TOOLS_GRANT_H
#define SUPERVISOR_GATE_TOOLS_GRANT_H

#include <stdint.h>

#include "supervisor/gate/tools_body.h"

#define TOOLS_GRANT_PACKAGES_MAX 32U
#define TOOLS_GRANT_NONE TOOLS_GRANT_PACKAGES_MAX

/* Texts are borrowed from the configuration. */
struct tools_grant_package {
	const char *slug;
	bool has_tools;     /* false: every tool that the package has */
	const char **tools; /* owned array, borrowed names */
	size_t tool_count;
};

struct tools_grant {
	struct tools_grant_package packages[TOOLS_GRANT_PACKAGES_MAX];
	size_t count;
	uint64_t calls_max, calls; /* allowed, and passed on so far */
};

/* Index of a package, TOOLS_GRANT_NONE when it is not granted. */
size_t tools_grant_find(const struct tools_grant *grant, const char *slug);

/* May this tool of it be seen and called? */
bool tools_grant_has_tool(
    const struct tools_grant_package *package, const char *tool);

/* Judge a call; what was not said and can only be one thing is filled in.
 * index_r: the package. A call that passes is not counted here. */
enum tools_fault tools_grant_judge(
    const struct tools_grant *grant, struct tools_body *call, size_t *index_r);

void tools_grant_free(struct tools_grant *grant);

#endif
