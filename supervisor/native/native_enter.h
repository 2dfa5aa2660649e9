/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first process of the sandbox becomes, step by step, from the
 * clone to the exec of init.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_ENTER_H
#define SUPERVISOR_NATIVE_NATIVE_ENTER_H

#include "supervisor/native/native_launch.h"

/* The one user and group, no other group where the kernel lets go of them;
 * capabilities stay for now. */
void native_enter_user(const struct native_launch *launch);
/* What needs no record: lo, ports, no user namespaces. */
void native_enter_spaces(void);
void native_enter_name(const struct native_launch *launch); /* of the host */
/* Nothing is left: keyring, limits, capabilities, privileges; dies with the
 * launcher; then init's filter. */
void native_enter_last(const struct native_launch *launch);
/* Becomes init, from the memfd that was passed. */
_Noreturn void native_enter_init(void);

#endif
