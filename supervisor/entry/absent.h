/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode does without: libcrypto, libpsl and libidn2 take longer to
 * load than a command in the native boundary takes to start. Whoever needs
 * one of them after all gets libexec/agentnode/command/agentnode, which does
 * the same with them, from the beginning.
 */
#ifndef SUPERVISOR_ENTRY_ABSENT_H
#define SUPERVISOR_ENTRY_ABSENT_H

/* The words of main, kept for the other program; called first. */
void absent_words(char **argv);
/* Become that program. Returns when a process of ours lives, which must
 * not be left, nor its command be run twice. */
void absent_hand_over(void);

#endif
