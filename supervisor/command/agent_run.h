/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of an installed agent, from the lockfile to the exit code: ledger,
 * sandbox, gate, LLM, tools, and which end ends what. Used by
 * command_agent.
 */
#ifndef SUPERVISOR_COMMAND_AGENT_RUN_H
#define SUPERVISOR_COMMAND_AGENT_RUN_H

#include "supervisor/command/agent_plan.h"

/* Run to the end; returns the exit code of the command. */
int agent_run(const struct agent_run_options *options);

#endif
