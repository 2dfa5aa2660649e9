/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors on their way to the sandbox's first process. agentnode gives
 * them to the launcher over a SOCK_SEQPACKET pair once the launch is decided;
 * the launcher hands them on to the process it cloned in the meantime, with
 * what that process may not open itself. Each message has its place: no type,
 * no parser. Used by native_start.c alone.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_HAND_H
#define SUPERVISOR_NATIVE_NATIVE_HAND_H

#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_launch.h"
#include "supervisor/native/native_tree.h"

/* Wait for what agentnode gives (native_launch.h); afterwards it has the
 * numbers INIT_CONTROL_FD to NATIVE_LAUNCH_FD, whatever had these before.
 * RESULT_EOF: nobody will give any; else as fd_receive. socket must have a
 * higher number. */
enum result native_hand_take(int socket);
/* Those that were taken, to the first process. */
void native_hand_on(int socket);

/* What the launcher opened: the files of the record's control groups, and the
 * sources of the view unless the first process opens them itself (rootless).
 * The receiver has both from a record it checked. Ends the process with a
 * sentence when it fails; received descriptors are close-on-exec. */
void native_hand_send(int socket, const struct native_launch *launch,
    const int *groups, const struct native_trees *trees);
void native_hand_receive(int socket, const struct native_launch *launch,
    int *groups_r, struct native_trees *trees_r);

#endif
