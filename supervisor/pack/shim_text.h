/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small programs that start an agent's or a tool's function inside the
 * sandbox: they come with agentnode, not with the image, as a word of the
 * command. Used by agent_plan and pack_run_plan.
 */
#ifndef SUPERVISOR_PACK_SHIM_TEXT_H
#define SUPERVISOR_PACK_SHIM_TEXT_H

#include "common/json_field.h"
#include "common/result.h"

/* name below share/agentnode, "agent/agentnode_agent.py". The caller owns
 * the text. */
enum result shim_text_load(
    const char *name, char **text_r, struct json_fault *fault);

#endif
