/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is different where the runtime is runsc (gVisor): the sandbox's
 * processes run on a kernel of their own, and on the host there are three:
 * the runtime, its guest kernel (runsc-sandbox), and the one that opens the
 * root's files for that (runsc-gofer). Used by engine_oci.c, whose place,
 * groups and bundle it shares.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_GVISOR_H
#define SUPERVISOR_ENGINE_ENGINE_GVISOR_H

#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"

struct sandbox_plan;        /* supervisor/sandbox_plan.h */
struct wall_table_expected; /* supervisor/engine/wall_table.h */

/* The guest kernel in the sandbox's control groups: exactly one. */
enum result engine_gvisor_locate(const struct sandbox_plan *plan, pid_t *pid_r,
    char *detail_r, size_t detail_size);

/* Guest kernel and gofer, seen from outside: filtered, without a way to gain
 * rights, in namespaces and a root of their own, with no right but those
 * that they are known to need. */
enum result engine_gvisor_check(const struct sandbox_plan *plan, pid_t pid,
    char *detail_r, size_t detail_size);

/* The process whose root has the volumes: the gofer; -1: none. */
pid_t engine_gvisor_places(const struct sandbox_plan *plan, pid_t pid);

void engine_gvisor_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected);

#endif
