/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's only way to a bad end: one sentence, one exit code.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_FAIL_H
#define SUPERVISOR_NATIVE_NATIVE_FAIL_H

/* "agentnode-native: WHAT NAME: error" (name "" and error 0 leave their
 * part out) on standard error; everything that was made dies with the
 * process. */
_Noreturn void native_fail(const char *what, const char *name, int error);

#endif
