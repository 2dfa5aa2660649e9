/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user's limits (setrlimit(2)) must leave a command, so that a smaller
 * one is an error by its name and not a part that ends without a word.
 */
#ifndef SUPERVISOR_COMMAND_COMMAND_LIMITS_H
#define SUPERVISOR_COMMAND_COMMAND_LIMITS_H

#include <stdbool.h>

#define COMMAND_LIMITS_FILES 128U       /* RLIMIT_NOFILE, open files */
#define COMMAND_LIMITS_STACK 524288U    /* RLIMIT_STACK, bytes */
#define COMMAND_LIMITS_WRITTEN 1048576U /* RLIMIT_FSIZE, bytes */

/* Raises what is below these and may be raised; a limit of file sizes is
 * never raised: it is for what is written, and we write too. False: one may
 * not be, and standard error says which, its value and what is needed. */
bool command_limits_enough(void);

#endif
