/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine call that is waited for, on a loop of its own. Called by the
 * commands and by the cold path of a start (probe, image check), when
 * nothing else runs yet; must never be called from a callback of a loop
 * that serves a running sandbox.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "supervisor/engine/engine_call.h"

struct engine_call_waiting {
	struct event_base *base;
	char *output;
	size_t len;
	int exit_code;
	bool no_memory;
	char error[ENGINE_CALL_ERROR_MAX];
};

static void
engine_call_wait_done(const struct engine_call_end *end, void *context)
{
	struct engine_call_waiting *waiting = context;

	waiting->exit_code = end->exit_code;
	waiting->output = malloc(end->output_len + 1);
	if (waiting->output == NULL)
		waiting->no_memory = true;
	else {
		memcpy(waiting->output, end->output, end->output_len);
		waiting->output[end->output_len] = '\0';
		waiting->len = end->output_len;
	}
	(void)snprintf(
	    waiting->error, sizeof(waiting->error), "%s", end->error);
	event_loop_stop(waiting->base);
}

static enum result
engine_call_wait_judge(const struct engine_call_waiting *waiting,
    const struct engine_call_spec *spec, char *detail_r, size_t size)
{
	if (waiting->no_memory)
		return RESULT_NO_MEMORY;
	if (waiting->exit_code == 0)
		return RESULT_OK;
	(void)snprintf(detail_r, size, "%s exited with %d: %s", spec->argv[0],
	    waiting->exit_code, waiting->error);
	return waiting->exit_code < 0 ? RESULT_TIMEOUT : RESULT_REFUSED;
}

enum result
engine_call_wait(const struct engine_call_spec *spec, char **output_r,
    size_t *len_r, int *exit_code_r, char *detail_r, size_t detail_size)
{
	struct engine_call_waiting waiting = {.exit_code = -1};
	struct engine_call *call = NULL;
	enum result result = event_loop_new(&waiting.base);

	if (output_r != NULL)
		*output_r = NULL;
	if (result != RESULT_OK)
		return result;
	result = engine_call_start(
	    waiting.base, spec, engine_call_wait_done, &waiting, &call);
	if (result == RESULT_OK)
		result = event_loop_run(waiting.base);
	else
		(void)snprintf(detail_r, detail_size, "cannot start %s: %m",
		    spec->argv[0]);
	if (result == RESULT_OK)
		result = engine_call_wait_judge(
		    &waiting, spec, detail_r, detail_size);
	engine_call_free(&call);
	event_base_free(waiting.base);
	if (exit_code_r != NULL)
		*exit_code_r = waiting.exit_code;
	if (output_r != NULL && result == RESULT_OK) {
		*output_r = waiting.output;
		*len_r = waiting.len;
	} else {
		free(waiting.output);
	}
	return result;
}
