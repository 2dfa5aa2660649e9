/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode does without: libcrypto, libpsl and libidn2 take longer to
 * load than a command in the native boundary takes to start. Whoever needs
 * one of them after all gets libexec/agentnode/command/agentnode, which does
 * the same with them, from the beginning.
 */
#ifndef SUPERVISOR_ENTRY_ABSENT_H
#define SUPERVISOR_ENTRY_ABSENT_H

#include <stdbool.h>

/* The words of main, kept for the other program; called first. */
void absent_words(char **argv);
/* Whether this process has a child, its own or one of the program before it
 * in this process. */
bool absent_has_children(void);
/* Become that program, or end. */
void absent_become_whole(void) __attribute__((noreturn));

#endif
