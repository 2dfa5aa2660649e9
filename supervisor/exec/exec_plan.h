/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request and the configuration to what a boundary is started with.
 * Everything that can be refused without starting anything is refused here.
 * Used by exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_PLAN_H
#define SUPERVISOR_EXEC_EXEC_PLAN_H

#include <jansson.h>

#include "supervisor/exec/exec_input.h"
#include "supervisor/exec/exec_native.h"
#include "supervisor/exec/exec_policy.h"
#include "supervisor/exec/exec_request.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/sandbox.h"

#define EXEC_PLAN_SCRATCH "/work" /* inside: cwd, HOME and TMPDIR */
#define EXEC_PLAN_NAME "exec"     /* what labels and records call it */

struct exec_plan {
	struct run_entry run; /* its config, home, code and fault */
	struct exec_input input;
	struct exec_native native;
	struct exec_policy policy;
	const char *place;        /* the scratch directory, inside */
	struct sandbox_spec spec; /* streams and trees' ends are exec_run's */
	const char *env[EXEC_REQUEST_ENV_MAX + 3];
	char own[2][NATIVE_VIEW_PATH_MAX + 16]; /* HOME, TMPDIR */
	json_t *egress, *record;                /* owned */
	uint64_t timeout_ms, scratch;
	uint64_t text, files, total; /* what is shown: collect.h's bound */
	uint64_t largest;            /* bytes of a file that come back */
};

/* The request by itself, and the configuration: nothing of the host is looked
 * at. On failure run.code and run.fault say why; exec_plan_clear in any
 * case. */
enum result exec_plan_begin(
    struct exec_request *request, struct exec_plan *plan_r);
/* All the rest, likewise; a native one holds its places from here on. What
 * was granted to the workspace for good is added to the request. */
enum result exec_plan_finish(
    struct exec_request *request, struct exec_plan *plan);
/* What comes back of a scratch directory. */
struct init_results_bound exec_plan_bound(const struct exec_plan *plan);
void exec_plan_clear(struct exec_plan *plan);

/* The two trees, by the ends that exec_run made of them: inputs in (when
 * there are any), results out. */
void exec_plan_trees(struct exec_plan *plan, int results_fd);

#endif
