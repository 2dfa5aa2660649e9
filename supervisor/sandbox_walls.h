/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the container look as it was planned? init's report against the
 * expected table, built from the plan, and sealed volumes by the directory
 * that is really mounted. Used by sandbox_steps.c.
 */
#ifndef SUPERVISOR_SANDBOX_WALLS_H
#define SUPERVISOR_SANDBOX_WALLS_H

#include "supervisor/sandbox_plan.h"

/* report_fd is the sealed memfd. RESULT_MISMATCH: detail_r has the first
 * difference and their number; all are logged. */
enum result sandbox_walls_check(const struct sandbox_plan *plan, int report_fd,
    char *detail_r, size_t detail_size);

/* Each sealed volume in init's mount namespace is the directory that is
 * hashed for it; to be asked once the report has come, since everything is
 * mounted by then. detail_r is a sentence. */
enum result sandbox_walls_volumes(const struct sandbox_plan *plan, pid_t init,
    char *detail_r, size_t detail_size);

#endif
