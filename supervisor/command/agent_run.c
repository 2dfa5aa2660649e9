/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one run of an agent: the ledger first, then sandbox, gate and
 * LLM side by side, then whichever ends first ends the others; last the
 * record of the run. How the parts are started is in agent_run_parts.c.
 * Called by command_agent; it must never leave with a sandbox that was not
 * said to be gone.
 */
#include "supervisor/command/agent_run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/command/agent_run_state.h"
#include "supervisor/command/command.h"
#include "supervisor/command/mcp_run_refused.h"
#include "supervisor/mcp/refusal_record.h"

#define AGENT_RUN_CLOSE_MS 10000U

static const char *
agent_run_state_text(enum agent_run_state state)
{
	static const char *const texts[] = {
	    "ledger", "open", "closing", "record", "ended"};

	return texts[state];
}

static void
agent_run_enter(
    struct agent_run *run, enum agent_run_state state, const char *why)
{
	log_event(LOG_INFO_LEVEL, "agent_run_state",
	    LOG_TEXT("from", agent_run_state_text(run->state)),
	    LOG_TEXT("to", agent_run_state_text(state)), LOG_TEXT("why", why));
	run->state = state;
}

void
agent_run_fault(struct agent_run *run, const char *code, const char *detail)
{
	if (run->code[0] != '\0')
		return;
	(void)snprintf(run->code, sizeof(run->code), "%s", code);
	(void)snprintf(run->detail, sizeof(run->detail), "%s", detail);
}

void
agent_run_close(struct agent_run *run, const char *code, const char *detail)
{
	if (code[0] != '\0')
		agent_run_fault(run, code, detail);
	if (run->state == AGENT_RUN_OPEN || run->state == AGENT_RUN_LEDGER)
		agent_run_enter(
		    run, AGENT_RUN_CLOSING, code[0] != '\0' ? code : detail);
	if (run->sandbox != NULL && !run->sandbox_ended)
		sandbox_stop(run->sandbox, code, detail);
	event_active(run->later, EV_TIMEOUT, 0);
}

/* ---- the end ---- */

static void
agent_run_on_recorded(enum result result, const char *detail, void *context)
{
	struct agent_run *run = context;

	if (result != RESULT_OK)
		agent_run_fault(run, "audit_failed", detail);
	if (run->state != AGENT_RUN_RECORD)
		return;
	agent_run_enter(run, AGENT_RUN_ENDED, "the run is recorded");
	event_loop_stop(run->base);
}

/* Counts and codes of the whole run, into the audit chain. */
static void
agent_run_record(struct agent_run *run)
{
	json_t *fields = agent_run_parts_record(run);
	enum result result = RESULT_OK;

	agent_run_enter(run, AGENT_RUN_RECORD, "all parts ended");
	if (run->record == NULL) { /* the sandbox's refusal is recorded */
		agent_run_on_recorded(RESULT_OK, "", run);
		return;
	}
	result = fields == NULL ? RESULT_NO_MEMORY
				: audit_submit(run->audit, "agent_run", fields,
				      agent_run_on_recorded, run);
	json_decref(fields);
	if (result != RESULT_OK)
		agent_run_on_recorded(result, result_text(result), run);
}

/* From the loop, nothing of a part on the stack: one step to the end. */
static void
agent_run_on_later(evutil_socket_t fd, short what, void *context)
{
	struct timeval limit = event_loop_timeval(AGENT_RUN_CLOSE_MS);
	struct agent_run *run = context;
	bool tools;

	(void)fd;
	(void)what;
	if (run->state != AGENT_RUN_CLOSING)
		return;
	/* Sandboxes have limits of their own, and are seen to be gone. */
	tools = agent_run_parts_tools_closed(run);
	if (run->sandbox != NULL && !run->sandbox_ended)
		return;
	/* Its copies of the pipes go with it: the gate sees their end. */
	sandbox_free(&run->sandbox);
	if (!tools)
		return;
	if (agent_run_parts_closed(run))
		agent_run_record(run);
	else if (event_pending(run->limit, EV_TIMEOUT, NULL) == 0)
		(void)event_add(run->limit, &limit);
}

/* No sandbox is left: a part that does not end in order is killed. Who
 * reads a program's output may take his time until a signal comes. */
static void
agent_run_on_limit(evutil_socket_t fd, short what, void *context)
{
	struct agent_run *run = context;

	(void)fd;
	(void)what;
	if (run->state != AGENT_RUN_CLOSING)
		return;
	log_event(LOG_WARN_LEVEL, "agent_run_limit",
	    LOG_TEXT("llm", run->llm_closed ? "closed" : "open"),
	    LOG_TEXT("gate", run->gate_done ? "done" : "not done"));
	if (run->llm != NULL && !run->llm_closed)
		agent_run_fault(run, "close_timeout",
		    "what the models were asked could not be settled in time");
	run->llm_closed = true;
	if (!run->gate_done && !run->gate_ended &&
	    (run->signalled || run->plan.package.command == NULL)) {
		run->gate_ended = true;
		agent_run_fault(run, "close_timeout",
		    "what was to be said was not taken in time");
	}
	event_active(run->later, EV_TIMEOUT, 0);
}

/* ---- the start ---- */

static void
agent_run_on_ledger_end(enum result result, const char *detail, void *context)
{
	(void)result;
	agent_run_close(context, "audit_failed", detail);
}

static void
agent_run_on_signal(evutil_socket_t number, short what, void *context)
{
	struct agent_run *run = context;

	(void)number;
	(void)what;
	run->signalled = true;
	/* What has ended by itself is not what the signal ended. */
	agent_run_close(run,
	    run->state == AGENT_RUN_OPEN || run->state == AGENT_RUN_LEDGER
		? "stopped"
		: "",
	    "a signal came");
}

static void
agent_run_on_ledger(enum result result, const char *detail, void *context)
{
	struct agent_run *run = context;

	if (run->state != AGENT_RUN_LEDGER)
		return;
	if (result != RESULT_OK) {
		agent_run_close(run, "audit_failed", detail);
		return;
	}
	agent_run_enter(run, AGENT_RUN_OPEN, "the ledger is ready");
	agent_run_parts_start(run);
}

static enum result
agent_run_events(struct agent_run *run)
{
	enum result result = event_loop_new(&run->base);

	if (result != RESULT_OK)
		return result;
	run->later = event_new(run->base, -1, 0, agent_run_on_later, run);
	run->limit = event_new(run->base, -1, 0, agent_run_on_limit, run);
	if (run->later == NULL || run->limit == NULL)
		return RESULT_NO_MEMORY;
	return end_signals_new(
	    &run->signals, run->base, agent_run_on_signal, run);
}

/* All that can fail before something is started. */
static bool
agent_run_prepare(struct agent_run *run)
{
	const struct agent_run_options *options = run->options;
	struct run_entry *entry = &run->plan.run;
	struct json_fault fault = {""};

	if (agent_plan_make(options, &run->plan) != RESULT_OK) {
		if (entry->home[0] != '\0' &&
		    refusal_record_is_decision(entry->code))
			mcp_run_refused_record(entry->home, "agent",
			    options->slug, entry->code, entry->fault.text);
		agent_run_fault(run, entry->code, entry->fault.text);
		return false;
	}
	if (agent_run_events(run) != RESULT_OK ||
	    mcp_streams_open(&run->streams, false, options->verbose) !=
		RESULT_OK ||
	    mcp_streams_let_go() != RESULT_OK) {
		agent_run_fault(
		    run, "internal", "standard output cannot be used");
		return false;
	}
	if (audit_start(run->base, entry->home, agent_run_on_ledger, run,
		&run->audit, &fault) != RESULT_OK) {
		agent_run_fault(run, "audit_failed", fault.text);
		return false;
	}
	audit_on_end(run->audit, agent_run_on_ledger_end, run);
	return true;
}

static void
agent_run_clear(struct agent_run *run)
{
	agent_run_parts_free(run);
	audit_free(&run->audit);
	mcp_streams_close(&run->streams);
	end_signals_free(&run->signals);
	if (run->later != NULL)
		event_free(run->later);
	if (run->limit != NULL)
		event_free(run->limit);
	if (run->base != NULL)
		event_base_free(run->base);
	agent_plan_clear(&run->plan);
	log_flush();
}

static int
agent_run_code(struct agent_run *run)
{
	const struct sandbox_outcome *outcome = &run->outcome;

	if (run->code[0] == '\0' && outcome->code[0] != '\0')
		agent_run_fault(run, outcome->code, outcome->detail);
	if (run->code[0] == '\0' && !outcome->started)
		agent_run_fault(
		    run, "stopped", "it was ended before it started");
	if (run->code[0] == '\0')
		return outcome->signal != 0 ? 128 + outcome->signal
					    : outcome->exit_code;
	command_error(COMMAND_NO, "%s: %s", run->code, run->detail);
	if (run->unsaid)
		return COMMAND_INTERNAL;
	if (outcome->started)
		return outcome->code[0] != '\0' ? 128 + SIGKILL : COMMAND_NO;
	return COMMAND_NOT_STARTED;
}

int
agent_run(const struct agent_run_options *options)
{
	struct agent_run run;
	int code;

	memset(&run, 0, sizeof(run));
	run.options = options;
	run.outcome.exit_code = -1;
	mcp_streams_init(&run.streams);
	if (agent_run_prepare(&run)) {
		run_log_open(&run.log, run.base, &run.plan.run);
		if (event_loop_run(run.base) != RESULT_OK)
			agent_run_fault(&run, "internal", "the loop gave up");
	}
	code = agent_run_code(&run);
	run_log_close(&run.log);
	agent_run_clear(&run);
	return code;
}
