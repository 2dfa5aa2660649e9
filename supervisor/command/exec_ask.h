/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between two runs of a command: a person is asked about the hosts it was
 * refused, and what was granted is recorded, kept and added to the request.
 * Used by exec_run.
 */
#ifndef SUPERVISOR_COMMAND_EXEC_ASK_H
#define SUPERVISOR_COMMAND_EXEC_ASK_H

#include <stdbool.h>

#include "supervisor/exec/exec_request.h"
#include "supervisor/native/native_approval.h"
#include "supervisor/policy/audit.h"

/* All borrowed. */
struct exec_ask {
	struct exec_request *request;
	struct native_approval *approval; /* over all repetitions */
	const struct native_denied *denied;
	const char *workspace; /* "": there is none, nothing can be kept */
	struct audit *audit;   /* of the run, ready */
	const char *run;       /* its id */
};

/* There is something to ask, and somebody who can be. */
bool exec_ask_is_due(const struct exec_ask *ask);

/* Ask, outside of callbacks. Each yes is a synced record "approval" before
 * it is kept or used; without its record there is no grant. Returns "" (and
 * in again_r whether anything was granted), or the code that ends it, with
 * detail_r: "stopped", "audit_failed". */
const char *exec_ask(
    const struct exec_ask *ask, bool *again_r, const char **detail_r);

#endif
