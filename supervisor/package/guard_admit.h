/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard's judgement of one call that an operator makes of a package, before
 * anything is started: the rules, then the arguments; where they ask and a
 * person is there, he is asked. The rate is taken later, by guard_desk. Used
 * by the run of a tool.
 */
#ifndef SUPERVISOR_PACKAGE_GUARD_ADMIT_H
#define SUPERVISOR_PACKAGE_GUARD_ADMIT_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/package/run_entry.h"
#include "supervisor/policy/guard_plan.h"

struct guard_admit {
	const char *tool;        /* its name in the entry */
	const json_t *arguments; /* an object */
	bool inside;             /* it is to run in a sandbox */
};

/* After run_entry_boundary and run_entry_consent. Anything but RESULT_OK:
 * run->code and run->fault say why not. actions_r, in both cases: what the
 * call does, in words. */
enum result guard_admit(struct run_entry *run, const struct guard_admit *call,
    char actions_r[GUARD_PLAN_WORDS_MAX]);

#endif
