/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of a command, for a program (config/schema/exec.json) and, by
 * exec_print, for a person. The texts in it were made by agentnode-unpack; here
 * they are put together and never looked into. Used by exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_RESULT_H
#define SUPERVISOR_EXEC_EXEC_RESULT_H

#include <jansson.h>

#include "supervisor/exec/exec_request.h"
#include "supervisor/sandbox.h"

/* The exit code of a command that was ended at its time limit. */
#define EXEC_RESULT_TIMED_OUT 124

struct exec_result_facts {
	const struct exec_request *request;
	const struct sandbox_outcome *outcome;
	const char *run;           /* its id; "": there was none */
	const char *code, *detail; /* "" when it ran and ended */
	bool timed_out;
	uint64_t duration_ms;
	const json_t *collected;            /* as collect.h says, or NULL */
	const struct exec_native *native;   /* of that boundary */
	const struct native_denied *denied; /* hosts that were refused */
};

/* The whole result; caller decrefs. NULL: no memory. */
json_t *exec_result_make(const struct exec_result_facts *facts);

/* The exit code: the command's own, 128 and its signal, 124 at the time
 * limit, 125 when it never started, 137 when it was ended by us. */
int exec_result_code(const struct exec_result_facts *facts);

#endif
