/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent section of a manifest. Pure; used by manifest.c.
 */
#ifndef SUPERVISOR_PACKAGE_MANIFEST_AGENT_H
#define SUPERVISOR_PACKAGE_MANIFEST_AGENT_H

#include <jansson.h>

#include "supervisor/package/manifest_report.h"

/* Limits that hold when the manifest names none. */
#define MANIFEST_AGENT_TOOL_CALLS 40
#define MANIFEST_AGENT_RUNTIME_S 180

/* runtime: "python" or "node". */
void manifest_agent_check(
    const json_t *agent, const char *runtime, struct manifest_report *report);

/* The same, the first fault alone. */
void manifest_agent_check_first(
    const json_t *agent, const char *runtime, struct json_fault *fault);

/* The checked section with its defaults put in; caller owns it. */
json_t *manifest_agent_entry_part(const json_t *agent);

#endif
