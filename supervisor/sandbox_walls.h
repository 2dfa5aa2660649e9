/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the container look as it was planned? init's report against the
 * expected table, built from the plan. Used by sandbox_steps.c.
 */
#ifndef SUPERVISOR_SANDBOX_WALLS_H
#define SUPERVISOR_SANDBOX_WALLS_H

#include "supervisor/sandbox_plan.h"

/* report_fd is the sealed memfd. RESULT_MISMATCH: detail_r has the first
 * difference and their number; all are logged. */
enum result sandbox_walls_check(const struct sandbox_plan *plan, int report_fd,
    char *detail_r, size_t detail_size);

#endif
