/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted world of one command (see the header): every part that
 * exec_run starts, as words in a trace.
 */
#include "tests/machine/exec_script.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <event2/event.h>

#include "common/event_loop.h"
#include "supervisor/command/command.h"
#include "supervisor/command/exec_ask.h"
#include "supervisor/command/exec_run.h"
#include "supervisor/command/mcp_run_refused.h"
#include "supervisor/command/run_log.h"
#include "supervisor/engine/native_launcher.h"
#include "supervisor/exec/exec_collect.h"
#include "supervisor/exec/exec_print.h"
#include "supervisor/exec/exec_turn.h"
#include "supervisor/policy/audit.h"

#define EXEC_SCRIPT_PART(name) \
	struct name {          \
		int unused;    \
	}
EXEC_SCRIPT_PART(audit);
EXEC_SCRIPT_PART(native_launcher);
EXEC_SCRIPT_PART(sandbox);
EXEC_SCRIPT_PART(host_run);
EXEC_SCRIPT_PART(exec_collect);

/* The one world at a time. */
static struct {
	struct exec_script *script;
	struct event_base *base;
	struct event *next;
	size_t at;
	bool stopped;
	uint64_t now_ms;
	audit_done *ready, *ended;
	void *ready_context, *ended_context;
	const struct sandbox_handlers *handlers;
	const struct host_run_handlers *host_handlers;
	void *context;
	exec_collect_done *collected;
	void *collect_context;
	struct native_view view;
	struct audit audit;
	struct native_launcher launcher;
	struct sandbox sandbox;
	struct host_run host;
	struct exec_collect collect;
	struct exec_collect_ends ends;
} exec_script_world;

static void
exec_script_note(const char *what, const char *more)
{
	char *trace = exec_script_world.script->trace;
	size_t size = sizeof(exec_script_world.script->trace);
	size_t len = strlen(trace);

	(void)snprintf(
	    trace + len, size - len, "%s%s%s", len > 0 ? " " : "", what, more);
}

/* --- the clock ---------------------------------------------------------- */

uint64_t __wrap_event_loop_now_ms(void);
struct timeval __wrap_event_loop_timeval(unsigned ms);

uint64_t
__wrap_event_loop_now_ms(void)
{
	return exec_script_world.now_ms;
}

struct timeval
__wrap_event_loop_timeval(unsigned ms)
{
	struct timeval time = {.tv_sec = 3600};

	assert_true(ms > 0);
	if (exec_script_world.script->short_waits)
		time = (struct timeval){.tv_usec = 1};
	return time;
}

/* --- what happens ------------------------------------------------------- */

static void
exec_script_end(void)
{
	struct sandbox_outcome outcome = {.removed = true};

	outcome.started = !exec_script_world.script->not_started;
	exec_script_note("END", "");
	if (exec_script_world.host_handlers != NULL)
		exec_script_world.host_handlers->on_end(&exec_script_world.host,
		    &outcome, exec_script_world.context);
	else
		exec_script_world.handlers->on_end(&exec_script_world.sandbox,
		    &outcome, exec_script_world.context);
}

static void
exec_script_go(void)
{
	exec_script_note("GO", "");
	if (exec_script_world.host_handlers != NULL)
		exec_script_world.host_handlers->on_go(
		    &exec_script_world.host, exec_script_world.context);
	else
		exec_script_world.handlers->on_go(
		    &exec_script_world.sandbox, exec_script_world.context);
}

static void
exec_script_collected(bool good)
{
	json_t *answer =
	    good ? json_pack("{s:b, s:s}", "complete", true, "fault", "")
		 : NULL;

	exec_script_note(good ? "COLLECTED" : "COLLECT_FAILED", "");
	exec_script_world.collected(
	    answer, good ? "" : "it died", exec_script_world.collect_context);
	json_decref(answer);
}

static void
exec_script_happens(enum exec_script_step step)
{
	switch (step) {
	case EXEC_SCRIPT_LEDGER_READY:
		exec_script_world.ready(
		    RESULT_OK, "", exec_script_world.ready_context);
		break;
	case EXEC_SCRIPT_LEDGER_FAILED:
		exec_script_world.ready(RESULT_SYSTEM, "it is broken",
		    exec_script_world.ready_context);
		break;
	case EXEC_SCRIPT_LEDGER_ENDED:
		exec_script_world.ended(
		    RESULT_CLOSED, "it died", exec_script_world.ended_context);
		break;
	case EXEC_SCRIPT_GO:
		exec_script_go();
		break;
	case EXEC_SCRIPT_EXIT:
		exec_script_note("EXIT", "");
		exec_script_world.handlers->on_exit(
		    &exec_script_world.sandbox, exec_script_world.context);
		break;
	case EXEC_SCRIPT_END:
		exec_script_end();
		break;
	case EXEC_SCRIPT_COLLECTED:
	case EXEC_SCRIPT_COLLECT_FAILED:
		exec_script_collected(step == EXEC_SCRIPT_COLLECTED);
		break;
	case EXEC_SCRIPT_SIGNAL:
		assert_int_equal(raise(SIGTERM), 0);
		break;
	case EXEC_SCRIPT_LATER:
		exec_script_world.now_ms += 750;
		break;
	case EXEC_SCRIPT_A_STOP:
	case EXEC_SCRIPT_OVER:
		break;
	}
}

static void
exec_script_on_next(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval soon = {.tv_usec = 1000};
	enum exec_script_step step =
	    exec_script_world.script->steps[exec_script_world.at];

	(void)fd;
	(void)what;
	(void)context;
	if (step == EXEC_SCRIPT_OVER)
		return;
	if (step != EXEC_SCRIPT_A_STOP || exec_script_world.stopped)
		exec_script_world.at++;
	assert_int_equal(event_add(exec_script_world.next, &soon), 0);
	exec_script_happens(step);
}

/* --- the parts ---------------------------------------------------------- */

enum result
exec_plan_begin(struct exec_request *request, struct exec_plan *plan_r)
{
	const struct exec_script *script = exec_script_world.script;

	memset(plan_r, 0, sizeof(*plan_r));
	exec_script_note("config", "");
	plan_r->timeout_ms =
	    script->timeout_ms != 0 ? script->timeout_ms : 3600000U;
	plan_r->policy.results = -1;
	plan_r->policy.is = request->boundary == EXEC_POLICY;
	if (!script->no_config)
		return RESULT_OK;
	(void)snprintf(
	    plan_r->run.code, sizeof(plan_r->run.code), "bad_config");
	return RESULT_REFUSED;
}

enum result
exec_plan_finish(struct exec_request *request, struct exec_plan *plan)
{
	exec_script_note("plan", "");
	if (request->boundary == EXEC_NATIVE)
		plan->native.view = &exec_script_world.view;
	if (!exec_script_world.script->no_plan)
		return RESULT_OK;
	(void)snprintf(plan->run.code, sizeof(plan->run.code), "view_refused");
	return RESULT_REFUSED;
}

void
exec_plan_clear(struct exec_plan *plan)
{
	plan->native.view = NULL;
	exec_script_note("clear", "");
}

struct init_results_bound
exec_plan_bound(const struct exec_plan *plan)
{
	(void)plan;
	return (struct init_results_bound){0, 0, 0};
}

void
exec_plan_trees(struct exec_plan *plan, int results_fd)
{
	(void)plan;
	(void)results_fd;
}

enum result
exec_policy_results(
    struct exec_policy *policy, const struct init_results_bound *most)
{
	(void)policy;
	(void)most;
	exec_script_note("results", "");
	return RESULT_OK;
}

int
exec_turn_take(exec_turn_wanted *wanted, void *context)
{
	exec_script_note("turn", "");
	assert_true(wanted(context));
	if (exec_script_world.script->no_turn)
		assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(wanted(context), !exec_script_world.script->no_turn);
	return -1;
}

void
run_log_open(
    struct run_log *log, struct event_base *base, const struct run_entry *run)
{
	(void)log;
	(void)base;
	(void)run;
}

void
run_log_close(struct run_log *log)
{
	(void)log;
}

void
mcp_run_refused_record(const char *home, const char *kind, const char *slug,
    const char *code, const char *detail)
{
	(void)home;
	(void)kind;
	(void)slug;
	(void)code;
	(void)detail;
	exec_script_note("refused", "");
}

enum result
exec_collect_open(struct exec_collect **collect_r)
{
	exec_script_world.ends = (struct exec_collect_ends){-1, -1, -1};
	*collect_r = &exec_script_world.collect;
	return RESULT_OK;
}

static enum result
exec_script_reader(const char *how, exec_collect_done *done, void *context)
{
	exec_script_note(how, "");
	exec_script_world.collected = done;
	exec_script_world.collect_context = context;
	return exec_script_world.script->no_reader ? RESULT_SYSTEM : RESULT_OK;
}

enum result
exec_collect_start(struct exec_collect *collect, struct event_base *base,
    const struct exec_plan *plan, exec_collect_done *done, void *context)
{
	(void)collect;
	(void)base;
	(void)plan;
	return exec_script_reader("read", done, context);
}

enum result
exec_collect_watch(struct exec_collect *collect, struct event_base *base,
    const struct exec_plan *plan, exec_collect_done *done, void *context)
{
	(void)collect;
	(void)base;
	(void)plan;
	return exec_script_reader("watch", done, context);
}

void
exec_collect_finish(struct exec_collect *collect)
{
	(void)collect;
	exec_script_note("finish", "");
}

const struct exec_collect_ends *
exec_collect_ends(const struct exec_collect *collect)
{
	(void)collect;
	return &exec_script_world.ends;
}

void
exec_collect_given(struct exec_collect *collect)
{
	(void)collect;
}

void
exec_collect_free(struct exec_collect **collect)
{
	*collect = NULL;
}

enum result
audit_new(struct event_base *base, audit_done *ready, void *context,
    struct audit **audit_r)
{
	static const struct timeval soon = {.tv_usec = 1000};

	exec_script_world.base = base;
	exec_script_world.ready = ready;
	exec_script_world.ready_context = context;
	exec_script_world.next =
	    event_new(base, -1, 0, exec_script_on_next, NULL);
	assert_non_null(exec_script_world.next);
	assert_int_equal(event_add(exec_script_world.next, &soon), 0);
	*audit_r = &exec_script_world.audit;
	return RESULT_OK;
}

enum result
audit_begin(struct audit *audit, const char *home, struct json_fault *fault)
{
	(void)audit;
	(void)home;
	json_field_fault(fault, "agentnode-ledger does not start");
	exec_script_note("ledger", "");
	return exec_script_world.script->no_begin ? RESULT_SYSTEM : RESULT_OK;
}

void
audit_on_end(struct audit *audit, audit_done *ended, void *context)
{
	(void)audit;
	exec_script_world.ended = ended;
	exec_script_world.ended_context = context;
}

void
audit_over(struct audit *audit)
{
	(void)audit;
	exec_script_note("over", "");
}

void
audit_free(struct audit **audit)
{
	if (*audit != NULL)
		event_free(exec_script_world.next);
	*audit = NULL;
}

enum result
native_launcher_start(
    struct event_base *base, struct native_launcher **launcher_r)
{
	assert_non_null(base);
	if (exec_script_world.script->no_launcher)
		return RESULT_NOT_FOUND;
	exec_script_note("launcher", "");
	*launcher_r = &exec_script_world.launcher;
	return RESULT_OK;
}

void
native_launcher_free(struct native_launcher **launcher)
{
	if (*launcher != NULL)
		exec_script_note("dismissed", "");
	*launcher = NULL;
}

enum result
sandbox_start(struct event_base *base, const struct config *config,
    struct audit *audit, const struct sandbox_spec *spec,
    const struct sandbox_handlers *handlers, void *context,
    struct sandbox **sandbox_r)
{
	(void)base;
	(void)config;
	(void)audit;
	exec_script_note("start", "");
	exec_script_world.handlers = handlers;
	exec_script_world.context = context;
	if (exec_script_world.script->no_start)
		return RESULT_NO_MEMORY;
	*spec->launcher = NULL;
	*sandbox_r = &exec_script_world.sandbox;
	return RESULT_OK;
}

void
sandbox_ledger(struct sandbox *sandbox, bool ready, const char *detail)
{
	(void)sandbox;
	(void)detail;
	exec_script_note(ready ? "recorded" : "unrecorded", "");
}

void
sandbox_stop(struct sandbox *sandbox, const char *code, const char *detail)
{
	(void)sandbox;
	(void)detail;
	exec_script_world.stopped = true;
	exec_script_note("stop:", code);
}

const char *
sandbox_id(const struct sandbox *sandbox)
{
	(void)sandbox;
	return "0123456789abcdef";
}

void
sandbox_free(struct sandbox **sandbox)
{
	if (*sandbox != NULL)
		exec_script_note("free", "");
	*sandbox = NULL;
}

enum result
host_run_start(struct event_base *base, const struct config *config,
    struct audit *audit, const struct host_spec *spec,
    const struct host_run_handlers *handlers, void *context,
    struct host_run **run_r)
{
	(void)base;
	(void)config;
	(void)audit;
	(void)spec;
	exec_script_note("host", "");
	exec_script_world.host_handlers = handlers;
	exec_script_world.context = context;
	*run_r = &exec_script_world.host;
	return RESULT_OK;
}

void
host_run_stop(struct host_run *run, const char *code, const char *detail)
{
	(void)run;
	(void)detail;
	exec_script_world.stopped = true;
	exec_script_note("stop:", code);
}

const char *
host_run_id(const struct host_run *run)
{
	(void)run;
	return "fedcba9876543210";
}

void
host_run_free(struct host_run **run)
{
	if (*run != NULL)
		exec_script_note("free", "");
	*run = NULL;
}

bool
exec_ask_is_due(const struct exec_ask *ask)
{
	(void)ask;
	return exec_script_world.script->again;
}

const char *
exec_ask(const struct exec_ask *ask, bool *again_r, const char **detail_r)
{
	(void)ask;
	*detail_r = "";
	*again_r = true;
	exec_script_note("ASKED", "");
	exec_script_world.script->again = false;
	exec_script_world.at = 0;
	return "";
}

void
exec_print(const json_t *result, FILE *out, FILE *err)
{
	(void)result;
	(void)out;
	(void)err;
	fail_msg("the result is asked for as JSON");
}

int
command_print_json(const json_t *value)
{
	exec_script_note("said", "");
	exec_script_world.script->result =
	    json_incref((json_t *)(uintptr_t)value);
	return COMMAND_DONE;
}

int
command_error(int code, const char *format, ...)
{
	(void)format;
	exec_script_note("error", "");
	return code;
}

/* ------------------------------------------------------------------------ */

void
exec_script_run(struct exec_script *script)
{
	static const char *const words[] = {"true", NULL};
	struct exec_request *request = calloc(1, sizeof(*request));

	assert_non_null(request);
	memset(&exec_script_world, 0, sizeof(exec_script_world));
	exec_script_world.script = script;
	exec_script_world.now_ms = 1000;
	request->boundary = script->boundary;
	request->json = true;
	request->argv = words;
	script->code = exec_run(request);
	assert_int_equal(script->steps[exec_script_world.at], EXEC_SCRIPT_OVER);
	free(request);
}

void
exec_script_close(struct exec_script *script)
{
	json_decref(script->result);
	script->result = NULL;
}
