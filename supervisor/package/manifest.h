/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A package's manifest (agentnode.yaml as JSON): which fields there are,
 * their values and what combinations mean. One closed vocabulary: what is
 * not known is refused with its path. Pure. Used by agentnode-unpack, which
 * reads the file, and again by the supervisor on what comes back.
 */
#ifndef SUPERVISOR_PACKAGE_MANIFEST_H
#define SUPERVISOR_PACKAGE_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/package/manifest_report.h"

#define MANIFEST_FILE "agentnode.yaml"
#define MANIFEST_STEPS_MAX 32U
#define MANIFEST_PACKAGES_MAX 32U /* as agentnode-gate takes */
#define MANIFEST_COMMAND_MAX 32U

/* Everything that is missing, unknown, or out of its range; the hosts of
 * allowed_domains are the caller's (egress-proxy/policy_entry.h). */
void manifest_judge(const json_t *manifest, struct manifest_report *report);

/* The same, the first fault alone. */
void manifest_check(const json_t *manifest, struct json_fault *fault);

/* What the lockfile keeps of an agent's manifest that was checked: {"version",
 * "package_type","runtime","entrypoint"?,"permissions","agent":{...}} with
 * every default put in:
 * agent = {"entrypoint"?|"command"?,"goal","tool_access":{"allowed_packages"},
 *   "llm_access":{"enabled",...},"limits":{"max_iterations"?,
 *   "max_tool_calls":40,"max_runtime_seconds":180},"orchestration"?,...}
 * NULL: no memory. Caller owns it. */
json_t *manifest_agent_entry(const json_t *manifest);

/* The same of a tool pack: {"version","package_type","runtime",
 * "publisher_slug","entrypoint"?,"permissions","tools":[...],
 * "env_requirements"?,"connector"?}. */
json_t *manifest_pack_entry(const json_t *manifest);

#endif
