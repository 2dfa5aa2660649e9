/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode does without: libcrypto, libpsl and libidn2 take longer to
 * load than a command in the native boundary takes to start, and a C library
 * that is linked rather than loaded half a millisecond less. Whoever needs
 * one of them after all, or users that are not in a file (absent_user.h), gets
 * libexec/agentnode/command/agentnode, which does the same with them, from
 * the beginning.
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
/* The same for a function that is called after all; returns when something
 * was started already, whose starter must not be lost. */
void absent_hand_over(void);

/* Each as the function that it stands for. */
#define ABSENT_LIKE(name)                                                \
	_Static_assert(__builtin_types_compatible_p(                     \
			   __typeof__(absent_##name), __typeof__(name)), \
	    #name)

#endif
