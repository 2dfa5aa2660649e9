/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person who can be asked: only where standard input and standard error
 * are terminals, this is no CI, and AGENTNODE_NON_INTERACTIVE does not say
 * otherwise. Everywhere else a prompt is a denial. Used by guard_admit and
 * native_approval.
 */
#ifndef SUPERVISOR_POLICY_GUARD_TERMINAL_H
#define SUPERVISOR_POLICY_GUARD_TERMINAL_H

#include <stdbool.h>

/* NULL: there is somebody; else why there is nobody ("this is CI"). */
const char *guard_terminal_missing(void);

/* The part of it that no terminal changes: CI, and the variable. */
const char *guard_terminal_forbidden(void);

/* Print the question and read one line; only y and yes are a yes. */
bool guard_terminal_confirm(const char *question);

#endif
