/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the story makes of init's records and of the deaths of init and of
 * the engine's monitor. Called from the loop; must never assign the state,
 * and ends badly only through sandbox_close.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "common/fd.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/engine_locate.h"
#include "supervisor/engine/init_check.h"
#include "supervisor/sandbox_state.h"
#include "supervisor/sandbox_walls.h"

static void
sandbox_inside_on_monitor(int exit_code, int number, void *context)
{
	struct sandbox *sandbox = context;

	(void)exit_code;
	(void)number;
	if (sandbox->state < SANDBOX_BYE)
		sandbox_close(sandbox, "engine_died",
		    "the engine's monitor of the container died");
}

static void
sandbox_inside_on_init(int exit_code, int number, void *context)
{
	struct sandbox *sandbox = context;

	(void)exit_code;
	(void)number;
	if (sandbox->state < SANDBOX_BYE)
		sandbox_close(
		    sandbox, "init_died", "the container's init died");
	else if (sandbox->state == SANDBOX_BYE &&
		 (sandbox_plan_is_detached(&sandbox->plan) ||
		     sandbox->plan.engine->client_is_launcher))
		sandbox_enter(sandbox, SANDBOX_KILL, "init exited");
}

/* init's parent, which is the engine's monitor. */
static pid_t
sandbox_inside_parent(pid_t pid)
{
	char path[64], text[512];
	const char *close;
	long parent = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	if (fgets(text, sizeof(text), file) != NULL &&
	    (close = strrchr(text, ')')) != NULL &&
	    sscanf(close + 1, " %*c %ld", &parent) != 1)
		parent = -1;
	(void)fclose(file);
	return (pid_t)parent;
}

static enum result
sandbox_inside_watch(struct sandbox *sandbox, pid_t pid)
{
	pid_t parent = sandbox_inside_parent(pid);
	int init = pidfd_open(pid, 0);
	int monitor = parent > 1 ? pidfd_open(parent, 0) : -1;
	enum result result = RESULT_SYSTEM;

	/* Asked once more, so that what is held is its parent: a process
	 * whose parent died has another one. */
	if (init >= 0 && monitor >= 0 && sandbox_inside_parent(pid) == parent) {
		result = process_watch_new(sandbox->base, init, false,
		    sandbox_inside_on_init, sandbox, &sandbox->init);
		init = -1;
	}
	if (result == RESULT_OK) {
		result = process_watch_new(sandbox->base, monitor, false,
		    sandbox_inside_on_monitor, sandbox, &sandbox->monitor);
		monitor = -1;
	}
	fd_close(&init);
	fd_close(&monitor);
	return result;
}

static enum result
sandbox_inside_locate(
    const struct sandbox_plan *plan, pid_t *pid_r, char *detail_r, size_t size)
{
	return plan->engine->locate != NULL
		   ? plan->engine->locate(plan, pid_r, detail_r, size)
		   : engine_locate(&plan->host.files, plan->lock.id, pid_r,
			 detail_r, size);
}

static enum result
sandbox_inside_check(
    const struct sandbox_plan *plan, pid_t pid, char *detail_r, size_t size)
{
	return plan->engine->check != NULL
		   ? plan->engine->check(plan, pid, detail_r, size)
		   : init_check(pid,
			 plan->host.memory.rootless ? 0 : plan->uid.uid,
			 detail_r, size);
}

static void
sandbox_inside_spoke(struct sandbox *sandbox, pid_t pid)
{
	sandbox->init_pid = pid;
	sandbox_enter(sandbox, SANDBOX_LISTENERS, "init spoke");
	if (sandbox->plan.engine->asks_engine)
		sandbox_steps_look(sandbox);
}

static void
sandbox_inside_on_hello(pid_t pid, void *context)
{
	struct sandbox *sandbox = context;
	char detail[256] = "";
	enum result result, watched;

	if (sandbox->state != SANDBOX_HELLO)
		return;
	if (pid == 0 && sandbox_inside_locate(&sandbox->plan, &pid, detail,
			    sizeof(detail)) != RESULT_OK) {
		sandbox_close(sandbox, "limits_mismatch", detail);
		return;
	}
	/* Held before it is looked at, so that all below is one process's. */
	watched = sandbox_inside_watch(sandbox, pid);
	result = sandbox->plan.engine->find(
	    &sandbox->plan, pid, &sandbox->cgroup, detail, sizeof(detail));
	memcpy(sandbox->plan.facts.container, sandbox->cgroup.id,
	    sizeof(sandbox->plan.facts.container));
	(void)run_lock_note(&sandbox->plan.lock, &sandbox->plan.facts);
	if (result == RESULT_OK && watched != RESULT_OK) {
		sandbox_close(sandbox, "engine_failed",
		    "the container's init or its monitor cannot be watched");
		return;
	}
	if (result == RESULT_OK && !sandbox->plan.no_limits)
		result = cgroup_check_limits(&sandbox->cgroup,
		    &sandbox->plan.limits, detail, sizeof(detail));
	if (result != RESULT_OK)
		sandbox_close(sandbox, "limits_mismatch", detail);
	else if (sandbox_inside_check(
		     &sandbox->plan, pid, detail, sizeof(detail)) != RESULT_OK)
		sandbox_close(sandbox, "walls_mismatch", detail);
	else
		sandbox_inside_spoke(sandbox, pid);
}

static void
sandbox_inside_on_listener(uint32_t index, int fd, void *context)
{
	struct sandbox *sandbox = context;
	const struct sandbox_plan *plan = &sandbox->plan;

	if (sandbox->state != SANDBOX_LISTENERS ||
	    (index < plan->port_first && sandbox->egress == NULL) ||
	    index >= plan->port_first + plan->port_count) {
		fd_close(&fd);
		return;
	}
	if (index >= plan->port_first) {
		sandbox->handlers.on_port(
		    sandbox, index - plan->port_first, fd, sandbox->context);
		return;
	}
	if (egress_part_listen(sandbox->egress, index, fd) != RESULT_OK)
		sandbox_close(sandbox, "proxy_died",
		    "a listener cannot be passed to egress-proxy");
}

static void
sandbox_inside_on_report(int fd, void *context)
{
	struct sandbox *sandbox = context;
	char detail[400] = "";

	if (sandbox->state != SANDBOX_LISTENERS) {
		fd_close(&fd);
		return;
	}
	if (sandbox_walls_check(&sandbox->plan, fd, detail, sizeof(detail)) !=
	    RESULT_OK)
		sandbox_close(sandbox, "walls_mismatch", detail);
	else if (!sandbox->plan.engine->asks_engine &&
		 sandbox_walls_volumes(&sandbox->plan, sandbox->init_pid,
		     detail, sizeof(detail)) != RESULT_OK)
		sandbox_close(sandbox, "integrity_volume", detail);
	else
		sandbox_enter(sandbox, SANDBOX_CHECKS, "the report fits");
	fd_close(&fd);
}

static void
sandbox_inside_on_tree(bool is_export, int error, void *context)
{
	struct sandbox *sandbox = context;
	bool expected =
	    sandbox->state == (is_export ? SANDBOX_EXPORT : SANDBOX_IMPORT);
	char detail[400];

	if (!expected)
		return;
	if (error == 0) {
		sandbox->next_tree++;
		sandbox_steps_tree(sandbox);
		return;
	}
	(void)snprintf(detail, sizeof(detail),
	    "files cannot be copied %s %s: %s", is_export ? "out of" : "into",
	    sandbox->plan.trees[sandbox->next_tree].path, strerror(error));
	sandbox_close(
	    sandbox, is_export ? "export_failed" : "import_failed", detail);
}

static void
sandbox_inside_on_status(const struct init_status *status, void *context)
{
	struct sandbox *sandbox = context;
	struct sandbox_outcome *outcome = &sandbox->outcome;

	if (sandbox->state != SANDBOX_RUNNING)
		return;
	(void)event_del(sandbox->wall);
	if (status->exec_errno != 0) {
		outcome->started = false;
		(void)snprintf(
		    outcome->code, sizeof(outcome->code), "%s", "exec_failed");
		(void)snprintf(outcome->detail, sizeof(outcome->detail),
		    "the command cannot be executed in the sandbox: %s",
		    strerror(status->exec_errno));
	} else {
		outcome->exit_code = status->exit_code;
		outcome->signal = status->signal;
	}
	if (sandbox->handlers.on_exit != NULL)
		sandbox->handlers.on_exit(sandbox, sandbox->context);
	sandbox_enter(sandbox, SANDBOX_EXPORT, "the workload ended");
}

static void
sandbox_inside_on_wiring_end(enum result why, const char *detail, void *context)
{
	struct sandbox *sandbox = context;
	const char *code = "init_protocol";

	if (sandbox->state == SANDBOX_BYE && why == RESULT_EOF)
		return; /* in order; the client ends next */
	/* Without a first word the client knows more: its end is near. */
	sandbox->link_over = true;
	if (sandbox->state == SANDBOX_HELLO && why == RESULT_EOF &&
	    !sandbox->client_ended)
		return;
	if (why == RESULT_EOF)
		code = "init_died";
	else if (why == RESULT_REFUSED)
		code = "engine_failed";
	else if (why == RESULT_SYSTEM)
		code = "init_failed";
	else if (why == RESULT_MISMATCH)
		code = "listener_mismatch";
	sandbox_close(sandbox, code, detail);
}

static const char *
sandbox_inside_sandbox(void *context)
{
	return sandbox_id(context);
}

static void
sandbox_inside_on_joined(void *context)
{
	sandbox_client_joined(context);
}

const struct wiring_handlers sandbox_inside_handlers = {sandbox_inside_on_hello,
    sandbox_inside_on_listener, sandbox_inside_on_report,
    sandbox_inside_on_tree, sandbox_inside_on_status,
    sandbox_inside_on_wiring_end, sandbox_inside_sandbox,
    sandbox_inside_on_joined};
