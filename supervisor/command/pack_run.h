/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of one tool of an installed pack, from the lockfile to the exit
 * code: ledger, sandbox, gate, and which end ends what. Used by
 * command_run.
 */
#ifndef SUPERVISOR_COMMAND_PACK_RUN_H
#define SUPERVISOR_COMMAND_PACK_RUN_H

#include "supervisor/pack/pack_run_plan.h"

/* Run to the end; returns the exit code of the command: 0 a result, 1 the
 * tool failed, 125 it never started, 137 it was ended. */
int pack_run(const struct pack_run_plan_options *options);

#endif
