/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result (exec_result.h) as a person reads it. Used by exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_PRINT_H
#define SUPERVISOR_EXEC_EXEC_PRINT_H

#include <jansson.h>
#include <stdio.h>

/* The command's outputs to out and err, then on err how it
 * ended, what it left and what was skipped. A stream that is a terminal
 * gets no control byte of the command's but newline and tab. */
void exec_print(const json_t *result, FILE *out, FILE *err);

#endif
