/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter of everything that runs beside init: programs
 * made at build time from config/seccomp/seccomp_table.c. The base allows
 * by name; the guard on top keeps scheduling calls off pid 1, and
 * the owner's set-user-id programs off the host's file systems.
 */
#ifndef SUPERVISOR_INIT_FILTER_H
#define SUPERVISOR_INIT_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

/* Defined in the generated init_filter_programs.c. */
extern const struct sock_fprog init_filter_base;
extern const struct sock_fprog init_filter_guard;
extern const struct sock_fprog init_filter_owner;

/* Sets no_new_privs and installs the filters of init_layers for this
 * process, for good (not the first again where init has it as its own); owner:
 * the workload writes a file system of the host. 0 or errno; on errno the
 * caller must exit. */
int init_filter_enter(bool owner);

/* The first of them for init itself, where no runtime has installed one. */
int init_filter_own(void);

#endif
