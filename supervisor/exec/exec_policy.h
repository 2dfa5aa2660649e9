/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command on the host as a policy: scratch directory, environment from
 * nothing, proxy variables that lead to a closed port. Not a boundary, and
 * never for anything of a package. Used by exec_plan and exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_POLICY_H
#define SUPERVISOR_EXEC_EXEC_POLICY_H

#include "supervisor/exec/exec_request.h"
#include "supervisor/exec/exec_scratch.h"
#include "supervisor/host/host_run.h"
#include "supervisor/init/init_results.h"

#define EXEC_POLICY_OWN_MAX 12U
#define EXEC_POLICY_PATH_MAX 32768U /* "PATH=", the caller's, NUL */

struct exec_policy {
	bool is; /* this is the boundary */
	struct exec_scratch scratch;
	int closed;  /* owned: bound and never listened on, so that nothing */
	int results; /* owned: the write end */
	char path[EXEC_POLICY_PATH_MAX];
	char own[EXEC_POLICY_OWN_MAX][EXEC_SCRATCH_PATH_MAX + 16];
	const char *env[EXEC_POLICY_OWN_MAX + EXEC_REQUEST_ENV_MAX + 1];
	char program[EXEC_SCRATCH_PATH_MAX];
	const char *argv[EXEC_REQUEST_WORDS_MAX + 1];
	struct host_spec spec;
};

/* Everything before the start; spec's streams are the caller's. code_r is
 * set on failure, fault is a sentence. */
enum result exec_policy_begin(const struct exec_request *request, int inputs,
    struct exec_policy *policy_r, const char **code_r,
    struct json_fault *fault);
/* Nothing of it lives: what it left, as a result stream, into results. */
enum result exec_policy_results(
    struct exec_policy *policy, const struct init_results_bound *most);
/* The scratch directory goes. */
void exec_policy_end(struct exec_policy *policy);

#endif
