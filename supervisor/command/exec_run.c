/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one command: the ledger first (native: the sandbox, whose
 * command waits for the ledger), then the boundary; what comes of it has a
 * reader once there is something; at the end or the time limit everything of
 * the command dies, what it left comes out, and the reader says what it was.
 * Called by command_exec; it must never leave with something that lives, nor
 * look at a byte of the command's itself.
 */
#include "supervisor/command/exec_run.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/command/exec_ask.h"
#include "supervisor/command/mcp_run_refused.h"
#include "supervisor/command/run_log.h"
#include "supervisor/end_signals.h"
#include "supervisor/engine/native_launcher.h"
#include "supervisor/exec/exec_collect.h"
#include "supervisor/exec/exec_plan.h"
#include "supervisor/exec/exec_print.h"
#include "supervisor/exec/exec_result.h"
#include "supervisor/exec/exec_turn.h"
#include "supervisor/policy/audit.h"

#define EXEC_RUN_COLLECT_MS 10000U

enum exec_run_state {
	EXEC_RUN_LEDGER,  /* until the ledger is ready; not of native */
	EXEC_RUN_OPEN,    /* the boundary comes to life, lives, ends */
	EXEC_RUN_CLOSING, /* it ended; the reader comes to its end */
	EXEC_RUN_ENDED
};

struct exec_run {
	enum exec_run_state state; /* assigned in exec_run_enter alone */
	struct exec_request *request;
	struct exec_plan plan;
	struct native_denied denied; /* hosts, by the proxy */
	struct run_log log;
	struct event_base *base;
	struct audit *audit;
	struct native_launcher *launcher; /* until the sandbox takes it */
	struct sandbox *sandbox;          /* or */
	struct host_run *host;
	struct exec_collect *collect;
	struct end_signals signals;
	struct event *timer; /* of the command, then of the reader */
	struct event *later; /* what must not be done inside a callback */
	uint64_t go_ms, duration_ms;
	bool exited, ended, collect_ended, timed_out;
	bool collecting; /* the reader was started */
	struct sandbox_outcome outcome;
	json_t *collected; /* owned */
	int turn;          /* of starting; -1: it runs, or there was none */
	char id[32];
	char code[SANDBOX_CODE_MAX], detail[512]; /* first fault of ours */
};

static void
exec_run_enter(struct exec_run *run, enum exec_run_state state, const char *why)
{
	static const char *const texts[] = {
	    "ledger", "open", "closing", "ended"};

	log_event(LOG_INFO_LEVEL, "exec_run_state",
	    LOG_TEXT("from", texts[run->state]), LOG_TEXT("to", texts[state]),
	    LOG_TEXT("why", why));
	run->state = state;
}

static void
exec_run_fault(struct exec_run *run, const char *code, const char *detail)
{
	if (run->code[0] != '\0')
		return;
	(void)snprintf(run->code, sizeof(run->code), "%s", code);
	(void)snprintf(run->detail, sizeof(run->detail), "%s", detail);
}

/* The one way to an end: code "" is in order. */
static void
exec_run_close(struct exec_run *run, const char *code, const char *detail)
{
	if (code[0] != '\0')
		exec_run_fault(run, code, detail);
	if (run->sandbox != NULL && !run->ended)
		sandbox_stop(run->sandbox, code, detail);
	if (run->host != NULL && !run->ended)
		host_run_stop(run->host, code, detail);
	event_active(run->later, EV_TIMEOUT, 0);
}

/* --- the end ------------------------------------------------------------ */

/* From the loop, nothing of a part on the stack. */
static void
exec_run_on_later(evutil_socket_t fd, short what, void *context)
{
	struct timeval limit = event_loop_timeval(EXEC_RUN_COLLECT_MS);
	struct exec_run *run = context;

	(void)fd;
	(void)what;
	if ((run->sandbox != NULL || run->host != NULL) && !run->ended)
		return;
	/* Its copies of the pipes go with it: the reader sees their end. */
	sandbox_free(&run->sandbox);
	host_run_free(&run->host);
	if (run->state < EXEC_RUN_CLOSING) {
		exec_run_enter(run, EXEC_RUN_CLOSING, "the boundary ended");
		(void)event_add(run->timer, &limit);
		if (run->collect != NULL)
			exec_collect_finish(run->collect);
	}
	if (run->collecting && !run->collect_ended)
		return;
	if (run->state != EXEC_RUN_ENDED) {
		exec_run_enter(run, EXEC_RUN_ENDED, "all parts ended");
		event_loop_stop(run->base);
	}
}

static void
exec_run_on_collected(const json_t *answer, const char *detail, void *context)
{
	struct exec_run *run = context;

	run->collect_ended = true;
	if (answer != NULL)
		run->collected = json_incref((json_t *)(uintptr_t)answer);
	else
		exec_run_close(run, "collect_failed", detail);
	event_active(run->later, EV_TIMEOUT, 0);
}

static void
exec_run_on_timer(evutil_socket_t fd, short what, void *context)
{
	struct exec_run *run = context;

	(void)fd;
	(void)what;
	if (run->state == EXEC_RUN_CLOSING) {
		run->collect_ended = true;
		exec_run_close(run, "collect_failed",
		    "what it left was not read within 10 s");
		return;
	}
	if (run->exited)
		return;
	run->timed_out = true;
	exec_run_close(run, "", "the time limit");
}

static void
exec_run_took(struct exec_run *run)
{
	if (run->go_ms != 0 && !run->exited)
		run->duration_ms = event_loop_now_ms() - run->go_ms;
	run->exited = true;
	(void)event_del(run->timer);
}

static void
exec_run_on_decision(const json_t *body, void *context)
{
	struct exec_run *run = context;

	native_denied_decision(&run->denied, body);
}

static void
exec_run_on_exit(struct sandbox *sandbox, void *context)
{
	(void)sandbox;
	exec_run_took(context);
}

static void
exec_run_on_end(struct exec_run *run, const struct sandbox_outcome *outcome)
{
	exec_run_took(run);
	run->ended = true;
	run->outcome = *outcome;
	exec_run_close(run, outcome->code, outcome->detail);
}

static void
exec_run_on_sandbox_end(struct sandbox *sandbox,
    const struct sandbox_outcome *outcome, void *context)
{
	(void)sandbox;
	exec_run_on_end(context, outcome);
}

/* What it left is read by us: there is no init that could. */
static void
exec_run_on_host_end(
    struct host_run *host, const struct sandbox_outcome *outcome, void *context)
{
	struct exec_run *run = context;
	struct init_results_bound bound = exec_plan_bound(&run->plan);

	(void)host;
	exec_run_on_end(run, outcome);
	if (outcome->started)
		(void)exec_policy_results(&run->plan.policy, &bound);
	fd_close(&run->plan.policy.results);
}

static void
exec_run_on_ledger_end(enum result result, const char *detail, void *context)
{
	(void)result;
	exec_run_close(context, "audit_failed", detail);
}

static void
exec_run_on_signal(evutil_socket_t number, short what, void *context)
{
	(void)number;
	(void)what;
	exec_run_close(context, "stopped", "a signal came");
}

/* --- the start ---------------------------------------------------------- */

static void
exec_run_begins(struct exec_run *run)
{
	struct timeval limit = {
	    .tv_sec = (time_t)(run->plan.timeout_ms / 1000U),
	    .tv_usec = (suseconds_t)(run->plan.timeout_ms % 1000U) * 1000};

	run->go_ms = event_loop_now_ms();
	fd_close(&run->turn);
	if (event_add(run->timer, &limit) != 0)
		exec_run_close(run, "internal", "the time limit cannot be set");
}

static void
exec_run_on_go(struct sandbox *sandbox, void *context)
{
	(void)sandbox;
	exec_run_begins(context);
}

static void
exec_run_on_host_go(struct host_run *host, void *context)
{
	(void)host;
	exec_run_begins(context);
}

static enum result
exec_run_start_host(struct exec_run *run)
{
	static const struct host_run_handlers handlers = {
	    .on_go = exec_run_on_host_go, .on_end = exec_run_on_host_end};
	const struct exec_collect_ends *ends = exec_collect_ends(run->collect);
	struct host_spec *spec = &run->plan.policy.spec;
	enum result result;

	spec->stdout_fd = ends->out;
	spec->stderr_fd = ends->err;
	run->plan.policy.results = fcntl(ends->results, F_DUPFD_CLOEXEC, 3);
	result = host_run_start(run->base, run->plan.run.config, run->audit,
	    spec, &handlers, run, &run->host);
	if (result == RESULT_OK)
		(void)snprintf(
		    run->id, sizeof(run->id), "%s", host_run_id(run->host));
	exec_collect_given(run->collect);
	return result;
}

static enum result
exec_run_start_sandbox(struct exec_run *run)
{
	static const struct sandbox_handlers handlers = {
	    .on_go = exec_run_on_go,
	    .on_exit = exec_run_on_exit,
	    .on_decision = exec_run_on_decision,
	    .on_end = exec_run_on_sandbox_end};
	const struct exec_collect_ends *ends = exec_collect_ends(run->collect);
	struct sandbox_spec *spec = &run->plan.spec;
	enum result result;

	spec->stdout_fd = ends->out;
	spec->stderr_fd = ends->err;
	spec->launcher = &run->launcher;
	exec_plan_trees(&run->plan, ends->results);
	result = sandbox_start(run->base, run->plan.run.config, run->audit,
	    spec, &handlers, run, &run->sandbox);
	if (result == RESULT_OK)
		(void)snprintf(
		    run->id, sizeof(run->id), "%s", sandbox_id(run->sandbox));
	exec_collect_given(run->collect);
	return result;
}

static void
exec_run_open(struct exec_run *run, const char *why)
{
	exec_run_enter(run, EXEC_RUN_OPEN, why);
	if ((run->plan.policy.is ? exec_run_start_host(run)
				 : exec_run_start_sandbox(run)) != RESULT_OK)
		exec_run_close(run, "internal", "out of memory");
}

static void
exec_run_on_ledger(enum result result, const char *detail, void *context)
{
	struct exec_run *run = context;

	if (run->state == EXEC_RUN_LEDGER && result != RESULT_OK)
		exec_run_close(run, "audit_failed", detail);
	else if (run->state == EXEC_RUN_LEDGER)
		exec_run_open(run, "the ledger is ready");
	else if (run->sandbox != NULL)
		sandbox_ledger(run->sandbox, result == RESULT_OK, detail);
}

static enum result
exec_run_events(struct exec_run *run)
{
	enum result result = event_loop_new(&run->base);

	if (result != RESULT_OK)
		return result;
	run->later = event_new(run->base, -1, 0, exec_run_on_later, run);
	run->timer = event_new(run->base, -1, 0, exec_run_on_timer, run);
	if (run->later == NULL || run->timer == NULL)
		return RESULT_NO_MEMORY;
	return end_signals_new(
	    &run->signals, run->base, exec_run_on_signal, run);
}

/* A signal ends the wait. Nothing was started, so the loop has nothing else
 * to tell. */
static bool
exec_run_wanted(void *context)
{
	struct exec_run *run = context;

	(void)event_base_loop(run->base, EVLOOP_NONBLOCK);
	return run->code[0] == '\0';
}

/* False: it was ended meanwhile. */
static bool
exec_run_turn(struct exec_run *run)
{
	run->turn = exec_turn_take(exec_run_wanted, run);
	return run->code[0] == '\0';
}

/* Namespaces take a core as long as the view takes another: they are made
 * while it is looked for, and are nobody's if it is refused. One that cannot
 * be started is tried again by the sandbox, which says why. */
static bool
exec_run_launcher(struct exec_run *run)
{
	if (run->request->boundary != EXEC_NATIVE)
		return true;
	if (!exec_run_turn(run))
		return false;
	(void)native_launcher_start(run->base, &run->launcher);
	return true;
}

static bool
exec_run_decide(struct exec_run *run)
{
	struct run_entry *entry = &run->plan.run;
	enum result result = exec_plan_begin(run->request, &run->plan);

	if (result == RESULT_OK) {
		if (!exec_run_launcher(run))
			return false;
		result = exec_plan_finish(run->request, &run->plan);
	}
	if (result == RESULT_OK)
		return true;
	/* That a credential was not handed over is a decision. */
	if (entry->home[0] != '\0' &&
	    (strcmp(entry->code, "env_refused") == 0 ||
		strcmp(entry->code, "danger_refused") == 0))
		mcp_run_refused_record(entry->home, "exec", EXEC_PLAN_NAME,
		    entry->code, entry->fault.text);
	exec_run_fault(run, entry->code, entry->fault.text);
	return false;
}

/* All that can fail before something of the command's is started. */
static bool
exec_run_prepare(struct exec_run *run)
{
	struct json_fault fault = {""};

	if (exec_run_events(run) != RESULT_OK) {
		exec_run_fault(run, "internal", "out of memory");
		return false;
	}
	if (!exec_run_decide(run))
		return false;
	if (run->request->boundary != EXEC_NATIVE && !exec_run_turn(run))
		return false;
	run_log_open(&run->log, run->base, &run->plan.run);
	if (exec_collect_open(&run->collect) != RESULT_OK) {
		exec_run_fault(run, "internal", "no pipes");
		return false;
	}
	if (audit_new(run->base, exec_run_on_ledger, run, &run->audit) !=
	    RESULT_OK) {
		exec_run_fault(run, "internal", "out of memory");
		return false;
	}
	audit_on_end(run->audit, exec_run_on_ledger_end, run);
	/* What takes longest first: the ledger has nothing to write yet, the
	 * reader nothing to read. */
	if (run->plan.native.view != NULL)
		exec_run_open(run, "nothing goes before it is recorded");
	if (audit_begin(run->audit, run->plan.run.home, &fault) != RESULT_OK) {
		exec_run_on_ledger(RESULT_SYSTEM, fault.text, run);
		return run->sandbox != NULL; /* it is waited for */
	}
	/* Of policy we write the results ourselves: somebody must read. */
	run->collecting =
	    (run->plan.policy.is ? exec_collect_start : exec_collect_watch)(
		run->collect, run->base, &run->plan, exec_run_on_collected,
		run) == RESULT_OK;
	if (!run->collecting)
		exec_run_close(
		    run, "collect_failed", "agentnode-collect does not start");
	return true;
}

static void
exec_run_clear(struct exec_run *run)
{
	fd_close(&run->turn);
	exec_collect_free(&run->collect);
	native_launcher_free(&run->launcher);
	sandbox_free(&run->sandbox);
	host_run_free(&run->host);
	audit_free(&run->audit);
	end_signals_free(&run->signals);
	if (run->later != NULL)
		event_free(run->later);
	if (run->timer != NULL)
		event_free(run->timer);
	if (run->base != NULL)
		event_base_free(run->base);
	json_decref(run->collected);
	exec_plan_clear(&run->plan);
	log_flush();
}

static int
exec_run_say(struct exec_run *run)
{
	struct exec_result_facts facts = {.request = run->request,
	    .outcome = &run->outcome,
	    .run = run->id,
	    .code = run->code,
	    .detail = run->detail,
	    .timed_out = run->timed_out,
	    .duration_ms = run->duration_ms,
	    .collected = run->collected,
	    .native = &run->plan.native,
	    .denied = &run->denied};
	json_t *result;

	if (run->audit != NULL)
		audit_over(run->audit);
	exec_native_end(&run->plan.native);
	if (!run->outcome.started && run->code[0] == '\0')
		exec_run_fault(
		    run, "stopped", "it was ended before it started");
	result = exec_result_make(&facts);
	if (result == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	if (run->request->json)
		(void)command_print_json(result);
	else
		exec_print(result, stdout, stderr);
	json_decref(result);
	return exec_result_code(&facts);
}

/* Is it to be run again? Nothing of it lives: its placeholders go first. */
static bool
exec_run_asks(struct exec_run *run, struct native_approval *approval)
{
	const struct exec_ask ask = {.request = run->request,
	    .approval = approval,
	    .denied = &run->denied,
	    .workspace = run->plan.native.view != NULL
			     ? run->plan.native.view->workspace
			     : "",
	    .audit = run->audit,
	    .run = run->id};
	const char *code, *detail = "";
	bool again = false;

	if (run->plan.native.view == NULL || run->code[0] != '\0' ||
	    !exec_ask_is_due(&ask))
		return false;
	exec_native_end(&run->plan.native);
	(void)event_del(run->timer);
	/* A signal that came since the loop stopped, then one that came with
	 * the answers: each ends it. */
	(void)event_base_loop(run->base, EVLOOP_NONBLOCK);
	if (run->code[0] != '\0')
		return false;
	code = exec_ask(&ask, &again, &detail);
	(void)event_base_loop(run->base, EVLOOP_NONBLOCK);
	if (code[0] != '\0')
		exec_run_fault(run, code, detail);
	return again && run->code[0] == '\0';
}

static void
exec_run_play(struct exec_run *run)
{
	run->outcome.exit_code = run->turn = -1;
	if (!exec_run_prepare(run))
		return;
	if (event_loop_run(run->base) != RESULT_OK)
		exec_run_fault(run, "internal", "the loop gave up");
}

int
exec_run(struct exec_request *request)
{
	struct native_approval approval = {.mode = request->approval};
	struct exec_run run;
	bool again;
	int code = 0;

	do {
		memset(&run, 0, sizeof(run));
		run.request = request;
		exec_run_play(&run);
		again = exec_run_asks(&run, &approval);
		if (!again)
			code = exec_run_say(&run);
		run_log_close(&run.log);
		exec_run_clear(&run);
	} while (again);
	return code;
}
