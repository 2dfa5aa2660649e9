/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock domains of the processes beside init. init itself is never in
 * one: a domain shared with the workload would let it open init's memory.
 * Constants newer than the build machine's headers are spelled here.
 */
#ifndef SUPERVISOR_INIT_LANDLOCK_H
#define SUPERVISOR_INIT_LANDLOCK_H

#include <stdint.h>

#include "supervisor/init/init_protocol.h"

#define INIT_LANDLOCK_EXECUTE (1ULL << 0)
#define INIT_LANDLOCK_WRITE_FILE (1ULL << 1)
#define INIT_LANDLOCK_READ_FILE (1ULL << 2)
#define INIT_LANDLOCK_READ_DIR (1ULL << 3)
#define INIT_LANDLOCK_MAKE_CHAR (1ULL << 6)
#define INIT_LANDLOCK_MAKE_BLOCK (1ULL << 11)
#define INIT_LANDLOCK_IOCTL_DEV (1ULL << 15)
#define INIT_LANDLOCK_FS_ALL ((1ULL << 16) - 1)
#define INIT_LANDLOCK_SCOPES_ALL 3ULL /* abstract unix sockets, signals */

/* Version of the kernel's Landlock; 0 when there is none. */
int init_landlock_abi(void);

/* Each puts the calling process into a domain, for good; 0 or errno. With
 * no Landlock in the kernel: 0 unless required.
 *
 * Workload: reads everywhere, writes in the writable directories, devices
 * and /dev/shm, executes everywhere but there (unless writable_exec). */
int init_landlock_workload(const struct init_setup *setup);
/* Tree children: one directory, read or write. */
int init_landlock_tree(const char *path, int writable, int required);
/* Relay: no path at all. */
int init_landlock_nothing(int required);

#endif
