/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a try in a child of its own that was confined before, for the tests
 * of confinement. Never part of an installed program.
 */
#ifndef TESTS_SUPPORT_CONFINE_RUN_H
#define TESTS_SUPPORT_CONFINE_RUN_H

#ifndef CONFINE_INTERNAL
#define CONFINE_INTERNAL
#endif
#include <stdbool.h>

#include "common/confine.h"

#define CONFINE_RUN_UID 64123 /* what root drops to */
#define CONFINE_RUN_FAILED 90 /* exit code: confine_enter said no */

/* Returns 0 when the call got through, else its errno (below 128). */
typedef int confine_run_try(void);

/* A spec with an empty table: the base alone. */
struct confine_spec confine_run_spec(void);

/* What waitpid said of the child. steps NULL: the real ones. */
int confine_run(const struct confine_spec *spec,
    const struct confine_step *steps, confine_run_try *try);

/* All steps but the named ones ("" for none) into steps[16]. */
void confine_run_without(
    struct confine_step *steps, const char *const names[4]);

/* 0, or errno, of a raw system call's result. */
int confine_run_errno(long result);

bool confine_run_killed(int status); /* by SIGSYS */
bool confine_run_got(int status, int error);
bool confine_run_passed(int status);

#endif
