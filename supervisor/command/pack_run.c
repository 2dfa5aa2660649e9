/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one run of a tool: the ledger first, then sandbox and gate
 * side by side; the gate gets the request, the sandbox ends, the gate says
 * what came of it. Called by command_run; it must never leave with a
 * sandbox that was not said to be gone, nor look at a byte of a result.
 */
#include "supervisor/command/pack_run.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/command/mcp_run_refused.h"
#include "supervisor/command/mcp_streams.h"
#include "supervisor/command/run_log.h"
#include "supervisor/end_signals.h"
#include "supervisor/engine/gate_part.h"
#include "supervisor/host/host_run.h"
#include "supervisor/host/work_place.h"
#include "supervisor/mcp/refusal_record.h"
#include "supervisor/mcp/run_term.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/guard_desk.h"
#include "supervisor/policy/log_files.h"

#define PACK_RUN_CLOSE_MS 10000U

enum pack_run_state {
	PACK_RUN_LEDGER,  /* until the ledger is ready */
	PACK_RUN_OPEN,    /* sandbox and gate live, or come to life */
	PACK_RUN_CLOSING, /* one of them ended, or a signal came */
	PACK_RUN_ENDED
};

struct pack_run {
	enum pack_run_state state; /* assigned in pack_run_enter alone */
	const struct pack_run_plan_options *options;
	struct pack_run_plan plan;
	struct mcp_streams streams;
	struct run_log log;
	struct event_base *base;
	struct audit *audit;
	struct work_place *place;
	struct gate_part *gate;
	struct guard_desk *desk; /* takes the rate before anything starts */
	struct run_term *term;
	struct end_signals signals;
	struct event *later; /* what must not be done inside a callback */
	struct event *limit; /* of closing */
	bool sandbox_ended, gate_told, gate_done, gate_ended, signalled;
	bool unsaid;    /* what came of it did not arrive */
	uint64_t go_ms; /* 0: it did not start */
	uint64_t duration_ms;
	struct sandbox_outcome outcome;
	char said[SANDBOX_CODE_MAX];              /* the gate's judgement */
	char why[512];                            /* its sentence */
	char code[SANDBOX_CODE_MAX], detail[512]; /* first fault of ours */
};

static const char *
pack_run_state_text(enum pack_run_state state)
{
	static const char *const texts[] = {
	    "ledger", "open", "closing", "ended"};

	return texts[state];
}

static void
pack_run_enter(struct pack_run *run, enum pack_run_state state, const char *why)
{
	log_event(LOG_INFO_LEVEL, "pack_run_state",
	    LOG_TEXT("from", pack_run_state_text(run->state)),
	    LOG_TEXT("to", pack_run_state_text(state)), LOG_TEXT("why", why));
	run->state = state;
}

static void
pack_run_fault(struct pack_run *run, const char *code, const char *detail)
{
	if (run->code[0] != '\0')
		return;
	(void)snprintf(run->code, sizeof(run->code), "%s", code);
	(void)snprintf(run->detail, sizeof(run->detail), "%s", detail);
}

/* The one way to an end: code "" is in order. */
static void
pack_run_close(struct pack_run *run, const char *code, const char *detail)
{
	if (code[0] != '\0')
		pack_run_fault(run, code, detail);
	if (run->state == PACK_RUN_OPEN || run->state == PACK_RUN_LEDGER)
		pack_run_enter(
		    run, PACK_RUN_CLOSING, code[0] != '\0' ? code : detail);
	if (run->place != NULL && !run->sandbox_ended)
		work_place_stop(run->place, code, detail);
	event_active(run->later, EV_TIMEOUT, 0);
}

/* --- the end ------------------------------------------------------------ */

/* That the call was made is on record. */
static void
pack_run_on_desk(void *context)
{
	struct pack_run *run = context;

	event_active(run->later, EV_TIMEOUT, 0);
}

/* From the loop, nothing of a part on the stack. */
static void
pack_run_on_later(evutil_socket_t fd, short what, void *context)
{
	struct timeval limit = event_loop_timeval(PACK_RUN_CLOSE_MS);
	struct pack_run *run = context;
	bool gate_lives =
	    run->gate != NULL && !run->gate_done && !run->gate_ended;

	(void)fd;
	(void)what;
	if (run->place != NULL && !run->sandbox_ended)
		return;
	/* Its copies of the pipes go with it: the gate sees their end. */
	work_place_free(&run->place);
	if (gate_lives && !run->gate_told) {
		run->gate_told = true;
		gate_part_took(run->gate, run->duration_ms);
		gate_part_workload_ended(run->gate, &run->outcome);
	}
	if (gate_lives) {
		(void)event_add(run->limit, &limit);
		return;
	}
	if (run->desk != NULL && !guard_desk_is_finished(run->desk)) {
		guard_desk_finish(run->desk, pack_run_on_desk, run);
		return;
	}
	if (run->state != PACK_RUN_ENDED) {
		pack_run_enter(run, PACK_RUN_ENDED, "all parts ended");
		event_loop_stop(run->base);
	}
}

/* Who reads a result may take his time until a signal comes. */
static void
pack_run_on_limit(evutil_socket_t fd, short what, void *context)
{
	struct pack_run *run = context;

	(void)fd;
	(void)what;
	if (run->signalled && !run->gate_done) {
		run->gate_ended = true;
		pack_run_fault(run, "close_timeout",
		    "what was to be said was not taken in time");
	}
	event_active(run->later, EV_TIMEOUT, 0);
}

static void
pack_run_on_go(void *context)
{
	struct pack_run *run = context;

	run->go_ms = event_loop_now_ms();
}

static void
pack_run_on_sandbox_end(const struct sandbox_outcome *outcome, void *context)
{
	struct pack_run *run = context;

	run->sandbox_ended = true;
	run->outcome = *outcome;
	if (run->go_ms != 0)
		run->duration_ms = event_loop_now_ms() - run->go_ms;
	pack_run_close(run, "", "the sandbox ended");
}

static void
pack_run_on_gate_done(const struct gate_part_said *said, void *context)
{
	struct pack_run *run = context;
	const json_t *code = json_object_get(said->result, "code");
	char detail[sizeof(run->detail)];
	const char *fault = gate_part_fault(said, detail, sizeof(detail));

	run->gate_done = true;
	(void)snprintf(run->said, sizeof(run->said), "gate_died");
	if (json_is_string(code))
		log_clean(json_string_value(code), json_string_length(code),
		    run->said, sizeof(run->said));
	(void)snprintf(run->why, sizeof(run->why), "%s", said->detail);
	run->unsaid = fault[0] != '\0';
	pack_run_close(run, fault, run->unsaid ? detail : "the gate is done");
}

static void
pack_run_on_gate_end(const char *detail, void *context)
{
	struct pack_run *run = context;

	run->gate_ended = true;
	if (run->gate_done)
		pack_run_close(run, "", "the gate ended");
	else
		pack_run_close(run, "gate_died", detail);
}

/* The gate does not wait for the end to say that there is too much. */
static void
pack_run_on_decision(const json_t *decision, void *context)
{
	const char *code = json_string_value(json_object_get(decision, "code"));

	if (code != NULL && strcmp(code, "result_too_long") == 0)
		pack_run_close(context, "result_too_long",
		    "the tool's result is longer than packs.result_max");
}

static void
pack_run_on_ledger_end(enum result result, const char *detail, void *context)
{
	(void)result;
	pack_run_close(context, "audit_failed", detail);
}

static void
pack_run_on_signal(evutil_socket_t number, short what, void *context)
{
	struct pack_run *run = context;

	(void)number;
	(void)what;
	run->signalled = true;
	/* What has ended by itself is not what the signal ended. */
	pack_run_close(run, run->state == PACK_RUN_CLOSING ? "" : "stopped",
	    "a signal came");
}

static void
pack_run_on_over(void *context, const char *code, const char *detail)
{
	pack_run_close(context, code, detail);
}

/* --- the start ---------------------------------------------------------- */

static enum result
pack_run_start_term(struct pack_run *run)
{
	enum result result = run_term_new(run->base, &run->plan.run,
	    run->options->consent_once ? 0 : run->plan.secret.until,
	    pack_run_on_over, run, &run->term);

	if (result == RESULT_OK)
		result = run_term_watch(run->term, &run->plan.run.fault);
	return result;
}

static enum result
pack_run_start_sandbox(struct pack_run *run)
{
	static const struct work_place_handlers handlers = {
	    .on_go = pack_run_on_go, .on_end = pack_run_on_sandbox_end};
	struct sandbox_spec *spec = &run->plan.spec;
	const struct work_place_spec place = {&run->plan.run, spec};
	enum result result;

	spec->stdin_fd = run->streams.work_in[0];
	spec->stdout_fd = run->streams.work_out[1];
	spec->stderr_fd = run->streams.work_err[1];
	result = work_place_start(
	    run->base, run->audit, &place, &handlers, run, &run->place);
	run_secret_clear(&run->plan.secret); /* the place has its own */
	mcp_streams_close_work(&run->streams);
	return result;
}

static void
pack_run_on_gate_ready(void *context)
{
	struct pack_run *run = context;
	int fd = run->plan.request_fd;
	uint64_t id;

	run->plan.request_fd = -1;
	/* A failed send ends the gate, and its end is heard. */
	(void)gate_part_work(run->gate, false, NULL, NULL, fd, &id);
}

static enum result
pack_run_start_gate(struct pack_run *run)
{
	static const struct gate_part_handlers handlers = {
	    .on_done = pack_run_on_gate_done,
	    .on_end = pack_run_on_gate_end,
	    .on_ready = pack_run_on_gate_ready,
	    .on_decision = pack_run_on_decision};
	struct mcp_streams *streams = &run->streams;
	const struct gate_part_stream rows[] = {
	    {"client_out", &streams->client_out},
	    {"client_err", &streams->client_err},
	    {"work_in", &streams->work_in[1]},
	    {"work_out", &streams->work_out[0]},
	    {"work_err", &streams->work_err[0]},
	};
	json_t *options = pack_run_plan_gate(&run->plan, run->options->json);
	int log_fd FD_CLEANUP = -1;

	if (options == NULL)
		return RESULT_NO_MEMORY;
	if (log_files_open(run->plan.run.home, "agentnode-gate", &log_fd,
		&run->plan.run.fault) != RESULT_OK) {
		json_decref(options);
		return RESULT_SYSTEM;
	}
	return gate_part_start(run->base, work_place_id(run->place), options,
	    log_fd, rows, sizeof(rows) / sizeof(rows[0]), &handlers, run,
	    &run->gate);
}

static void
pack_run_start(struct pack_run *run)
{
	pack_run_enter(run, PACK_RUN_OPEN, "the call is counted");
	if (pack_run_start_term(run) != RESULT_OK)
		pack_run_close(run, "policy_unavailable",
		    "the configuration cannot be watched");
	else if (pack_run_start_sandbox(run) != RESULT_OK)
		pack_run_close(run, "internal", "out of memory");
	else if (work_place_id(run->place)[0] == '\0')
		return; /* there is no plan: its end says why, and comes soon */
	else if (pack_run_start_gate(run) != RESULT_OK)
		pack_run_close(
		    run, "gate_died", "agentnode-gate does not start");
}

static void
pack_run_on_guarded(
    uint64_t id, const char *code, const char *detail, void *context)
{
	struct pack_run *run = context;

	(void)id;
	if (run->state != PACK_RUN_LEDGER)
		return;
	if (code[0] != '\0')
		pack_run_close(run, code, detail);
	else
		pack_run_start(run);
}

/* The rules were asked before; here the call is counted. */
static enum result
pack_run_guard(struct pack_run *run)
{
	const char *slug = run->plan.run.slug;
	const struct guard_desk_spec spec = {.kind = "run",
	    .package = slug,
	    .run = "",
	    .rates = guard_make_rates(run->plan.run.config, slug, false)};
	const struct guard_desk_ask ask = {.id = 1,
	    .tool = run->plan.function.name,
	    .code = "",
	    .actions = "",
	    .detail = "",
	    .count = 1};
	enum result result = guard_desk_new(run->audit, &spec, &run->desk);

	if (result != RESULT_OK)
		return result;
	guard_desk_on_answer(run->desk, pack_run_on_guarded, run);
	guard_desk_ask(run->desk, &ask);
	return RESULT_OK;
}

static void
pack_run_on_ledger(enum result result, const char *detail, void *context)
{
	struct pack_run *run = context;

	if (run->state != PACK_RUN_LEDGER)
		return;
	if (result != RESULT_OK) {
		pack_run_close(run, "audit_failed", detail);
		return;
	}
	if (pack_run_guard(run) != RESULT_OK)
		pack_run_close(run, "internal", "out of memory");
}

static enum result
pack_run_events(struct pack_run *run)
{
	enum result result = event_loop_new(&run->base);

	if (result != RESULT_OK)
		return result;
	run->later = event_new(run->base, -1, 0, pack_run_on_later, run);
	run->limit = event_new(run->base, -1, 0, pack_run_on_limit, run);
	if (run->later == NULL || run->limit == NULL)
		return RESULT_NO_MEMORY;
	return end_signals_new(
	    &run->signals, run->base, pack_run_on_signal, run);
}

static bool
pack_run_decide(struct pack_run *run)
{
	struct run_entry *entry = &run->plan.run;

	if (pack_run_plan_make(run->options, &run->plan) == RESULT_OK) {
		if (run->plan.network_denied)
			(void)command_error(COMMAND_DONE,
			    "%s asks for an unrestricted network and has none: "
			    "packs.unrestricted_network does not name it",
			    run->options->slug);
		return true;
	}
	if (entry->home[0] != '\0' && refusal_record_is_decision(entry->code))
		mcp_run_refused_record(entry->home, "toolpack",
		    run->options->slug, entry->code, entry->fault.text);
	pack_run_fault(run, entry->code, entry->fault.text);
	return false;
}

/* All that can fail before something is started. */
static bool
pack_run_prepare(struct pack_run *run)
{
	struct json_fault fault = {""};

	if (!pack_run_decide(run))
		return false;
	if (pack_run_events(run) != RESULT_OK ||
	    mcp_streams_open(&run->streams, false, run->options->verbose) !=
		RESULT_OK) {
		pack_run_fault(
		    run, "internal", "standard output cannot be used");
		return false;
	}
	if (audit_start(run->base, run->plan.run.home, pack_run_on_ledger, run,
		&run->audit, &fault) != RESULT_OK) {
		pack_run_fault(run, "audit_failed", fault.text);
		return false;
	}
	audit_on_end(run->audit, pack_run_on_ledger_end, run);
	return true;
}

static void
pack_run_clear(struct pack_run *run)
{
	run_term_free(&run->term);
	gate_part_free(&run->gate);
	work_place_free(&run->place);
	guard_desk_free(&run->desk);
	audit_free(&run->audit);
	mcp_streams_close(&run->streams);
	end_signals_free(&run->signals);
	if (run->later != NULL)
		event_free(run->later);
	if (run->limit != NULL)
		event_free(run->limit);
	if (run->base != NULL)
		event_base_free(run->base);
	pack_run_plan_clear(&run->plan);
	log_flush();
}

/* --- the exit code ------------------------------------------------------ */

/* The report that the gate did not write: nothing came, or the gate died. */
static void
pack_run_report(const struct pack_run *run)
{
	json_t *report = json_pack(
	    "{s:b, s:{s:s, s:s, s:s}, s:i, s:I, s:I, s:b, s:s}", "ok", 0,
	    "error", "code", run->code, "type", "", "message", run->detail,
	    "exit", -1, "duration_ms", (json_int_t)run->duration_ms,
	    "peak_memory", (json_int_t)run->outcome.peak_memory, "truncated", 0,
	    "place", work_place_name(&run->plan.run));

	if (report != NULL && run->plan.run.on_host)
		(void)json_object_set_new(
		    report, "boundary", json_string(HOST_RUN_WORDS));
	if (report != NULL)
		(void)command_print_json(report);
	json_decref(report);
}

static int
pack_run_code(struct pack_run *run)
{
	const struct sandbox_outcome *outcome = &run->outcome;
	bool killed;

	if (run->gate_done && run->said[0] == '\0' && run->code[0] == '\0')
		return COMMAND_DONE;
	if (run->code[0] == '\0' && run->gate_done)
		pack_run_fault(run, run->said, run->why);
	if (run->code[0] == '\0' && outcome->code[0] != '\0')
		pack_run_fault(run, outcome->code, outcome->detail);
	if (run->code[0] == '\0')
		pack_run_fault(
		    run, "stopped", "it was ended before it started");
	if (run->options->json && !run->gate_done)
		pack_run_report(run);
	if (!run->options->json || !outcome->started || run->unsaid)
		(void)command_error(
		    COMMAND_NO, "%s: %s", run->code, run->detail);
	if (run->unsaid)
		return COMMAND_INTERNAL;
	if (!outcome->started)
		return COMMAND_NOT_STARTED;
	killed = outcome->code[0] != '\0' || outcome->signal == SIGKILL;
	return killed ? 128 + SIGKILL : COMMAND_NO;
}

/* What it took, for who watches. */
static void
pack_run_figures(const struct pack_run *run)
{
	if (run->options->verbose && run->outcome.started)
		(void)command_error(COMMAND_DONE,
		    "%s/%s: %llu ms, %llu KiB of memory at most",
		    run->plan.run.slug, run->plan.function.name,
		    (unsigned long long)run->duration_ms,
		    (unsigned long long)run->outcome.peak_memory / 1024);
}

int
pack_run(const struct pack_run_plan_options *options)
{
	struct pack_run run;
	int code;

	memset(&run, 0, sizeof(run));
	run.options = options;
	run.outcome.exit_code = -1;
	run.plan.request_fd = -1;
	mcp_streams_init(&run.streams);
	if (pack_run_prepare(&run)) {
		run_log_open(&run.log, run.base, &run.plan.run);
		if (event_loop_run(run.base) != RESULT_OK)
			pack_run_fault(&run, "internal", "the loop gave up");
	}
	code = pack_run_code(&run);
	pack_run_figures(&run);
	run_log_close(&run.log);
	pack_run_clear(&run);
	return code;
}
