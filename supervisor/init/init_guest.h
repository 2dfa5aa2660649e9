/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init as the first process of a guest kernel (gVisor), which lets everybody
 * open what a process of the same user has open, whether that is dumpable or
 * not. So init there is a user of its own, and each of its children becomes
 * the sandbox's user before it does anything.
 */
#ifndef SUPERVISOR_INIT_GUEST_H
#define SUPERVISOR_INIT_GUEST_H

#include <stdint.h>

#define INIT_GUEST_WORD "guest"           /* argv[1] */
#define INIT_GUEST_PATH "/agentnode-init" /* where init is, in the root */
#define INIT_GUEST_UID 1U                 /* init's own user and group */

/* Before anything else: gives up every right but those to become another
 * user and to end its processes. 0 or errno. */
int init_guest_start(void);

/* Whom children become from now on. */
void init_guest_children(uint32_t uid);

/* In a child: becomes that user, without any right. Where there is no guest
 * it does nothing. 0 or errno. */
int init_guest_lower(void);

#endif
