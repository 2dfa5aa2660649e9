/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the words of a command line to a row of the command table: help,
 * version, and the nearest name for a misspelt one. Called by main only;
 * completion and manual page walk the table with the same iterator.
 */
#ifndef SUPERVISOR_COMMAND_COMMAND_DISPATCH_H
#define SUPERVISOR_COMMAND_COMMAND_DISPATCH_H

#include <stddef.h>

#include "supervisor/command/command.h"

/* Run the row the words name; returns the exit code. */
int command_dispatch(int argc, char **argv);

/* Rows in the table's order, by index; NULL behind the last. Rows without
 * a summary are hidden: found by their name, never listed. */
const struct command *command_dispatch_row(size_t index);

#endif
