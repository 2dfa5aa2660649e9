/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes and reader of a command; see exec_collect.h. Called by exec_run;
 * must never read a pipe itself.
 */
#include "supervisor/exec/exec_collect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/unpack/collect.h"

/* Beside the command's own time: start, results, removal. */
#define EXEC_COLLECT_MORE_S 900U
#define EXEC_COLLECT_PIPES 3U
#define EXEC_COLLECT_ANSWER_MAX (64U << 20)

struct exec_collect {
	struct unpack_call *call;
	int answer;
	int read[EXEC_COLLECT_PIPES]; /* of stdout, stderr, results */
	struct exec_collect_ends ends;
	exec_collect_done *done;
	void *context;
};

/* The text that the reader wrote, as JSON. */
static json_t *
exec_collect_answer(struct exec_collect *collect, struct json_fault *fault)
{
	json_t *answer = NULL;
	char *text = NULL;
	size_t len = 0;

	if (lseek(collect->answer, 0, SEEK_SET) != 0 ||
	    fd_read_all(collect->answer, EXEC_COLLECT_ANSWER_MAX, &text,
		&len) != RESULT_OK ||
	    json_field_parse(text, len, &answer, fault) != RESULT_OK)
		json_field_fault(fault, "what was collected cannot be read");
	free(text);
	return answer;
}

static void
exec_collect_on_done(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct exec_collect *collect = context;
	struct json_fault fault = {""};
	json_t *answer = NULL;

	(void)code;
	if (result != NULL)
		answer = exec_collect_answer(collect, &fault);
	collect->done(
	    answer, result != NULL ? fault.text : detail, collect->context);
	json_decref(answer);
}

static enum result
exec_collect_pipe(int *read_r, int *write_r)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	*read_r = pair[0];
	*write_r = pair[1];
	return RESULT_OK;
}

static enum result
exec_collect_call(struct event_base *base, const struct exec_plan *plan,
    const int *fds, struct exec_collect *collect)
{
	struct unpack_call_spec call = {.job = UNPACK_JOB_COLLECT,
	    .program = "agentnode-collect",
	    .options = json_pack("{s:I, s:I, s:I}", "max_bytes",
		(json_int_t)plan->text, "max_files", (json_int_t)plan->files,
		"max_total", (json_int_t)plan->total),
	    .fds = fds,
	    .fd_count = COLLECT_FD_COUNT,
	    .timeout_s =
		(unsigned)(plan->timeout_ms / 1000U) + EXEC_COLLECT_MORE_S};

	return unpack_call_start(base, plan->run.config, &call,
	    exec_collect_on_done, collect, &collect->call);
}

enum result
exec_collect_open(struct exec_collect **collect_r)
{
	struct exec_collect *collect = calloc(1, sizeof(*collect));
	enum result result = RESULT_SYSTEM;

	*collect_r = collect;
	if (collect == NULL)
		return RESULT_NO_MEMORY;
	collect->ends = (struct exec_collect_ends){-1, -1, -1};
	for (size_t i = 0; i < EXEC_COLLECT_PIPES; i++)
		collect->read[i] = -1;
	collect->answer = memfd_create("answer", MFD_CLOEXEC);
	if (collect->answer >= 0)
		result =
		    exec_collect_pipe(&collect->read[0], &collect->ends.out);
	if (result == RESULT_OK)
		result =
		    exec_collect_pipe(&collect->read[1], &collect->ends.err);
	if (result == RESULT_OK)
		result = exec_collect_pipe(
		    &collect->read[2], &collect->ends.results);
	return result;
}

static void
exec_collect_passed(struct exec_collect *collect)
{
	for (size_t i = 0; i < EXEC_COLLECT_PIPES; i++)
		fd_close(&collect->read[i]);
}

enum result
exec_collect_start(struct exec_collect *collect, struct event_base *base,
    const struct exec_plan *plan, exec_collect_done *done, void *context)
{
	int fds[COLLECT_FD_COUNT];
	enum result result;

	collect->done = done;
	collect->context = context;
	fds[COLLECT_ANSWER] = collect->answer;
	fds[COLLECT_HANDED] = plan->input.fd;
	fds[COLLECT_STDOUT] = collect->read[0];
	fds[COLLECT_STDERR] = collect->read[1];
	fds[COLLECT_RESULTS] = collect->read[2];
	result = exec_collect_call(base, plan, fds, collect);
	exec_collect_passed(collect);
	return result;
}

const struct exec_collect_ends *
exec_collect_ends(const struct exec_collect *collect)
{
	return &collect->ends;
}

void
exec_collect_given(struct exec_collect *collect)
{
	fd_close(&collect->ends.out);
	fd_close(&collect->ends.err);
	fd_close(&collect->ends.results);
}

void
exec_collect_free(struct exec_collect **collect)
{
	struct exec_collect *gone = *collect;

	if (gone == NULL)
		return;
	*collect = NULL;
	unpack_call_free(&gone->call);
	exec_collect_given(gone);
	exec_collect_passed(gone);
	fd_close(&gone->answer);
	free(gone);
}
