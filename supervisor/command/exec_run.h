/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command of the operator's, from the request to the exit code. Used by
 * command_exec.
 */
#ifndef SUPERVISOR_COMMAND_EXEC_RUN_H
#define SUPERVISOR_COMMAND_EXEC_RUN_H

#include "supervisor/exec/exec_request.h"

/* Run to the end and print the result; returns the exit code of the
 * command line (exec_result.h). */
int exec_run(struct exec_request *request);

#endif
