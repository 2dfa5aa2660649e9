/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line is a table of rows; each command_GROUP.c brings the rows
 * of its group as `const struct command command_GROUP_rows[]`, ending with
 * an empty row, and command_table.c lists the groups.
 */
#ifndef SUPERVISOR_COMMAND_COMMAND_H
#define SUPERVISOR_COMMAND_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/json_field.h"
#include "common/result.h"

/* Exit codes of the command line. */
enum command_exit {
	COMMAND_DONE = 0,
	COMMAND_NO = 1, /* the check said no */
	COMMAND_USAGE = 2,
	COMMAND_REFUSED = 3,     /* refused by policy */
	COMMAND_UNAVAILABLE = 4, /* sandbox not available */
	COMMAND_CONFIG = 5,
	COMMAND_INTEGRITY = 6,
	COMMAND_INTERNAL = 70,
	COMMAND_NOT_STARTED = 125, /* run, exec, mcp run: never started */
};

struct command {
	const char *name;    /* "sandbox doctor", "egress check" */
	const char *summary; /* one line for the list; NULL: hidden */
	const char *help;    /* usage, options and an example */
	/* argv[0] is the last word of the name; getopt_long may be used
	 * (optind is reset). Returns an enum command_exit or, for run, exec
	 * and mcp run, the workload's own code. */
	int (*run)(int argc, char **argv);
};

extern const struct command *const command_groups[]; /* NULL-terminated */

/* Print "agentnode: <sentence>\n" to stderr (escaped) and return code. */
int command_error(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Write out what stdio holds of standard output. The errno of the first
 * that was lost of it, whoever wrote it; 0: nothing. The mains look at it
 * last: exit 70, but for EPIPE, a reader that left. */
int command_flush(void);

/* The exit code that a result of reading configuration, lockfile or state
 * means, and command_error with the fault's sentence and that code. */
int command_exit_of(enum result result);
int command_fault(enum result result, const struct json_fault *fault);

/* One JSON value on stdout, indented: what --json prints. */
int command_print_json(const json_t *value);

/* True when stdout may carry colours (terminal, no NO_COLOR). */
bool command_colour(FILE *stream);

#endif
