/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a command, and the sentence about a wrong one: which word it
 * was and what is wrong with it. Used by every command; command_option_next
 * is getopt_long (glibc, getopt(3)) that remembers.
 */
#ifndef SUPERVISOR_COMMAND_COMMAND_OPTION_H
#define SUPERVISOR_COMMAND_COMMAND_OPTION_H

#include <getopt.h>

/* Called once before a command parses: argv begins with its name. Borrowed
 * until the program ends. */
void command_option_begin(int argc, char **argv);

/* As getopt_long with opterr 0 and no place for the index. */
int command_option_next(
    int argc, char **argv, const char *letters, const struct option *known);

/* Wrong options or arguments: COMMAND_USAGE. Names what
 * command_option_next met last: an option that is none, one without its
 * value, one whose value was not taken, or that the words are too many or
 * too few; points at the help. */
int command_option_fault(const char *command);

#endif
