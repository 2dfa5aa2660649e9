/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one run on the host: agentnode-host is started and hears
 * the limits, what it is to run is hashed, the launch is recorded, then it
 * may start the command; at the end nothing of the tree lives. Called by
 * what runs packages of a tier for the host and by exec. It must never say
 * GO before the record is synced, nor END while something may live.
 */
#include "supervisor/host/host_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/host/host_run_state.h"
#include "supervisor/policy/config.h"

/* A state, how long it may last, what it means when it lasts longer. */
static const struct {
	const char *name;
	unsigned limit_ms;
	const char *code, *detail;
} host_run_table[] = {
    [HOST_RUN_NEW] = {"new", 0, "", ""},
    [HOST_RUN_HELLO] = {"hello", 300000, "checks_timeout",
	"agentnode-host and the check of the files did not finish in 300 s"},
    [HOST_RUN_AUDIT] = {"audit", 10000, "audit_failed",
	"the launch record was not written within 10 s"},
    [HOST_RUN_RUNNING] = {"running", 0, "timeout",
	"the workload reached its time limit and was ended"},
    [HOST_RUN_STOP] = {"stop", 7000, "stopped", "agentnode-host was killed"},
    [HOST_RUN_KILL] = {"kill", 7000, "", ""},
    [HOST_RUN_SWEEP] = {"sweep", HOST_RUN_SWEEP_MS, "", ""},
    [HOST_RUN_RECORD] = {"record", 10000, "", ""},
    [HOST_RUN_END] = {"end", 0, "", ""},
};

static void
host_run_arm(struct host_run *run)
{
	uint64_t ms = host_run_table[run->state].limit_ms;
	struct timeval limit;

	/* agentnode-host has the clock; this is for one that was stopped. */
	if (run->state == HOST_RUN_RUNNING && run->plan.setup.wall_s > 0)
		ms = 1000ULL * run->plan.setup.wall_s + 7000;
	limit = event_loop_timeval(ms);
	(void)event_del(run->deadline);
	if (ms > 0)
		(void)event_add(run->deadline, &limit);
}

/* The first code stays. */
void
host_run_fault(struct host_run *run, const char *code, const char *detail)
{
	struct sandbox_outcome *outcome = &run->outcome;

	if (outcome->code[0] != '\0' || code[0] == '\0')
		return;
	(void)snprintf(outcome->code, sizeof(outcome->code), "%s", code);
	log_clean(
	    detail, strlen(detail), outcome->detail, sizeof(outcome->detail));
	log_event(LOG_WARN_LEVEL, "host_run_close", LOG_TEXT("code", code),
	    LOG_TEXT("detail", detail));
}

enum result
host_run_tell(struct host_run *run, enum host_type type)
{
	const struct host_record record = {
	    HOST_MAGIC, HOST_PROTOCOL_VERSION, type, 0};

	return fd_send(run->control, &record, sizeof(record), NULL, 0);
}

/* The one way to an end. */
void
host_run_close(struct host_run *run, const char *code, const char *detail)
{
	if (run->state < HOST_RUN_STOP)
		host_run_fault(run, code, detail);
	switch (run->state) {
	case HOST_RUN_NEW:
		host_run_enter(run, HOST_RUN_RECORD, code);
		break;
	case HOST_RUN_HELLO:
	case HOST_RUN_AUDIT:
	case HOST_RUN_RUNNING:
		host_run_enter(run, HOST_RUN_STOP, code);
		break;
	case HOST_RUN_STOP:
	case HOST_RUN_KILL:
	case HOST_RUN_SWEEP:
	case HOST_RUN_RECORD:
	case HOST_RUN_END:
		break; /* on its way already */
	}
}

/* ---- the end of agentnode-host ---- */

static void
host_run_is_over(struct host_run *run)
{
	if (!run->host_dead || run->control >= 0 ||
	    run->state >= HOST_RUN_SWEEP)
		return;
	if (!run->has_status && run->launched)
		host_run_fault(run, "host_died",
		    "agentnode-host ended before its tree did");
	host_run_enter(run, HOST_RUN_SWEEP, "agentnode-host ended");
}

void
host_run_on_death(int exit_code, int number, void *context)
{
	struct host_run *run = context;

	run->host_dead = true;
	run->guarded = exit_code == HOST_EXIT_GUARD;
	log_event(LOG_INFO_LEVEL, "child_end",
	    LOG_TEXT("name", "agentnode-host"), LOG_INT("exit", exit_code),
	    LOG_INT("signal", number));
	if (!run->launched && exit_code == HOST_EXIT_START)
		host_run_fault(run, "start_failed",
		    "agentnode-host cannot follow the children of a process "
		    "on this kernel (CONFIG_PROC_CHILDREN)");
	else if (!run->launched)
		host_run_fault(run, "host_died",
		    "agentnode-host ended before the command started");
	/* What is left of it is told to end, never to go. */
	if (run->state < HOST_RUN_RUNNING && run->control >= 0)
		host_run_close(run, "host_died", "agentnode-host ended");
	host_run_is_over(run);
}

/* ---- what agentnode-host says ---- */

/* Both are there: it is going to be recorded. */
void
host_run_ready(struct host_run *run)
{
	if (run->state == HOST_RUN_HELLO && run->hello && run->tree_good)
		host_run_enter(run, HOST_RUN_AUDIT, "checks are good");
}

static void
host_run_status(struct host_run *run, const struct host_status *status)
{
	struct sandbox_outcome *outcome = &run->outcome;
	char detail[256];

	run->has_status = true;
	outcome->exit_code = status->exit_code;
	outcome->signal = status->signal;
	outcome->peak_memory = status->peak_memory;
	outcome->oom_kills = status->oom_kills;
	outcome->removed = status->left == 0;
	outcome->started = status->started != 0;
	if (status->started == 0)
		host_run_fault(run, "host_died",
		    "agentnode-host ended before the command started");
	if (status->exec_errno != 0) {
		outcome->started = false;
		(void)snprintf(detail, sizeof(detail),
		    "%s cannot be started on the host: %s", run->plan.program,
		    strerror(status->exec_errno));
		host_run_fault(run, "exec_failed", detail);
	}
	if (status->record.value == HOST_WHY_TIME)
		host_run_fault(run, host_run_table[HOST_RUN_RUNNING].code,
		    host_run_table[HOST_RUN_RUNNING].detail);
	else if (status->record.value == HOST_WHY_STOP && !run->in_order)
		host_run_fault(run, "stopped", "it was ended");
}

static void
host_run_message(struct host_run *run, const void *bytes, size_t len)
{
	struct host_record head;

	if (len < sizeof(head)) {
		host_run_close(run, "host_died", "agentnode-host spoke badly");
		return;
	}
	memcpy(&head, bytes, sizeof(head));
	if (head.type == HOST_HELLO && len == sizeof(head) && !run->hello) {
		run->hello = true;
		run->is_grouped = (head.value & HOST_LIMIT_GROUP) != 0;
		host_run_ready(run);
	} else if (head.type == HOST_STATUS && run->launched &&
		   len == sizeof(struct host_status) && !run->has_status) {
		host_run_status(run, bytes);
	} else {
		host_run_close(run, "host_died", "agentnode-host spoke badly");
	}
}

void
host_run_on_input(evutil_socket_t fd, short what, void *context)
{
	struct host_status room;
	struct host_run *run = context;
	size_t len = 0, count = 0;
	enum result result;

	(void)what;
	result = fd_receive(fd, &room, sizeof(room), &len, NULL, 0, &count);
	if (result == RESULT_NEED_MORE)
		return;
	if (result == RESULT_OK) {
		host_run_message(run, &room, len);
		return;
	}
	(void)event_del(run->input);
	fd_close(&run->control);
	host_run_is_over(run);
}

static void
host_run_stop_it(struct host_run *run)
{
	if (run->control < 0 || host_run_tell(run, HOST_STOP) != RESULT_OK)
		host_run_enter(run, HOST_RUN_KILL, "it cannot be told");
}

void
host_run_enter(struct host_run *run, enum host_run_state state, const char *why)
{
	log_event(LOG_INFO_LEVEL, "host_run_state",
	    LOG_TEXT("from", host_run_table[run->state].name),
	    LOG_TEXT("to", host_run_table[state].name), LOG_TEXT("why", why));
	run->state = state;
	host_run_arm(run);
	switch (state) {
	case HOST_RUN_HELLO:
		host_run_parts_start(run);
		break;
	case HOST_RUN_AUDIT:
		host_run_parts_audit(run);
		break;
	case HOST_RUN_STOP:
		host_run_stop_it(run);
		break;
	case HOST_RUN_KILL:
		process_watch_kill(run->watch);
		break;
	case HOST_RUN_SWEEP:
		host_run_parts_sweep(run);
		break;
	case HOST_RUN_RECORD:
		host_run_parts_record(run);
		break;
	case HOST_RUN_END:
		event_active(run->later, EV_TIMEOUT, 0);
		break;
	case HOST_RUN_NEW:
	case HOST_RUN_RUNNING:
		break;
	}
}

static void
host_run_on_deadline(evutil_socket_t fd, short what, void *context)
{
	struct host_run *run = context;

	(void)fd;
	(void)what;
	if (run->state == HOST_RUN_SWEEP) {
		host_run_arm(run);
		host_run_parts_sweep(run);
	} else if (run->state == HOST_RUN_STOP) {
		host_run_enter(run, HOST_RUN_KILL, "it did not end its tree");
	} else if (run->state == HOST_RUN_KILL) {
		/* A keeper that cannot run any more holds the socket. */
		if (run->input != NULL)
			(void)event_del(run->input);
		fd_close(&run->control);
		host_run_is_over(run);
	} else if (run->state == HOST_RUN_RECORD) {
		host_run_enter(run, HOST_RUN_END, "no removal record");
	} else {
		host_run_close(run, host_run_table[run->state].code,
		    host_run_table[run->state].detail);
	}
}

/* From the loop, with nothing of a part on the stack. */
static void
host_run_on_later(evutil_socket_t fd, short what, void *context)
{
	struct host_run *run = context;

	(void)fd;
	(void)what;
	if (run->tree_good)
		volume_check_free(&run->check);
	if (run->state != HOST_RUN_END || run->ended)
		return;
	run->ended = true;
	run->handlers.on_end(run, &run->outcome, run->context);
}

static void
host_run_on_ledger(enum result result, const char *detail, void *context)
{
	(void)result;
	host_run_close(context, "audit_failed", detail);
}

static enum result
host_run_events(struct host_run *run)
{
	run->deadline = event_new(run->base, -1, 0, host_run_on_deadline, run);
	run->later = event_new(run->base, -1, 0, host_run_on_later, run);
	return run->deadline == NULL || run->later == NULL ? RESULT_NO_MEMORY
							   : RESULT_OK;
}

enum result
host_run_start(struct event_base *base, const struct config *config,
    struct audit *audit, const struct host_spec *spec,
    const struct host_run_handlers *handlers, void *context,
    struct host_run **run_r)
{
	struct host_run *run = calloc(1, sizeof(*run));
	struct host_plan_fault fault;

	*run_r = NULL;
	if (run == NULL)
		return RESULT_NO_MEMORY;
	*run = (struct host_run){.base = base,
	    .audit = audit,
	    .handlers = *handlers,
	    .context = context,
	    .control = -1,
	    .outcome.exit_code = -1};
	if (host_run_events(run) != RESULT_OK) {
		host_run_free(&run);
		return RESULT_NO_MEMORY;
	}
	*run_r = run;
	if (host_plan_make(config, spec, &run->plan, &fault) != RESULT_OK) {
		run->outcome.removed = true; /* there was nothing */
		host_run_close(run, fault.code, fault.detail);
		return RESULT_OK;
	}
	/* Beside the run of an agent, those of its tools have no log. */
	if (strcmp(run->plan.kind, "tool") != 0)
		log_set_sandbox(run->plan.setup.id);
	audit_on_end(audit, host_run_on_ledger, run);
	host_run_enter(run, HOST_RUN_HELLO, "planned");
	return RESULT_OK;
}

void
host_run_stop(struct host_run *run, const char *code, const char *detail)
{
	/* In order: it ends as if it had ended by itself. */
	run->in_order = run->in_order ||
			(code[0] == '\0' && run->state == HOST_RUN_RUNNING);
	host_run_close(run, code[0] != '\0' || run->in_order ? code : "stopped",
	    detail != NULL ? detail : "");
}

const char *
host_run_id(const struct host_run *run)
{
	return run->plan.setup.id;
}

void
host_run_free(struct host_run **run)
{
	struct host_run *gone = *run;

	if (gone == NULL)
		return;
	*run = NULL;
	if (gone->audit != NULL) {
		audit_on_end(gone->audit, NULL, gone);
		audit_forget(gone->audit, gone);
	}
	if (gone->input != NULL)
		event_free(gone->input);
	/* Its end is the tree's; a kill would not be. */
	fd_close(&gone->control);
	volume_check_free(&gone->check);
	process_watch_free(&gone->watch);
	if (gone->deadline != NULL)
		event_free(gone->deadline);
	if (gone->later != NULL)
		event_free(gone->later);
	host_plan_clear(&gone->plan);
	free(gone);
}
