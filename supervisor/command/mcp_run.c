/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one MCP run: the ledger first, then sandbox and gate side by
 * side, then whichever ends first ends the other. Called by command_mcp; it
 * must never leave with a sandbox that was not said to be gone.
 */
#include "supervisor/command/mcp_run.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/end_signals.h"
#include "supervisor/mcp/guard_live.h"
#include "supervisor/mcp/mcp_run_plan.h"
#include "supervisor/command/mcp_run_refused.h"
#include "supervisor/command/mcp_streams.h"
#include "supervisor/command/run_log.h"
#include "supervisor/mcp/mcp_trees.h"
#include "supervisor/engine/gate_part.h"
#include "supervisor/mcp/refusal_record.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/log_files.h"
#include "supervisor/start_clock.h"

#define MCP_RUN_CLOSE_MS 10000U

enum mcp_run_state {
	MCP_RUN_LEDGER,  /* until the ledger is ready */
	MCP_RUN_OPEN,    /* sandbox and gate live, or come to life */
	MCP_RUN_CLOSING, /* one of them ended, or a signal came */
	MCP_RUN_ENDED
};

struct mcp_run {
	enum mcp_run_state state;
	const struct mcp_run_options *options;
	struct mcp_run_plan plan;
	struct mcp_streams streams;
	struct event_base *base;
	struct audit *audit;
	struct sandbox *sandbox;
	struct gate_part *gate;
	struct guard_desk *desk;
	struct guard_live *live; /* the rules, while they change */
	struct mcp_trees *trees;
	struct run_log log; /* our own */
	struct start_clock clock;
	struct end_signals signals;
	struct event *later; /* what must not be done inside a callback */
	struct event *limit; /* of closing */
	bool signalled, sandbox_ended, gate_told, gate_done, gate_ended;
	bool unsaid;      /* what was to be said did not arrive */
	bool client_left; /* the client went before the workload did */
	struct sandbox_outcome outcome;
	char reason[32];                          /* of the gate */
	char code[SANDBOX_CODE_MAX], detail[512]; /* first fault of ours */
};

static const char *
mcp_run_state_text(enum mcp_run_state state)
{
	static const char *const texts[] = {
	    "ledger", "open", "closing", "ended"};

	return texts[state];
}

static void
mcp_run_enter(struct mcp_run *run, enum mcp_run_state state, const char *why)
{
	log_event(LOG_INFO_LEVEL, "mcp_run_state",
	    LOG_TEXT("from", mcp_run_state_text(run->state)),
	    LOG_TEXT("to", mcp_run_state_text(state)), LOG_TEXT("why", why));
	run->state = state;
}

static void
mcp_run_fault(struct mcp_run *run, const char *code, const char *detail)
{
	if (run->code[0] != '\0')
		return;
	snprintf(run->code, sizeof(run->code), "%s", code);
	snprintf(run->detail, sizeof(run->detail), "%s", detail);
}

/* The one way to an end: code "" is in order. */
static void
mcp_run_close(struct mcp_run *run, const char *code, const char *detail)
{
	if (code[0] != '\0')
		mcp_run_fault(run, code, detail);
	if (run->state == MCP_RUN_OPEN || run->state == MCP_RUN_LEDGER)
		mcp_run_enter(
		    run, MCP_RUN_CLOSING, code[0] != '\0' ? code : detail);
	if (run->sandbox != NULL && !run->sandbox_ended)
		sandbox_stop(run->sandbox, code, detail);
	event_active(run->later, EV_TIMEOUT, 0);
}

/* --- the end ------------------------------------------------------------ */

/* The sum of its calls is on record. */
static void
mcp_run_on_desk(void *context)
{
	struct mcp_run *run = context;

	event_active(run->later, EV_TIMEOUT, 0);
}

/* From the loop, nothing of a part on the stack. */
static void
mcp_run_on_later(evutil_socket_t fd, short what, void *context)
{
	struct timeval limit = event_loop_timeval(MCP_RUN_CLOSE_MS);
	struct mcp_run *run = context;

	(void)fd;
	(void)what;
	if (run->sandbox != NULL && !run->sandbox_ended)
		return;
	/* Its copies of the pipes go with it: the gate sees their end. */
	sandbox_free(&run->sandbox);
	if (run->gate != NULL && !run->gate_done && !run->gate_ended) {
		if (!run->gate_told)
			gate_part_workload_ended(run->gate, &run->outcome);
		run->gate_told = true;
		(void)event_add(run->limit, &limit);
		return;
	}
	if (run->trees != NULL && !mcp_trees_is_idle(run->trees))
		return;
	if (run->desk != NULL && !guard_desk_is_finished(run->desk)) {
		guard_desk_finish(run->desk, mcp_run_on_desk, run);
		return;
	}
	if (run->state != MCP_RUN_ENDED) {
		mcp_run_enter(run, MCP_RUN_ENDED, "all parts ended");
		event_loop_stop(run->base);
	}
}

/* A client may take its time to read until a signal comes. */
static void
mcp_run_on_limit(evutil_socket_t fd, short what, void *context)
{
	struct mcp_run *run = context;

	(void)fd;
	(void)what;
	if (run->signalled && !run->gate_done) {
		run->gate_ended = true;
		mcp_run_fault(run, "close_timeout",
		    "what was to be said was not taken in time");
	}
	event_active(run->later, EV_TIMEOUT, 0);
}

static void
mcp_run_on_sandbox_end(struct sandbox *sandbox,
    const struct sandbox_outcome *outcome, void *context)
{
	struct mcp_run *run = context;

	(void)sandbox;
	run->sandbox_ended = true;
	run->outcome = *outcome;
	if (run->trees != NULL)
		mcp_trees_sandbox_ended(
		    run->trees, outcome->started && outcome->code[0] == '\0');
	mcp_run_close(run, "", "the sandbox ended");
}

/* Its clock is ours: both are of this machine. */
static void
mcp_run_first_answer(struct mcp_run *run, const json_t *result)
{
	json_int_t ms =
	    json_integer_value(json_object_get(result, "first_answer_ms"));

	if (ms > 0)
		start_clock_end_at(
		    &run->clock, START_ANSWER, (int64_t)ms * 1000);
}

static void
mcp_run_on_gate_ready(void *context)
{
	struct mcp_run *run = context;

	start_clock_end(&run->clock, START_GATE);
}

static void
mcp_run_on_gate_done(const struct gate_part_said *said, void *context)
{
	struct mcp_run *run = context;
	char detail[sizeof(run->detail)];
	const char *fault = gate_part_fault(said, detail, sizeof(detail));

	run->unsaid = fault[0] != '\0';
	snprintf(run->reason, sizeof(run->reason), "%s", said->reason);
	run->gate_done = true;
	mcp_run_first_answer(run, said->result);
	run->client_left =
	    !run->sandbox_ended && strcmp(said->reason, "client_closed") == 0;
	if (strcmp(said->reason, "list_failed") == 0)
		mcp_run_fault(run, said->reason, said->detail);
	mcp_run_close(
	    run, fault, run->unsaid ? detail : "the conversation ended");
}

static void
mcp_run_on_gate_end(const char *detail, void *context)
{
	struct mcp_run *run = context;

	run->gate_ended = true;
	if (run->gate_done)
		mcp_run_close(run, "", "the gate ended");
	else
		mcp_run_close(run, "gate_died", detail);
}

static void
mcp_run_on_ledger_end(enum result result, const char *detail, void *context)
{
	(void)result;
	mcp_run_close(context, "audit_failed", detail);
}

static void
mcp_run_on_signal(evutil_socket_t number, short what, void *context)
{
	struct mcp_run *run = context;

	(void)number;
	(void)what;
	run->signalled = true;
	/* A client ends its server so; of a list nothing has come yet. */
	mcp_run_close(run,
	    run->options->list_tools && run->state != MCP_RUN_CLOSING
		? "stopped"
		: "",
	    "a signal came");
}

static void
mcp_run_on_trees(void *context)
{
	struct mcp_run *run = context;
	const char *fault = mcp_trees_fault(run->trees);

	if (run->state == MCP_RUN_OPEN && fault[0] != '\0')
		mcp_run_close(run, "files_failed", fault);
	else
		event_active(run->later, EV_TIMEOUT, 0);
}

/* --- the start ---------------------------------------------------------- */

static enum result
mcp_run_start_sandbox(struct mcp_run *run)
{
	static const struct sandbox_handlers handlers = {
	    .on_end = mcp_run_on_sandbox_end};
	struct sandbox_spec *spec = &run->plan.spec;
	enum result result;

	spec->clock = &run->clock;
	spec->stdin_fd = run->streams.work_in[0];
	spec->stdout_fd = run->streams.work_out[1];
	spec->stderr_fd = run->streams.work_err[1];
	result = sandbox_start(run->base, run->plan.run.config, run->audit,
	    spec, &handlers, run, &run->sandbox);
	run_secret_clear(&run->plan.secret); /* the sandbox has its own */
	mcp_streams_close_work(&run->streams);
	mcp_trees_handed_over(run->trees);
	return result;
}

static enum result
mcp_run_start_gate(struct mcp_run *run)
{
	static const struct gate_part_handlers handlers = {
	    .on_done = mcp_run_on_gate_done,
	    .on_end = mcp_run_on_gate_end,
	    .on_ready = mcp_run_on_gate_ready};
	struct mcp_streams *streams = &run->streams;
	const struct gate_part_stream rows[] = {
	    {"client_in", &streams->client_in},
	    {"client_out", &streams->client_out},
	    {"client_err", &streams->client_err},
	    {"work_in", &streams->work_in[1]},
	    {"work_out", &streams->work_out[0]},
	    {"work_err", &streams->work_err[0]},
	};
	json_t *options = mcp_run_plan_gate(&run->plan, run->options);
	int log_fd = -1;
	enum result result;

	if (options == NULL)
		return RESULT_NO_MEMORY;
	result = log_files_open(run->plan.run.home, "agentnode-gate", &log_fd,
	    &run->plan.run.fault);
	if (result != RESULT_OK) {
		json_decref(options);
		return result;
	}
	start_clock_begin(&run->clock, START_GATE);
	result = gate_part_start(run->base, sandbox_id(run->sandbox), options,
	    log_fd, rows, sizeof(rows) / sizeof(rows[0]), &handlers, run,
	    &run->gate);
	fd_close(&log_fd);
	return result;
}

static void
mcp_run_on_over(void *context, const char *code, const char *detail)
{
	mcp_run_close(context, code, detail);
}

static enum result
mcp_run_start_desk(struct mcp_run *run)
{
	const char *slug = run->options->slug;
	const struct guard_desk_spec spec = {.kind = "mcp",
	    .package = slug,
	    .run = sandbox_id(run->sandbox),
	    .rates = guard_make_rates(run->plan.run.config, slug, false)};
	enum result result = guard_desk_new(run->audit, &spec, &run->desk);

	if (result != RESULT_OK)
		return result;
	gate_part_guard(run->gate, run->desk);
	return guard_live_new(run->base, run->desk, &run->plan, run->options,
	    mcp_run_on_over, run, &run->live);
}

static void
mcp_run_on_ledger(enum result result, const char *detail, void *context)
{
	struct mcp_run *run = context;

	if (run->state != MCP_RUN_LEDGER)
		return;
	if (result != RESULT_OK) {
		mcp_run_close(run, "audit_failed", detail);
		return;
	}
	start_clock_end(&run->clock, START_LEDGER);
	mcp_run_enter(run, MCP_RUN_OPEN, "the ledger is ready");
	if (mcp_run_start_sandbox(run) != RESULT_OK)
		mcp_run_close(run, "internal", "out of memory");
	else if (sandbox_id(run->sandbox)[0] == '\0')
		return; /* there is no plan: its end says why, and comes soon */
	else if (mcp_run_start_gate(run) != RESULT_OK ||
		 mcp_run_start_desk(run) != RESULT_OK)
		mcp_run_close(run, "gate_died",
		    run->plan.run.fault.text[0] != '\0'
			? run->plan.run.fault.text
			: "agentnode-gate does not start");
}

static enum result
mcp_run_events(struct mcp_run *run)
{
	enum result result = event_loop_new(&run->base);

	if (result != RESULT_OK)
		return result;
	run->later = event_new(run->base, -1, 0, mcp_run_on_later, run);
	run->limit = event_new(run->base, -1, 0, mcp_run_on_limit, run);
	if (run->later == NULL || run->limit == NULL)
		return RESULT_NO_MEMORY;
	return end_signals_new(
	    &run->signals, run->base, mcp_run_on_signal, run);
}

/* A refusal is recorded by a ledger of its own; ours goes first. */
static void
mcp_run_refused(struct mcp_run *run)
{
	const struct run_entry *entry = &run->plan.run;

	audit_free(&run->audit);
	if (entry->home[0] != '\0' && refusal_record_is_decision(entry->code))
		mcp_run_refused_record(entry->home, "mcp", run->options->slug,
		    entry->code, entry->fault.text);
	mcp_run_fault(run, entry->code, entry->fault.text);
}

static bool
mcp_run_start_ledger(struct mcp_run *run)
{
	struct json_fault fault = {""};

	start_clock_begin(&run->clock, START_LEDGER);
	if (audit_start(run->base, run->plan.run.home, mcp_run_on_ledger, run,
		&run->audit, &fault) != RESULT_OK) {
		mcp_run_fault(run, "audit_failed", fault.text);
		return false;
	}
	audit_on_end(run->audit, mcp_run_on_ledger_end, run);
	return true;
}

/* What the run is to be. The ledger comes to life meanwhile: it is heard
 * when the loop runs, and nothing begins before. */
static bool
mcp_run_decide(struct mcp_run *run)
{
	const struct mcp_run_options *options = run->options;
	enum result result;

	start_clock_begin(&run->clock, START_PLAN);
	result = mcp_run_plan_open(options, &run->plan);
	if (result == RESULT_OK && !mcp_run_start_ledger(run))
		return false;
	if (result == RESULT_OK)
		result = mcp_run_plan_decide(options, &run->plan);
	if (result != RESULT_OK)
		mcp_run_refused(run);
	start_clock_end(&run->clock, START_PLAN);
	return result == RESULT_OK;
}

/* All that can fail before something foreign is started. */
static bool
mcp_run_prepare(struct mcp_run *run)
{
	const struct mcp_run_options *options = run->options;
	struct json_fault *fault = &run->plan.run.fault;

	if (mcp_run_events(run) != RESULT_OK) {
		mcp_run_fault(run, "internal", "out of memory");
		return false;
	}
	if (!mcp_run_decide(run))
		return false;
	if (mcp_streams_open(&run->streams, !options->list_tools,
		options->verbose) != RESULT_OK ||
	    mcp_streams_let_go() != RESULT_OK) {
		mcp_run_fault(
		    run, "internal", "standard input or output cannot be used");
		return false;
	}
	if (mcp_trees_open(run->base, run->plan.run.config, &run->plan.package,
		&run->plan.spec, mcp_run_on_trees, run, &run->trees,
		fault) != RESULT_OK) {
		mcp_run_fault(run, "files_failed", fault->text);
		return false;
	}
	return true;
}

static void
mcp_run_clear(struct mcp_run *run)
{
	gate_part_free(&run->gate);
	guard_live_free(&run->live);
	guard_desk_free(&run->desk);
	sandbox_free(&run->sandbox);
	mcp_trees_free(&run->trees);
	audit_free(&run->audit);
	run_log_close(&run->log);
	mcp_streams_close(&run->streams);
	end_signals_free(&run->signals);
	if (run->later != NULL)
		event_free(run->later);
	if (run->limit != NULL)
		event_free(run->limit);
	if (run->base != NULL)
		event_base_free(run->base);
	mcp_run_plan_clear(&run->plan);
	log_flush();
}

/* --- the exit code ------------------------------------------------------ */

/* What became of the workload, once it had started. */
static int
mcp_run_workload_code(const struct mcp_run *run)
{
	/* It was ended because nobody talks to it any more: in order. */
	if (run->client_left && run->outcome.signal == SIGKILL)
		return COMMAND_DONE;
	if (run->outcome.signal != 0)
		return 128 + run->outcome.signal;
	return run->outcome.exit_code;
}

static int
mcp_run_code(struct mcp_run *run)
{
	const struct sandbox_outcome *outcome = &run->outcome;

	const char *trees =
	    run->trees != NULL ? mcp_trees_fault(run->trees) : "";

	/* Whoever reads the files knows better what is wrong with them. */
	if (strcmp(outcome->code, "import_failed") == 0 && trees[0] != '\0')
		mcp_run_fault(run, "files_failed", trees);
	if (run->code[0] == '\0' && outcome->code[0] != '\0')
		mcp_run_fault(run, outcome->code, outcome->detail);
	if (run->code[0] == '\0' && !outcome->started)
		mcp_run_fault(run, "stopped", "it was ended before it started");
	if (outcome->started && trees[0] != '\0' && run->code[0] == '\0')
		command_error(COMMAND_NO, "%s", trees);
	if (run->code[0] == '\0')
		return run->options->list_tools ? COMMAND_DONE
						: mcp_run_workload_code(run);
	command_error(COMMAND_NO, "%s: %s", run->code, run->detail);
	if (run->unsaid)
		return COMMAND_INTERNAL;
	if (outcome->started && outcome->code[0] != '\0')
		return 128 + SIGKILL;
	if (outcome->started)
		return COMMAND_NO;
	return COMMAND_NOT_STARTED;
}

int
mcp_run(const struct mcp_run_options *options)
{
	struct mcp_run run;
	int code;

	memset(&run, 0, sizeof(run));
	run.options = options;
	run.outcome.exit_code = -1;
	mcp_streams_init(&run.streams);
	if (options->timing)
		run.clock.origin_us = start_clock_now();
	if (mcp_run_prepare(&run)) {
		run_log_open(&run.log, run.base, &run.plan.run);
		if (event_loop_run(run.base) != RESULT_OK)
			mcp_run_fault(&run, "internal", "the loop gave up");
	}
	code = mcp_run_code(&run);
	if (options->timing)
		start_clock_print(&run.clock, stderr);
	mcp_run_clear(&run);
	return code;
}
