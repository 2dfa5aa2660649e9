/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one tool package: plan, sandbox and gate side by side, jobs
 * one after the other or many at once, the end of either is the end of
 * both. Called by tool_pool; it must never start what `mcp run` would
 * refuse, nor tell an agent what the host looks like.
 */
#include "supervisor/agent/tool_session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/agent/tool_job.h"
#include "supervisor/agent/tool_refusal.h"
#include "supervisor/engine/gate_part.h"
#include "supervisor/host/work_place.h"
#include "supervisor/mcp/guard_live.h"
#include "supervisor/mcp/mcp_run_plan.h"
#include "supervisor/mcp/mcp_trees.h"
#include "supervisor/pack/pack_package.h"
#include "supervisor/pack/pack_serve.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/log_files.h"

enum tool_session_state {
	TOOL_SESSION_OPEN,    /* it lives, or comes to life */
	TOOL_SESSION_CLOSING, /* one of its parts ended, or it was told to */
	TOOL_SESSION_ENDED
};

struct tool_session {
	enum tool_session_state state;
	struct event_base *base;
	struct audit *audit;
	struct tool_session_handlers handlers;
	void *context;
	char slug[SLUG_MAX + 1];
	struct mcp_run_caller caller;
	struct mcp_run_options options;
	struct mcp_run_plan plan;
	int work_in[2], work_out[2], work_err[2], client_err;
	struct mcp_trees *trees;
	struct work_place *place;
	struct gate_part *gate;
	struct guard_desk *desk;
	struct guard_live *live;
	struct event *later; /* what must not be done inside a callback */
	bool sandbox_ended, gate_ready, gate_told, gate_done, gate_ended;
	bool once;  /* a tool pack: one call, then it ends */
	bool taken; /* it has that call */
	struct sandbox_outcome outcome;
	struct tool_job jobs[TOOL_POOL_CALLS_MAX];
	char code[RUN_ENTRY_CODE_MAX]; /* for jobs that wait at the end */
};

static const char *
tool_session_state_text(enum tool_session_state state)
{
	static const char *const texts[] = {"open", "closing", "ended"};

	return texts[state];
}

static void
tool_session_enter(struct tool_session *session, enum tool_session_state state,
    const char *why)
{
	log_event(LOG_INFO_LEVEL, "tool_session_state",
	    LOG_TEXT("package", session->slug),
	    LOG_TEXT("from", tool_session_state_text(session->state)),
	    LOG_TEXT("to", tool_session_state_text(state)),
	    LOG_TEXT("why", why));
	session->state = state;
}

/* The one way to an end. The first code counts; "" is in order. */
static void
tool_session_close(void *context, const char *code, const char *detail)
{
	struct tool_session *session = context;

	if (session->code[0] == '\0' && code[0] != '\0') {
		(void)stpncpy(session->code, code, sizeof(session->code) - 1);
		log_event(LOG_WARN_LEVEL, "tool_session_failed",
		    LOG_TEXT("package", session->slug), LOG_TEXT("code", code),
		    LOG_TEXT("detail", detail));
	}
	if (session->state == TOOL_SESSION_OPEN)
		tool_session_enter(session, TOOL_SESSION_CLOSING,
		    code[0] != '\0' ? code : detail);
	if (session->place != NULL && !session->sandbox_ended)
		work_place_stop(session->place, code, detail);
	event_active(session->later, EV_TIMEOUT, 0);
}

/* --- jobs --------------------------------------------------------------- */

/* What this call's code may have left is nobody else's. */
static void
tool_session_spent(struct tool_session *session, const char *code)
{
	if (tool_refusal_by_gate(code))
		session->taken = false;
	else
		tool_session_close(session, "", "its one call is over");
}

static void
tool_session_answer(struct tool_session *session, struct tool_job *job,
    const char *code, const char *detail, int fd)
{
	uint64_t id = job->id;

	fd_close(&job->args_fd);
	job->used = false;
	session->handlers.on_answer(id, code, detail, fd, session->context);
}

/* What an agent hears of a package's end names no part of the host. */
static void
tool_session_fail_jobs(struct tool_session *session)
{
	const char *code =
	    session->code[0] != '\0' ? session->code : "run_ended";

	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (session->jobs[i].used)
			tool_session_answer(session, &session->jobs[i], code,
			    tool_refusal_sentence(code), -1);
	}
}

static void
tool_session_send(struct tool_session *session, struct tool_job *job)
{
	if (tool_job_send(job, session->gate, session->slug,
		work_place_id(session->place)) != RESULT_OK)
		tool_session_close(session, "gate_died", "a job is not sent");
}

static struct tool_job *
tool_session_free_job(struct tool_session *session)
{
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (!session->jobs[i].used)
			return &session->jobs[i];
	}
	return NULL;
}

void
tool_session_call(
    struct tool_session *session, const struct tool_pool_call *call)
{
	struct tool_job *job = tool_session_free_job(session);
	int fd = call->args_fd;

	if (job == NULL || session->state != TOOL_SESSION_OPEN) {
		const char *code =
		    job == NULL ? "too_many_requests" : "run_ended";

		fd_close(&fd);
		session->handlers.on_answer(call->id, code,
		    tool_refusal_sentence(code), -1, session->context);
		return;
	}
	*job = (struct tool_job){.used = true,
	    .id = call->id,
	    .number = call->number,
	    .list = call->list,
	    .has_tool = call->tool != NULL,
	    .args_fd = fd};
	(void)snprintf(job->tool, sizeof(job->tool), "%s",
	    call->tool != NULL ? call->tool : "");
	session->taken = session->taken || !call->list;
	if (session->gate_ready)
		tool_session_send(session, job);
}

void
tool_session_cancel(struct tool_session *session, uint64_t id)
{
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		struct tool_job *job = &session->jobs[i];

		if (!job->used || job->id != id)
			continue;
		if (job->work != 0)
			gate_part_cancel(session->gate, job->work);
		fd_close(&job->args_fd);
		job->used = false;
		if (session->once && !job->list)
			tool_session_spent(session, "");
	}
}

/* --- the gate ----------------------------------------------------------- */

static void
tool_session_on_gate_ready(void *context)
{
	struct tool_session *session = context;

	session->gate_ready = true;
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (session->jobs[i].used && session->jobs[i].work == 0)
			tool_session_send(session, &session->jobs[i]);
	}
}

static void
tool_session_on_gate_answer(
    uint64_t id, const char *code, const char *detail, int fd, void *context)
{
	struct tool_session *session = context;

	if (code[0] == '\0' && fd < 0) {
		code = "tool_failed";
		detail = "the package's gate gave no result";
	}
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		struct tool_job *job = &session->jobs[i];

		if (job->used && job->work == id) {
			tool_session_answer(session, job, code, detail, fd);
			if (session->once && !job->list)
				tool_session_spent(session, code);
			return;
		}
	}
	fd_close(&fd);
}

static void
tool_session_on_gate_done(const struct gate_part_said *said, void *context)
{
	struct tool_session *session = context;

	session->gate_done = true;
	if (strcmp(said->reason, "start_failed") == 0)
		tool_session_close(session, "tool_start_failed", said->detail);
	else if (session->state == TOOL_SESSION_OPEN)
		tool_session_close(session, "tool_ended", said->reason);
	else
		tool_session_close(session, "", "the gate is done");
}

static void
tool_session_on_gate_end(const char *detail, void *context)
{
	struct tool_session *session = context;

	session->gate_ended = true;
	if (session->gate_done)
		tool_session_close(session, "", "the gate ended");
	else
		tool_session_close(session, "gate_died", detail);
}

static enum result
tool_session_start_gate(struct tool_session *session)
{
	static const struct gate_part_handlers handlers = {
	    .on_done = tool_session_on_gate_done,
	    .on_end = tool_session_on_gate_end,
	    .on_ready = tool_session_on_gate_ready,
	    .on_answer = tool_session_on_gate_answer};
	const struct gate_part_stream rows[] = {
	    {"client_err", &session->client_err},
	    {"work_in", &session->work_in[1]},
	    {"work_out", &session->work_out[0]},
	    {"work_err", &session->work_err[0]},
	};
	json_t *options = mcp_run_plan_gate(&session->plan, &session->options);
	struct json_fault fault = {""};
	int log_fd FD_CLEANUP = -1;

	if (options == NULL)
		return RESULT_NO_MEMORY;
	if (log_files_open(session->plan.run.home, "agentnode-gate", &log_fd,
		&fault) != RESULT_OK) {
		json_decref(options);
		return RESULT_SYSTEM;
	}
	return gate_part_start(session->base, work_place_id(session->place),
	    options, log_fd, rows, sizeof(rows) / sizeof(rows[0]), &handlers,
	    session, &session->gate);
}

static enum result
tool_session_start_desk(struct tool_session *session)
{
	const struct guard_desk_spec spec = {.kind = "tool",
	    .package = session->slug,
	    .agent = session->caller.agent,
	    .run = work_place_id(session->place),
	    .rates = guard_make_rates(session->plan.run.config, session->slug,
		session->caller.agent != NULL)};
	enum result result =
	    guard_desk_new(session->audit, &spec, &session->desk);

	if (result != RESULT_OK)
		return result;
	gate_part_guard(session->gate, session->desk);
	return guard_live_new(session->base, session->desk, &session->plan,
	    &session->options, tool_session_close, session, &session->live);
}

/* --- the sandbox -------------------------------------------------------- */

static void
tool_session_on_sandbox_end(
    const struct sandbox_outcome *outcome, void *context)
{
	struct tool_session *session = context;

	session->sandbox_ended = true;
	session->outcome = *outcome;
	if (session->trees != NULL)
		mcp_trees_sandbox_ended(session->trees,
		    outcome->started && outcome->code[0] == '\0');
	tool_session_close(session, outcome->code,
	    outcome->code[0] != '\0' ? outcome->detail : "the sandbox ended");
}

static enum result
tool_session_start_sandbox(struct tool_session *session)
{
	static const struct work_place_handlers handlers = {
	    .on_end = tool_session_on_sandbox_end};
	struct sandbox_spec *spec = &session->plan.spec;
	const struct work_place_spec place = {&session->plan.run, spec};
	enum result result;

	spec->kind = "tool";
	spec->stdin_fd = session->work_in[0];
	spec->stdout_fd = session->work_out[1];
	spec->stderr_fd = session->work_err[1];
	result = work_place_start(session->base, session->audit, &place,
	    &handlers, session, &session->place);
	run_secret_clear(&session->plan.secret);
	fd_close(&session->work_in[0]);
	fd_close(&session->work_out[1]);
	fd_close(&session->work_err[1]);
	mcp_trees_handed_over(session->trees);
	return result;
}

static void
tool_session_on_trees(void *context)
{
	struct tool_session *session = context;
	const char *fault = mcp_trees_fault(session->trees);

	if (session->state == TOOL_SESSION_OPEN && fault[0] != '\0')
		tool_session_close(session, "files_failed", fault);
	else
		event_active(session->later, EV_TIMEOUT, 0);
}

/* --- the end ------------------------------------------------------------ */

/* The sum of its calls is on record. */
static void
tool_session_on_desk(void *context)
{
	struct tool_session *session = context;

	event_active(session->later, EV_TIMEOUT, 0);
}

/* From the loop, nothing of a part on the stack. */
static void
tool_session_on_later(evutil_socket_t fd, short what, void *context)
{
	struct tool_session *session = context;
	bool gate_lives = session->gate != NULL && !session->gate_done &&
			  !session->gate_ended;

	(void)fd;
	(void)what;
	if (session->place != NULL && !session->sandbox_ended)
		return;
	/* Its copies of the pipes go with it: the gate sees their end. */
	work_place_free(&session->place);
	if (gate_lives && !session->gate_told) {
		session->gate_told = true;
		gate_part_workload_ended(session->gate, &session->outcome);
	}
	if (gate_lives || !mcp_trees_is_idle(session->trees) ||
	    session->state == TOOL_SESSION_ENDED)
		return;
	if (session->desk != NULL && !guard_desk_is_finished(session->desk)) {
		guard_desk_finish(session->desk, tool_session_on_desk, session);
		return;
	}
	tool_session_enter(session, TOOL_SESSION_ENDED, "all parts ended");
	tool_session_fail_jobs(session);
	session->handlers.on_end(session, session->context);
}

void
tool_session_stop(
    struct tool_session *session, const char *code, const char *detail)
{
	if (session->state == TOOL_SESSION_ENDED)
		return;
	tool_session_close(session, code, detail);
	/* Nobody waits for the last words of what is ended. */
	tool_session_fail_jobs(session);
}

/* --- the start ---------------------------------------------------------- */

static struct tool_session *
tool_session_make(struct event_base *base, struct audit *audit,
    const struct tool_pool_spec *spec, const char *slug)
{
	struct tool_session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return NULL;
	session->base = base;
	session->audit = audit;
	(void)snprintf(session->slug, sizeof(session->slug), "%s", slug);
	session->caller =
	    (struct mcp_run_caller){.call_timeout_s = spec->call_timeout_s,
		.arguments_max = spec->arguments_max,
		.result_max = spec->result_max,
		.agent = spec->agent,
		.agent_asks = spec->agent_asks};
	session->options.slug = session->slug;
	session->options.lockfile = spec->lockfile;
	session->options.caller = &session->caller;
	session->outcome.exit_code = -1;
	session->client_err = -1;
	for (int i = 0; i < 2; i++)
		session->work_in[i] = session->work_out[i] =
		    session->work_err[i] = -1;
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++)
		session->jobs[i].args_fd = -1;
	return session;
}

static enum result
tool_session_fail(struct tool_session_fault *fault, enum result result,
    const char *code, const char *detail)
{
	(void)snprintf(fault->code, sizeof(fault->code), "%s", code);
	(void)snprintf(fault->detail, sizeof(fault->detail), "%s", detail);
	return result;
}

/* All that can fail before something is started. */
static enum result
tool_session_prepare(struct tool_session *session, bool verbose,
    struct tool_session_fault *fault)
{
	struct json_fault *why = &session->plan.run.fault;
	enum result result = pack_serve_plan(&session->options, &session->plan);

	if (result != RESULT_OK)
		return tool_session_fail(
		    fault, result, session->plan.run.code, why->text);
	session->once = pack_package_is_pack(session->plan.run.entry);
	session->later =
	    event_new(session->base, -1, 0, tool_session_on_later, session);
	if (session->later == NULL ||
	    gate_part_pipe(session->work_in, 1) != RESULT_OK ||
	    gate_part_pipe(session->work_out, 0) != RESULT_OK ||
	    gate_part_pipe(session->work_err, 0) != RESULT_OK)
		return tool_session_fail(
		    fault, RESULT_SYSTEM, "internal", "no pipes are left");
	if (verbose)
		session->client_err = gate_part_share(STDERR_FILENO, O_WRONLY);
	result = mcp_trees_open(session->base, session->plan.run.config,
	    &session->plan.package, &session->plan.spec, tool_session_on_trees,
	    session, &session->trees, why);
	if (result != RESULT_OK)
		return tool_session_fail(
		    fault, result, "files_failed", why->text);
	return RESULT_OK;
}

enum result
tool_session_new(struct event_base *base, struct audit *audit,
    const struct tool_pool_spec *spec, const char *slug,
    const struct tool_session_handlers *handlers, void *context,
    struct tool_session **session_r, struct tool_session_fault *fault_r)
{
	struct tool_session *session =
	    tool_session_make(base, audit, spec, slug);
	enum result result;

	*session_r = NULL;
	if (session == NULL)
		return tool_session_fail(
		    fault_r, RESULT_NO_MEMORY, "internal", "out of memory");
	session->handlers = *handlers;
	session->context = context;
	result = tool_session_prepare(session, spec->verbose, fault_r);
	if (result == RESULT_OK &&
	    tool_session_start_sandbox(session) != RESULT_OK)
		result = tool_session_fail(
		    fault_r, RESULT_NO_MEMORY, "internal", "out of memory");
	if (result != RESULT_OK) {
		tool_session_free(&session);
		return result;
	}
	*session_r = session;
	/* Without an id there is no plan: its end says why, and comes soon. */
	if (work_place_id(session->place)[0] != '\0' &&
	    (tool_session_start_gate(session) != RESULT_OK ||
		tool_session_start_desk(session) != RESULT_OK))
		tool_session_close(
		    session, "gate_died", "agentnode-gate does not start");
	return RESULT_OK;
}

void
tool_session_free(struct tool_session **session)
{
	struct tool_session *gone = *session;

	if (gone == NULL)
		return;
	*session = NULL;
	gate_part_free(&gone->gate);
	guard_live_free(&gone->live);
	guard_desk_free(&gone->desk);
	work_place_free(&gone->place);
	mcp_trees_free(&gone->trees);
	if (gone->later != NULL)
		event_free(gone->later);
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++)
		fd_close(&gone->jobs[i].args_fd);
	for (int i = 0; i < 2; i++) {
		fd_close(&gone->work_in[i]);
		fd_close(&gone->work_out[i]);
		fd_close(&gone->work_err[i]);
	}
	fd_close(&gone->client_err);
	mcp_run_plan_clear(&gone->plan);
	free(gone);
}

/* --- questions ---------------------------------------------------------- */

const char *
tool_session_slug(const struct tool_session *session)
{
	return session->slug;
}

bool
tool_session_is_open(const struct tool_session *session)
{
	return session->state == TOOL_SESSION_OPEN;
}

bool
tool_session_is_once(const struct tool_session *session)
{
	return session->once;
}

/* While a list waits no foreign code runs that could answer it. */
bool
tool_session_takes(const struct tool_session *session, bool list)
{
	return session->state == TOOL_SESSION_OPEN &&
	       (!session->once ||
		   (!session->taken &&
		       (list || tool_session_jobs(session) == 0)));
}

size_t
tool_session_jobs(const struct tool_session *session)
{
	size_t count = 0;

	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++)
		count += session->jobs[i].used;
	return count;
}
