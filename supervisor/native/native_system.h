/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a view that is not the user's: programs and libraries of the
 * system, the few files of /etc that programs cannot do without, /proc,
 * /dev, /tmp. Nothing of it names the host, its users or its services.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_SYSTEM_H
#define SUPERVISOR_NATIVE_NATIVE_SYSTEM_H

#include <stdbool.h>

#include "supervisor/native/native_step.h"

/* Read-only system and empty places, for every mode but danger. Left to the
 * launcher: what it writes itself in /etc (passwd, group, hosts,
 * nsswitch.conf). */
enum result native_system_add(
    struct native_step_plan *plan, const char *scratch, uint64_t scratch_size);

/* The whole file system as it is, with /proc and /dev of our own. */
enum result native_system_add_all(
    struct native_step_plan *plan, const char *scratch, uint64_t scratch_size);

/* A directory of the system: no workspace there, nor above. */
bool native_system_owns(const char *path);

/* A directory of the system that no command runs without. */
bool native_system_needs(const char *path);

#endif
