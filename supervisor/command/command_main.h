/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole of a program that runs commands of the table it is linked with.
 */
#ifndef SUPERVISOR_COMMAND_COMMAND_MAIN_H
#define SUPERVISOR_COMMAND_COMMAND_MAIN_H

/* Returns the exit code. */
int command_main(int argc, char **argv);

#endif
