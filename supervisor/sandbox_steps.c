/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each state of a sandbox does, and what it makes of the events of
 * its parts. Called by sandbox.c (sandbox_enter) and from the loop; must
 * never assign the state, and ends badly only through sandbox_close.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/docker_look.h"
#include "supervisor/engine/engine.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"
#include "supervisor/sandbox_state.h"

/* ---- the launch record ---- */

static void
sandbox_steps_on_launch(enum result result, const char *detail, void *context)
{
	struct sandbox *sandbox = context;

	sandbox->recorded = result == RESULT_OK;
	start_clock_end(sandbox->clock, START_RECORD);
	if (!sandbox->recorded)
		sandbox_close(sandbox, "audit_failed", detail);
	else if (sandbox->state == SANDBOX_AUDIT)
		sandbox_enter(sandbox, SANDBOX_HELLO, "launch is recorded");
	else
		sandbox_steps_ready(sandbox);
}

/* What was started before the ledger was there does not go without it. */
void
sandbox_steps_launch(struct sandbox *sandbox)
{
	json_t *record = sandbox_plan_record(&sandbox->plan);
	enum result result = RESULT_NO_MEMORY;

	start_clock_begin(sandbox->clock, START_RECORD);
	if (record != NULL)
		result = audit_submit(sandbox->audit, "launch", record,
		    sandbox_steps_on_launch, sandbox);
	json_decref(record);
	if (result != RESULT_OK)
		sandbox_close(sandbox, "audit_failed",
		    "the launch cannot be recorded, so it does not happen");
}

void
sandbox_steps_audit(struct sandbox *sandbox)
{
	if (!sandbox->ledger_waits)
		sandbox_steps_launch(sandbox);
}

/* ---- the parts: proxy, volume hashes ---- */

/* Everything before go is there? */
void
sandbox_steps_ready(struct sandbox *sandbox)
{
	unsigned ports = (1U << sandbox->plan.port_count) - 1U;

	if (sandbox->state == SANDBOX_CHECKS && sandbox->recorded &&
	    sandbox->egress_ready && sandbox->volumes_good &&
	    sandbox->ports_ready == ports)
		sandbox_enter(sandbox, SANDBOX_IMPORT, "all checks are good");
}

static void
sandbox_steps_on_egress_ready(void *context)
{
	struct sandbox *sandbox = context;

	sandbox->egress_ready = true;
	start_clock_end(sandbox->clock, START_PROXY);
	sandbox_steps_ready(sandbox);
}

static void
sandbox_steps_on_egress_end(const char *detail, void *context)
{
	sandbox_close(context, "proxy_died", detail);
}

static void
sandbox_steps_on_decision(const json_t *body, void *context)
{
	struct sandbox *sandbox = context;

	if (sandbox->handlers.on_decision != NULL)
		sandbox->handlers.on_decision(body, sandbox->context);
}

static void
sandbox_steps_on_settled(void *context)
{
	struct sandbox *sandbox = context;

	event_active(sandbox->later, EV_TIMEOUT, 0);
}

static void
sandbox_steps_on_volumes(enum result result, const char *detail, void *context)
{
	struct sandbox *sandbox = context;

	if (result == RESULT_MISMATCH) {
		sandbox_close(sandbox, "integrity_volume", detail);
		return;
	}
	if (result != RESULT_OK) {
		sandbox_close(sandbox, "volume_check_failed", detail);
		return;
	}
	sandbox->volumes_good = true;
	start_clock_end(sandbox->clock, START_VOLUMES);
	event_active(sandbox->later, EV_TIMEOUT, 0); /* ends the hasher */
	sandbox_steps_ready(sandbox);
}

static int
sandbox_steps_log(const char *name)
{
	struct json_fault fault = {""};
	char home[STATE_DIR_PATH_MAX];
	int fd = -1;

	if (config_home(home, sizeof(home), &fault) != RESULT_OK ||
	    log_files_open(home, name, &fd, &fault) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "log_file", LOG_TEXT("name", name),
		    LOG_TEXT("detail", fault.text));
	return fd;
}

static void
sandbox_steps_on_live(const char *code, const char *detail, void *context)
{
	sandbox_close(context, code, detail);
}

/* egress-proxy, and what keeps its policy as narrow as the configuration. */
static enum result
sandbox_steps_start_egress(struct sandbox *sandbox)
{
	static const struct egress_part_handlers handlers = {
	    sandbox_steps_on_egress_ready, sandbox_steps_on_egress_end,
	    sandbox_steps_on_decision, sandbox_steps_on_settled};
	struct sandbox_plan *plan = &sandbox->plan;
	int log_fd = sandbox_steps_log("agentnode-egress-proxy");
	enum result result;

	result = log_fd < 0 ? RESULT_SYSTEM
			    : egress_part_start(sandbox->base, plan->lock.id,
				  &plan->egress, log_fd, &handlers, sandbox,
				  &sandbox->egress);
	fd_close(&log_fd);
	if (result == RESULT_OK)
		result = egress_live_start(sandbox->base, sandbox->audit,
		    plan->lock.id, &plan->egress, sandbox->egress,
		    sandbox_steps_on_live, sandbox, &sandbox->live);
	return result;
}

static enum result
sandbox_steps_start_volumes(struct sandbox *sandbox)
{
	struct sandbox_plan *plan = &sandbox->plan;
	int log_fd FD_CLEANUP = sandbox_steps_log("agentnode-unpack");
	struct volume_check_spec spec = {.volumes = plan->volumes,
	    .count = plan->volume_count,
	    .host = plan->engine->asks_engine ? &plan->host : NULL,
	    .log_fd = log_fd,
	    .no_landlock = plan->no_landlock,
	    .fast = plan->volume_fast};

	if (log_fd < 0)
		return RESULT_SYSTEM;
	plan->volume_count = 0; /* the descriptors are the check's */
	return volume_check_start(sandbox->base, &spec,
	    sandbox_steps_on_volumes, sandbox, &sandbox->volumes);
}

static void
sandbox_steps_on_look(enum result result, const char *detail, void *context)
{
	struct sandbox *sandbox = context;

	if (sandbox->state > SANDBOX_CHECKS)
		return; /* it is ending */
	if (result != RESULT_OK)
		sandbox_close(sandbox,
		    result == RESULT_MISMATCH ? "walls_mismatch"
					      : "engine_failed",
		    detail);
	else if (sandbox_steps_start_volumes(sandbox) != RESULT_OK)
		sandbox_close(sandbox, "start_failed",
		    "agentnode-unpack cannot be started: is it installed? "
		    "(see `agentnode sandbox doctor`)");
}

/* init has spoken: what only the engine can tell of its container, then
 * what is in the volumes. volumes_good waits for both. */
void
sandbox_steps_look(struct sandbox *sandbox)
{
	struct sandbox_plan *plan = &sandbox->plan;
	struct docker_look_expected expected = {.id = sandbox->cgroup.id,
	    .name = plan->facts.name,
	    .pid = sandbox->init_pid,
	    .uid = plan->uid.uid,
	    .mounts = plan->input.mounts,
	    .mount_count = plan->input.mount_count,
	    .volume_path = plan->host.memory.volume_path};

	start_clock_begin(sandbox->clock, START_VOLUMES);
	if (docker_look_start(sandbox->base, &plan->host, &expected,
		sandbox_steps_on_look, sandbox, &sandbox->look) != RESULT_OK)
		sandbox_close(sandbox, "engine_failed",
		    "docker cannot be asked for the container");
}

/* part_r: the one that a failure is about. */
static enum result
sandbox_steps_start_parts(struct sandbox *sandbox, const char **part_r)
{
	struct sandbox_plan *plan = &sandbox->plan;
	enum result result = RESULT_OK;

	sandbox->egress_ready = !plan->has_egress;
	/* Who asks the engine waits for its answer, volumes or none. */
	sandbox->volumes_good =
	    plan->volume_count == 0 && !plan->engine->asks_engine;
	*part_r = "agentnode-egress-proxy";
	if (plan->has_egress) {
		start_clock_begin(sandbox->clock, START_PROXY);
		result = sandbox_steps_start_egress(sandbox);
	}
	/* Those that the engine reads out wait for its container. */
	if (result == RESULT_OK && plan->volume_count > 0 &&
	    !plan->engine->asks_engine) {
		start_clock_begin(sandbox->clock, START_VOLUMES);
		*part_r = "agentnode-unpack";
		result = sandbox_steps_start_volumes(sandbox);
	}
	return result;
}

/* ---- start: parts and engine at the same time ---- */

static void
sandbox_steps_on_dead(bool dead, void *context)
{
	struct sandbox *sandbox = context;

	if (!dead)
		log_event(LOG_ERROR_LEVEL, "sandbox_alive",
		    LOG_TEXT("detail", "processes survive SIGKILL"));
	sandbox_enter(sandbox, SANDBOX_CLIENT,
	    dead ? "nothing of it lives" : "something of it lives");
}

static void
sandbox_steps_on_removed(bool removed, const char *detail, void *context)
{
	struct sandbox *sandbox = context;

	sandbox->outcome.removed = removed;
	if (!removed)
		log_event(LOG_ERROR_LEVEL, "sandbox_left",
		    LOG_TEXT("name", sandbox->plan.facts.name),
		    LOG_TEXT("detail", detail));
	sandbox_enter(
	    sandbox, SANDBOX_RECORD, removed ? "the engine forgot it" : detail);
}

static void
sandbox_steps_on_leftovers(void *context)
{
	struct sandbox *sandbox = context;

	sandbox->leftovers_gone = true;
	if (sandbox->state == SANDBOX_END)
		event_active(sandbox->later, EV_TIMEOUT, 0);
}

void
sandbox_steps_start(struct sandbox *sandbox)
{
	static const struct container_end_handlers end_handlers = {
	    sandbox_steps_on_dead, sandbox_steps_on_removed};
	struct sandbox_plan *plan = &sandbox->plan;
	const char *part = "the engine's client";
	char detail[256] = "";
	enum result result;

	result = container_end_new(sandbox->base, &plan->host, plan->facts.name,
	    plan->lock.id, &end_handlers, sandbox, &sandbox->end);
	if (result == RESULT_OK)
		result = wiring_new(sandbox->base, plan->wiring, &plan->place,
		    &plan->setup, &sandbox_inside_handlers, sandbox,
		    &sandbox->wiring, detail, sizeof(detail));
	/* The slowest first. */
	if (result == RESULT_OK)
		result = sandbox_client_start(sandbox, detail, sizeof(detail));
	if (result == RESULT_OK)
		result = sandbox_steps_start_parts(sandbox, &part);
	if (result != RESULT_OK && detail[0] == '\0')
		(void)snprintf(detail, sizeof(detail),
		    "%s cannot be started: is it installed? (see `agentnode "
		    "sandbox doctor`)",
		    part);
	if (result != RESULT_OK)
		sandbox_close(sandbox, "start_failed", detail);
	/* Not needed for the start, so no reason to end it. */
	sandbox->leftovers_gone = engine_gc_start(sandbox->base, &plan->host,
				      sandbox_steps_on_leftovers, sandbox,
				      &sandbox->leftovers) != RESULT_OK;
}

void
sandbox_steps_checks(struct sandbox *sandbox)
{
	sandbox_steps_ready(sandbox);
}

/* ---- trees in and out, go, bye ---- */

static enum init_type
sandbox_steps_tree_type(const struct sandbox_plan_tree *tree)
{
	if (!tree->is_export)
		return INIT_IMPORT;
	return tree->is_results ? INIT_RESULTS : INIT_EXPORT;
}

/* The next tree of this direction, or the state after. */
void
sandbox_steps_tree(struct sandbox *sandbox)
{
	struct sandbox_plan *plan = &sandbox->plan;
	bool is_export = sandbox->state == SANDBOX_EXPORT;
	struct sandbox_plan_tree *tree;
	struct wiring_tree job;

	/* A workload that never ran leaves nothing to copy out. */
	while (sandbox->next_tree < plan->tree_count &&
	       (plan->trees[sandbox->next_tree].is_export != is_export ||
		   (is_export && !sandbox->outcome.started)))
		sandbox->next_tree++;
	if (sandbox->next_tree >= plan->tree_count) {
		sandbox_enter(sandbox,
		    is_export ? SANDBOX_BYE : SANDBOX_RUNNING, "no more trees");
		return;
	}
	tree = &plan->trees[sandbox->next_tree];
	job = (struct wiring_tree){.type = sandbox_steps_tree_type(tree),
	    .path = tree->path,
	    .max_bytes = tree->max_bytes,
	    .max_files = tree->max_files,
	    .max_file = tree->max_file};
	if (wiring_send_tree(sandbox->wiring, &job, tree->fd) != RESULT_OK)
		sandbox_close(
		    sandbox, "init_died", "init cannot be told to copy files");
	fd_close(&tree->fd); /* init's child has it */
}

void
sandbox_steps_go(struct sandbox *sandbox)
{
	struct sandbox_plan *plan = &sandbox->plan;
	struct timeval wall = {.tv_sec = plan->wall_s};

	if (wiring_send_go(sandbox->wiring, plan->go_fd, plan->secret_fd) !=
	    RESULT_OK) {
		sandbox_close(
		    sandbox, "init_died", "init cannot be told to go");
		return;
	}
	fd_close(&plan->go_fd);
	fd_close(&plan->secret_fd);
	sandbox->outcome.started = true;
	if (plan->wall_s > 0 && event_add(sandbox->wall, &wall) != 0) {
		sandbox_close(
		    sandbox, "internal", "the time limit cannot be set");
		return;
	}
	if (sandbox->handlers.on_go != NULL)
		sandbox->handlers.on_go(sandbox, sandbox->context);
}

void
sandbox_steps_bye(struct sandbox *sandbox)
{
	cgroup_counters(&sandbox->cgroup, &sandbox->outcome.peak_memory,
	    &sandbox->outcome.oom_kills);
	egress_live_stop(sandbox->live);
	egress_part_close(sandbox->egress);
	if (wiring_send_bye(sandbox->wiring) != RESULT_OK)
		sandbox_enter(sandbox, SANDBOX_KILL, "init is gone");
}

/* ---- the end ---- */

void
sandbox_steps_kill(struct sandbox *sandbox)
{
	/* A living client of a container that did not speak cleans up best. */
	unsigned grace =
	    sandbox->client != NULL && !sandbox->client_ended ? 3000 : 0;

	if (sandbox->outcome.peak_memory == 0)
		cgroup_counters(&sandbox->cgroup, &sandbox->outcome.peak_memory,
		    &sandbox->outcome.oom_kills);
	egress_live_stop(sandbox->live);
	egress_part_close(sandbox->egress);
	/* init kills everything when its socket closes. */
	wiring_free(&sandbox->wiring);
	if (sandbox->client != NULL && !sandbox->client_ended &&
	    sandbox->plan.engine->client_is_launcher)
		engine_call_kill(sandbox->client);
	if (sandbox->client == NULL)
		sandbox->client_ended = true;
	if (sandbox->end == NULL ||
	    container_end_kill(sandbox->end, &sandbox->cgroup,
		(ino_t)sandbox->plan.facts.socket, grace) != RESULT_OK)
		sandbox_enter(sandbox, SANDBOX_RECORD, "nothing was started");
}

static void
sandbox_steps_on_record(enum result result, const char *detail, void *context)
{
	struct sandbox *sandbox = context;

	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("detail", detail));
	if (sandbox->state == SANDBOX_RECORD)
		sandbox_enter(sandbox, SANDBOX_END, "the end is recorded");
}

static json_t *
sandbox_steps_end_record(const struct sandbox *sandbox)
{
	const struct sandbox_outcome *outcome = &sandbox->outcome;

	return json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:s, s:s, s:I, s:i}",
	    "run", sandbox->plan.lock.id, "kind", sandbox->plan.kind, "package",
	    sandbox->plan.package, "removed", outcome->removed, "exit_code",
	    outcome->exit_code, "signal", outcome->signal, "code",
	    outcome->code, "detail", outcome->detail, "peak_memory",
	    (json_int_t)outcome->peak_memory, "oom_kills",
	    (int)outcome->oom_kills);
}

/* A removal, or, when nothing was started, a refusal. */
void
sandbox_steps_record(struct sandbox *sandbox)
{
	bool launched = sandbox->end != NULL;
	json_t *record;
	enum result result;

	if (sandbox->ledger_waits)
		return; /* sandbox_ledger comes back to it */
	record = sandbox_steps_end_record(sandbox);
	result = record == NULL ? RESULT_NO_MEMORY
				: audit_submit(sandbox->audit,
				      launched ? "removal" : "refusal", record,
				      sandbox_steps_on_record, sandbox);

	json_decref(record);
	if (!launched)
		sandbox->outcome.removed = true; /* there was nothing */
	if (sandbox->outcome.removed)
		run_lock_end(&sandbox->plan.host.files, &sandbox->plan.lock);
	if (result != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("detail", result_text(result)));
		sandbox_enter(sandbox, SANDBOX_END, "the ledger is gone");
	}
}
