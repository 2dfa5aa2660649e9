/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a plan that the workload gets: its words, environment and
 * streams, and the trees moved in and out. Used by sandbox_plan.c.
 */
#ifndef SUPERVISOR_SANDBOX_PLAN_GO_H
#define SUPERVISOR_SANDBOX_PLAN_GO_H

#include "supervisor/sandbox_plan.h"

/* Sets go_fd, streams and trees of plan; input and has_egress are there. */
enum result sandbox_plan_go_make(struct sandbox_plan *plan,
    const struct sandbox_spec *spec, struct sandbox_plan_fault *fault_r);

#endif
