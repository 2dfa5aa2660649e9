/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool package that cannot run: what the agent hears of it, which names
 * no part of the host, and the record in the audit chain when lockfile or
 * trust decided. Leaf of tool_pool and tool_session.
 */
#ifndef SUPERVISOR_AGENT_TOOL_REFUSAL_H
#define SUPERVISOR_AGENT_TOOL_REFUSAL_H

#include <stdbool.h>

#include "supervisor/policy/audit.h"

/* For an agent; never NULL. */
const char *tool_refusal_sentence(const char *code);

/* Write the refusal of a package that was asked for, under a run id of its
 * own. Nobody waits for it: nothing was started. detail is for the operator
 * and may be foreign. */
void tool_refusal_record(struct audit *audit, const char *slug,
    const char *code, const char *detail);

/* The gate before the package refused the call: its code has not seen it. */
bool tool_refusal_by_gate(const char *code);

#endif
