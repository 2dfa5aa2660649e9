/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one sandbox: its states in order, the only function that
 * changes them, the only way to a bad end. What each state does is in
 * sandbox_steps.c; what was decided before is in sandbox_plan.c. Called by
 * everything that runs foreign code; must never reach GO with a check
 * outstanding, nor END with something alive.
 */
#include "supervisor/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/engine/docker_look.h"
#include "supervisor/engine/engine.h"
#include "supervisor/policy/config.h"
#include "supervisor/sandbox_state.h"

/* A state, how long it may last, and what it means when it lasts longer. */
static const struct {
	enum sandbox_state state;
	const char *name;
	unsigned limit_ms; /* 0: as long as it takes */
	const char *code, *detail;
} sandbox_table[] = {
    {SANDBOX_NEW, "new", 0, "", ""},
    {SANDBOX_AUDIT, "audit", 10000, "audit_failed",
	"the launch record was not written within 10 s"},
    {SANDBOX_HELLO, "hello", 60000, "engine_timeout",
	"the engine did not start the container within 60 s"},
    {SANDBOX_LISTENERS, "listeners", 10000, "init_timeout",
	"the container's init did not report within 10 s"},
    {SANDBOX_CHECKS, "checks", 300000, "checks_timeout",
	"proxy and volume checks did not finish within 300 s"},
    {SANDBOX_IMPORT, "import", 300000, "import_timeout",
	"files were not copied in within 300 s"},
    {SANDBOX_RUNNING, "running", 0, "", ""},
    {SANDBOX_EXPORT, "export", 300000, "export_timeout",
	"files were not copied out within 300 s"},
    {SANDBOX_BYE, "bye", 5000, "", ""},
    {SANDBOX_KILL, "kill", 0, "", ""}, /* container_end has its own */
    {SANDBOX_CLIENT, "client", 3000, "", ""},
    {SANDBOX_REMOVE, "remove", 0, "", ""},
    {SANDBOX_RECORD, "record", 10000, "", ""},
    {SANDBOX_END, "end", 0, "", ""},
};

/* The client of a monitor that died waits in vain: it gets no time out of
 * the five seconds in which the engine's record must be gone. */
#define SANDBOX_ORPHAN_MS 300U

static unsigned
sandbox_limit(const struct sandbox *sandbox)
{
	bool orphan = sandbox->state == SANDBOX_CLIENT &&
		      sandbox->monitor != NULL &&
		      !process_watch_alive(sandbox->monitor);

	return orphan ? SANDBOX_ORPHAN_MS
		      : sandbox_table[sandbox->state].limit_ms;
}

static void
sandbox_arm(struct sandbox *sandbox)
{
	unsigned ms = sandbox_limit(sandbox);
	struct timeval limit = event_loop_timeval(ms);

	(void)event_del(sandbox->deadline);
	if (ms > 0)
		(void)event_add(sandbox->deadline, &limit);
}

/* The steps of a start that are states. */
static void
sandbox_tick(struct sandbox *sandbox, enum sandbox_state state)
{
	static const struct {
		enum sandbox_state state;
		enum start_step ends, begins;
	} rows[] = {{SANDBOX_AUDIT, START_IMAGE, START_RECORD},
	    {SANDBOX_HELLO, START_IMAGE, START_ENGINE},
	    {SANDBOX_LISTENERS, START_ENGINE, START_WALLS},
	    {SANDBOX_CHECKS, START_WALLS, START_CHECKS},
	    {SANDBOX_IMPORT, START_CHECKS, START_FILES},
	    {SANDBOX_RUNNING, START_FILES, START_ANSWER}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].state != state)
			continue;
		start_clock_end(sandbox->clock, rows[i].ends);
		start_clock_begin(sandbox->clock, rows[i].begins);
	}
}

void
sandbox_enter(
    struct sandbox *sandbox, enum sandbox_state state, const char *why)
{
	log_event(LOG_INFO_LEVEL, "sandbox_state",
	    LOG_TEXT("from", sandbox_table[sandbox->state].name),
	    LOG_TEXT("to", sandbox_table[state].name), LOG_TEXT("why", why));
	sandbox->state = state;
	sandbox_tick(sandbox, state);
	sandbox_arm(sandbox);
	switch (state) {
	case SANDBOX_AUDIT:
		sandbox_steps_audit(sandbox);
		break;
	case SANDBOX_HELLO:
		sandbox_steps_start(sandbox);
		break;
	case SANDBOX_CHECKS:
		sandbox_steps_checks(sandbox);
		break;
	case SANDBOX_IMPORT:
	case SANDBOX_EXPORT:
		sandbox->next_tree = 0;
		sandbox_steps_tree(sandbox);
		break;
	case SANDBOX_RUNNING:
		sandbox_steps_go(sandbox);
		break;
	case SANDBOX_BYE:
		sandbox_steps_bye(sandbox);
		break;
	case SANDBOX_KILL:
		sandbox_steps_kill(sandbox);
		break;
	case SANDBOX_CLIENT:
		/* A launcher cleans up nothing. It was killed, and is waited
		 * for when the end is on its way to disk. */
		if (sandbox->client_ended ||
		    sandbox->plan.engine->client_is_launcher)
			sandbox_enter(
			    sandbox, SANDBOX_REMOVE, "its client ended");
		break;
	case SANDBOX_REMOVE:
		if (sandbox->plan.engine->remove(
			sandbox->end, sandbox->client_clean) != RESULT_OK)
			sandbox_enter(sandbox, SANDBOX_RECORD, "no removal");
		break;
	case SANDBOX_RECORD:
		sandbox_steps_record(sandbox);
		break;
	case SANDBOX_END:
		event_active(sandbox->later, EV_TIMEOUT, 0);
		break;
	case SANDBOX_NEW:
	case SANDBOX_LISTENERS:
		break;
	}
}

void
sandbox_close(struct sandbox *sandbox, const char *code, const char *detail)
{
	struct sandbox_outcome *outcome = &sandbox->outcome;

	if (outcome->code[0] == '\0' && sandbox->state < SANDBOX_REMOVE) {
		(void)snprintf(
		    outcome->code, sizeof(outcome->code), "%s", code);
		/* It may quote foreign bytes and may have been cut: a record
		 * takes nothing but whole characters. */
		log_clean(detail, strlen(detail), outcome->detail,
		    sizeof(outcome->detail));
		log_event(LOG_WARN_LEVEL, "sandbox_close",
		    LOG_TEXT("code", code), LOG_TEXT("detail", detail));
	}
	switch (sandbox->state) {
	case SANDBOX_NEW:
	case SANDBOX_AUDIT:
		sandbox_enter(sandbox, SANDBOX_RECORD, code);
		break;
	case SANDBOX_HELLO:
	case SANDBOX_LISTENERS:
	case SANDBOX_CHECKS:
	case SANDBOX_IMPORT:
	case SANDBOX_RUNNING:
	case SANDBOX_EXPORT:
	case SANDBOX_BYE:
		sandbox_enter(sandbox, SANDBOX_KILL, code);
		break;
	case SANDBOX_KILL:
	case SANDBOX_CLIENT:
	case SANDBOX_REMOVE:
	case SANDBOX_RECORD:
	case SANDBOX_END:
		break; /* on its way already */
	}
}

static void
sandbox_on_deadline(evutil_socket_t fd, short what, void *context)
{
	struct sandbox *sandbox = context;

	(void)fd;
	(void)what;
	if (sandbox->state == SANDBOX_BYE) /* it said how it ended already */
		sandbox_enter(sandbox, SANDBOX_KILL, "init did not exit");
	else if (sandbox->state == SANDBOX_CLIENT)
		engine_call_kill(sandbox->client); /* its end comes next */
	else if (sandbox->state == SANDBOX_RECORD)
		sandbox_enter(sandbox, SANDBOX_END, "no removal record");
	else
		sandbox_close(sandbox, sandbox_table[sandbox->state].code,
		    sandbox_table[sandbox->state].detail);
}

static void
sandbox_on_wall(evutil_socket_t fd, short what, void *context)
{
	struct sandbox *sandbox = context;

	(void)fd;
	(void)what;
	if (sandbox->stopping)
		sandbox_close(sandbox, "stopped",
		    "init did not end the workload, it was killed");
	else
		sandbox_close(sandbox, "timeout",
		    "the workload reached its time limit and was ended");
}

/* From the loop with nothing of a part on the stack: parts may be freed. */
static void
sandbox_on_later(evutil_socket_t fd, short what, void *context)
{
	struct sandbox *sandbox = context;

	(void)fd;
	(void)what;
	if (sandbox->volumes_good)
		volume_check_free(&sandbox->volumes);
	if (sandbox->state != SANDBOX_END || !sandbox->leftovers_gone ||
	    sandbox->ended)
		return;
	if (sandbox->handlers.on_decision != NULL &&
	    !egress_part_settled(sandbox->egress))
		return; /* comes again */
	sandbox->ended = true;
	sandbox->handlers.on_end(sandbox, &sandbox->outcome, sandbox->context);
}

static void
sandbox_on_ledger(enum result result, const char *detail, void *context)
{
	(void)result;
	sandbox_close(context, "audit_failed", detail);
}

static enum result
sandbox_events(struct sandbox *sandbox)
{
	sandbox->deadline =
	    event_new(sandbox->base, -1, 0, sandbox_on_deadline, sandbox);
	sandbox->wall =
	    event_new(sandbox->base, -1, 0, sandbox_on_wall, sandbox);
	sandbox->later =
	    event_new(sandbox->base, -1, 0, sandbox_on_later, sandbox);
	return sandbox->deadline == NULL || sandbox->wall == NULL ||
		       sandbox->later == NULL
		   ? RESULT_NO_MEMORY
		   : RESULT_OK;
}

/* A plan, then the launch record; without a plan the record of a refusal. */
static void
sandbox_begin(struct sandbox *sandbox, const struct config *config,
    const struct sandbox_spec *spec)
{
	struct sandbox_plan_fault fault;

	sandbox->clock = spec->clock;
	start_clock_begin(sandbox->clock, START_IMAGE);
	if (sandbox_plan_make(config, spec, &sandbox->plan, &fault) !=
	    RESULT_OK) {
		sandbox_close(sandbox, fault.code, fault.detail);
		return;
	}
	/* A plan may have taken long (an image was unpacked): what is timed
	 * from here on does not begin before it. */
	(void)event_base_update_cache_time(sandbox->base);
	/* Beside the sandbox of a run, those of its tools have no log. */
	if (strcmp(sandbox->plan.kind, "tool") != 0)
		log_set_sandbox(sandbox->plan.lock.id);
	audit_on_end(sandbox->audit, sandbox_on_ledger, sandbox);
	if (!sandbox->plan.engine->client_is_launcher) {
		sandbox_enter(sandbox, SANDBOX_AUDIT, "planned");
		return;
	}
	/* A launcher is ours as much as init is: it is started while the
	 * record is on its way to disk, and go waits for that. */
	if (!sandbox->ledger_waits)
		sandbox_steps_launch(sandbox);
	if (sandbox->state == SANDBOX_NEW)
		sandbox_enter(sandbox, SANDBOX_HELLO, "planned");
}

enum result
sandbox_start(struct event_base *base, const struct config *config,
    struct audit *audit, const struct sandbox_spec *spec,
    const struct sandbox_handlers *handlers, void *context,
    struct sandbox **sandbox_r)
{
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	*sandbox_r = NULL;
	if (sandbox == NULL)
		return RESULT_NO_MEMORY;
	sandbox->base = base;
	sandbox->audit = audit;
	sandbox->handlers = *handlers;
	sandbox->context = context;
	sandbox->outcome.exit_code = -1;
	sandbox->leftovers_gone = true; /* until they are looked for */
	sandbox->ledger_waits = spec->ledger_later;
	sandbox->launcher = spec->launcher;
	if (sandbox_events(sandbox) != RESULT_OK) {
		sandbox_free(&sandbox);
		return RESULT_NO_MEMORY;
	}
	*sandbox_r = sandbox;
	sandbox_begin(sandbox, config, spec);
	return RESULT_OK;
}

void
sandbox_stop(struct sandbox *sandbox, const char *code, const char *detail)
{
	/* In order: the workload is killed by init, trees come out. */
	if (code[0] == '\0' && sandbox->state == SANDBOX_RUNNING) {
		struct timeval soon = event_loop_timeval(2000);

		if (!sandbox->stopping &&
		    (event_add(sandbox->wall, &soon) != 0 ||
			wiring_send_kill(sandbox->wiring) != RESULT_OK))
			sandbox_close(sandbox, "stopped",
			    "init cannot be told to end the workload, it is "
			    "killed");
		sandbox->stopping = true;
		return;
	}
	if (code[0] == '\0' &&
	    (sandbox->state == SANDBOX_EXPORT || sandbox->state == SANDBOX_BYE))
		return; /* it ends in order already */
	sandbox_close(sandbox, code[0] != '\0' ? code : "stopped",
	    detail != NULL ? detail : "");
}

void
sandbox_ledger(struct sandbox *sandbox, bool ready, const char *detail)
{
	sandbox->ledger_waits = false;
	if (!ready)
		sandbox_close(sandbox, "audit_failed", detail);
	else if (sandbox->state == SANDBOX_AUDIT)
		sandbox_steps_audit(sandbox);
	else if (sandbox->end != NULL)
		sandbox_steps_launch(sandbox);
	if (sandbox->state == SANDBOX_RECORD)
		sandbox_steps_record(sandbox);
}

void
sandbox_port_ready(struct sandbox *sandbox, size_t index)
{
	sandbox->ports_ready |= 1U << index;
	sandbox_steps_ready(sandbox);
}

const char *
sandbox_id(const struct sandbox *sandbox)
{
	return sandbox->plan.lock.id;
}

void
sandbox_free(struct sandbox **sandbox)
{
	struct sandbox *gone = *sandbox;

	if (gone == NULL)
		return;
	*sandbox = NULL;
	egress_live_free(&gone->live);
	if (gone->audit != NULL) {
		audit_on_end(gone->audit, NULL, gone);
		audit_forget(gone->audit, gone);
	}
	wiring_free(&gone->wiring);
	egress_part_free(&gone->egress);
	docker_look_free(&gone->look);
	volume_check_free(&gone->volumes);
	container_end_free(&gone->end);
	engine_gc_free(&gone->leftovers);
	engine_call_free(&gone->client);
	process_watch_free(&gone->monitor);
	process_watch_free(&gone->init);
	if (gone->deadline != NULL)
		event_free(gone->deadline);
	if (gone->wall != NULL)
		event_free(gone->wall);
	if (gone->later != NULL)
		event_free(gone->later);
	sandbox_plan_clear(&gone->plan);
	free(gone);
}
