/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes and reader of a command; see exec_collect.h. Called by exec_run;
 * must never read a pipe itself: of the results one header is compared with
 * the only one that says "nothing", and stays in its pipe.
 */
#include "supervisor/exec/exec_collect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "supervisor/init/result_stream.h"
#include "supervisor/package/unpack_call.h"
#include "supervisor/unpack/collect.h"

/* Beside the command's own time: start, results, removal. */
#define EXEC_COLLECT_MORE_S 900U
#define EXEC_COLLECT_PIPES 3U
/* Of a byte as JSON of what stands for it ("\\u001f"), of what is said of
 * each file beside its text, and of all else (20 names, 16 hints). */
#define EXEC_COLLECT_BYTE_MAX 6U
#define EXEC_COLLECT_FILE_MAX 2048U
#define EXEC_COLLECT_ELSE_MAX 131072U

/* Of the pipes. */
enum {
	EXEC_COLLECT_OUT,
	EXEC_COLLECT_ERR,
	EXEC_COLLECT_RESULTS
};

struct exec_collect {
	struct event_base *base;      /* borrowed, */
	const struct exec_plan *plan; /* too; NULL: not asked to read yet */
	struct unpack_call *call;     /* NULL: nothing came yet */
	struct event *first[EXEC_COLLECT_PIPES]; /* the first byte of each */
	struct event *nothing;                   /* says so, from the loop */
	bool over; /* the call was started, or nothing came */
	int answer;
	int read[EXEC_COLLECT_PIPES]; /* of stdout, stderr, results */
	struct exec_collect_ends ends;
	exec_collect_done *done;
	void *context;
};

/* The reader has hostile bytes: its answer is at most what it was to show. */
static size_t
exec_collect_most(const struct exec_plan *plan)
{
	return (size_t)(EXEC_COLLECT_BYTE_MAX * (2 * plan->text + plan->total) +
			EXEC_COLLECT_FILE_MAX * plan->files +
			EXEC_COLLECT_ELSE_MAX);
}

/* The text that the reader wrote, as JSON. */
static json_t *
exec_collect_answer(struct exec_collect *collect, struct json_fault *fault)
{
	json_t *answer = NULL;
	char *text = NULL;
	size_t len = 0;

	if (lseek(collect->answer, 0, SEEK_SET) != 0 ||
	    fd_read_all(collect->answer, exec_collect_most(collect->plan),
		&text, &len) != RESULT_OK ||
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

static void
exec_collect_unwatch(struct exec_collect *collect)
{
	for (size_t i = 0; i < EXEC_COLLECT_PIPES; i++) {
		if (collect->first[i] != NULL)
			event_free(collect->first[i]);
		collect->first[i] = NULL;
	}
}

static enum result
exec_collect_begin(struct exec_collect *collect)
{
	int fds[COLLECT_FD_COUNT];
	enum result result;

	collect->over = true;
	exec_collect_unwatch(collect);
	fds[COLLECT_ANSWER] = collect->answer;
	fds[COLLECT_HANDED] = collect->plan->input.fd;
	fds[COLLECT_STDOUT] = collect->read[EXEC_COLLECT_OUT];
	fds[COLLECT_STDERR] = collect->read[EXEC_COLLECT_ERR];
	fds[COLLECT_RESULTS] = collect->read[EXEC_COLLECT_RESULTS];
	result = exec_collect_call(collect->base, collect->plan, fds, collect);
	exec_collect_passed(collect);
	return result;
}

/* From the loop, where done may be called. */
static void
exec_collect_begin_later(struct exec_collect *collect)
{
	if (exec_collect_begin(collect) != RESULT_OK)
		collect->done(
		    NULL, "agentnode-collect does not start", collect->context);
}

/* --- what need not be read ---------------------------------------------- */

/* The header, and nothing else so far? It is looked at in a copy. */
static bool
exec_collect_none(int results)
{
	static const struct result_stream_header none = {
	    .magic = RESULT_STREAM_MAGIC, .kind = RESULT_STREAM_END};
	struct result_stream_header seen;
	int pair[2], waiting = 0;
	bool same;

	if (ioctl(results, FIONREAD, &waiting) != 0 ||
	    waiting != (int)sizeof(seen) || pipe2(pair, O_CLOEXEC) != 0)
		return false;
	same = tee(results, pair[1], sizeof(seen), SPLICE_F_NONBLOCK) ==
		   (ssize_t)sizeof(seen) &&
	       read(pair[0], &seen, sizeof(seen)) == (ssize_t)sizeof(seen) &&
	       memcmp(&seen, &none, sizeof(none)) == 0;
	(void)close(pair[0]);
	(void)close(pair[1]);
	return same;
}

/* Empty, and nobody is left who could write into it? */
static bool
exec_collect_silent(int fd)
{
	struct pollfd look = {.fd = fd, .events = POLLIN};
	int got;

	do
		got = poll(&look, 1, 0);
	while (got < 0 && errno == EINTR);
	return got == 1 && look.revents == POLLHUP;
}

static void
exec_collect_on_first(evutil_socket_t fd, short what, void *context)
{
	struct exec_collect *collect = context;
	bool results = fd == collect->read[EXEC_COLLECT_RESULTS];

	(void)what;
	/* An end alone is judged when all has ended. */
	if (exec_collect_silent(fd) || (results && exec_collect_none(fd)))
		return;
	exec_collect_begin_later(collect);
}

static void
exec_collect_on_nothing(evutil_socket_t fd, short what, void *context)
{
	struct exec_collect *collect = context;
	json_t *answer = json_pack("{s:b, s:s}", "complete", true, "fault", "");

	(void)fd;
	(void)what;
	collect->done(
	    answer, answer == NULL ? "out of memory" : "", collect->context);
	json_decref(answer);
}

/* --- the start, and the end --------------------------------------------- */

static void
exec_collect_ask(struct exec_collect *collect, struct event_base *base,
    const struct exec_plan *plan, exec_collect_done *done, void *context)
{
	collect->base = base;
	collect->plan = plan;
	collect->done = done;
	collect->context = context;
}

enum result
exec_collect_start(struct exec_collect *collect, struct event_base *base,
    const struct exec_plan *plan, exec_collect_done *done, void *context)
{
	exec_collect_ask(collect, base, plan, done, context);
	return exec_collect_begin(collect);
}

static enum result
exec_collect_events(struct exec_collect *collect)
{
	struct event_base *base = collect->base;

	collect->nothing =
	    event_new(base, -1, 0, exec_collect_on_nothing, collect);
	if (collect->nothing == NULL)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < EXEC_COLLECT_PIPES; i++) {
		collect->first[i] = event_new(base, collect->read[i], EV_READ,
		    exec_collect_on_first, collect);
		if (collect->first[i] == NULL ||
		    event_add(collect->first[i], NULL) != 0)
			return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

enum result
exec_collect_watch(struct exec_collect *collect, struct event_base *base,
    const struct exec_plan *plan, exec_collect_done *done, void *context)
{
	enum result result;

	exec_collect_ask(collect, base, plan, done, context);
	result = exec_collect_events(collect);
	if (result != RESULT_OK) {
		exec_collect_unwatch(collect);
		collect->over = true; /* nobody waits for it */
	}
	return result;
}

void
exec_collect_finish(struct exec_collect *collect)
{
	int results = collect->read[EXEC_COLLECT_RESULTS];

	exec_collect_given(collect);
	if (collect->plan == NULL || collect->over)
		return;
	if (!exec_collect_silent(collect->read[EXEC_COLLECT_OUT]) ||
	    !exec_collect_silent(collect->read[EXEC_COLLECT_ERR]) ||
	    !exec_collect_none(results)) {
		exec_collect_begin_later(collect);
		return;
	}
	collect->over = true;
	exec_collect_unwatch(collect);
	event_active(collect->nothing, EV_TIMEOUT, 0);
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
	exec_collect_unwatch(gone);
	if (gone->nothing != NULL)
		event_free(gone->nothing);
	exec_collect_given(gone);
	exec_collect_passed(gone);
	fd_close(&gone->answer);
	free(gone);
}
