/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last question before a tool of a pack is started by an operator: may
 * this tool run with these arguments? Guard's rules, and what the arguments
 * hold; the rate is taken by pack_run. Before any process or sandbox. Used by
 * pack_run_plan.
 */
#ifndef SUPERVISOR_PACK_PACK_ADMIT_H
#define SUPERVISOR_PACK_PACK_ADMIT_H

#include <jansson.h>

#include "supervisor/pack/pack_package.h"
#include "supervisor/package/run_entry.h"

#define PACK_ADMIT_ARGUMENTS_MAX (1U << 20) /* bytes, as JSON */

/* All borrowed. */
struct pack_admit_call {
	const struct pack_package *package;
	const struct pack_function *function;
	const json_t *arguments; /* an object */
};

/* Anything but RESULT_OK: run->code and run->fault say why not. */
enum result pack_admit(
    struct run_entry *run, const struct pack_admit_call *call);

#endif
