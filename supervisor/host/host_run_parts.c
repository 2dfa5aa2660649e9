/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the states of a run on the host do: processes, records, and the look
 * at what is left. Called by host_run.c; it must never assign the state.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/engine_spawn.h"
#include "supervisor/host/host_run_state.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

/* ---- records ---- */

static void
host_run_parts_on_launch(enum result result, const char *detail, void *context)
{
	struct host_run *run = context;

	if (run->state != HOST_RUN_AUDIT)
		return;
	if (result != RESULT_OK) {
		host_run_close(run, "audit_failed", detail);
		return;
	}
	if (!host_plan_is_there(&run->plan)) {
		host_run_close(run, "integrity_volume",
		    "the folder of the package is not the one that was read: "
		    "it was replaced meanwhile");
		return;
	}
	if (run->host_dead || host_run_tell(run, HOST_GO) != RESULT_OK) {
		host_run_close(
		    run, "host_died", "agentnode-host cannot be told to go");
		return;
	}
	run->launched = run->outcome.started = true;
	host_run_enter(run, HOST_RUN_RUNNING, "launch is recorded");
	if (run->handlers.on_go != NULL)
		run->handlers.on_go(run, run->context);
}

void
host_run_parts_audit(struct host_run *run)
{
	json_t *record = host_plan_record(&run->plan, run->is_grouped);
	enum result result = record == NULL
				 ? RESULT_NO_MEMORY
				 : audit_submit(run->audit, "launch", record,
				       host_run_parts_on_launch, run);

	json_decref(record);
	if (result != RESULT_OK)
		host_run_close(run, "audit_failed",
		    "the launch cannot be recorded, so it does not happen");
}

static void
host_run_parts_on_record(enum result result, const char *detail, void *context)
{
	struct host_run *run = context;

	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("detail", detail));
	if (run->state == HOST_RUN_RECORD)
		host_run_enter(run, HOST_RUN_END, "the end is recorded");
}

/* A removal, or, when the command was never started, a refusal. */
void
host_run_parts_record(struct host_run *run)
{
	const struct sandbox_outcome *outcome = &run->outcome;
	json_t *record = json_pack(
	    "{s:s, s:s, s:s, s:s, s:b, s:i, s:i, s:s, s:s, s:I, s:i}", "run",
	    run->plan.setup.id, "kind", run->plan.kind, "package",
	    run->plan.package, "boundary", "policy", "removed",
	    outcome->removed, "exit_code", outcome->exit_code, "signal",
	    outcome->signal, "code", outcome->code, "detail", outcome->detail,
	    "peak_memory", (json_int_t)outcome->peak_memory, "oom_kills",
	    (int)outcome->oom_kills);
	enum result result = record == NULL
				 ? RESULT_NO_MEMORY
				 : audit_submit(run->audit,
				       run->launched ? "removal" : "refusal",
				       record, host_run_parts_on_record, run);

	json_decref(record);
	if (outcome->removed)
		run_lock_end(&run->plan.files, &run->plan.lock);
	if (result != RESULT_OK)
		host_run_enter(run, HOST_RUN_END, "the ledger is gone");
}

/* ---- what is left ---- */

/* It and its keeper are gone: what they left, if both were killed, is in
 * the group. */
void
host_run_parts_sweep(struct host_run *run)
{
	struct cgroup cgroup = {.count = run->group.count};
	size_t left = 0;

	(void)snprintf(cgroup.id, sizeof(cgroup.id), "%s", run->plan.setup.id);
	for (size_t i = 0; i < cgroup.count; i++)
		(void)snprintf(cgroup.dirs[i].path, sizeof(cgroup.dirs[i].path),
		    "%s", run->group.dirs[i]);
	if (run->is_grouped)
		left = cgroup_kill(&cgroup);
	if (left > 0 && run->sweeps++ < HOST_RUN_SWEEPS)
		return; /* the deadline comes back here */
	if (run->is_grouped)
		host_group_remove(&run->group);
	if (!run->has_status)
		run->outcome.removed = !run->launched || run->guarded ||
				       (run->is_grouped && left == 0);
	else if (left > 0)
		run->outcome.removed = false;
	host_run_enter(run, HOST_RUN_RECORD,
	    run->outcome.removed ? "nothing of it lives"
				 : "something of it may live");
}

/* ---- the start ---- */

static void
host_run_parts_on_tree(enum result result, const char *detail, void *context)
{
	struct host_run *run = context;

	if (result == RESULT_OK) {
		run->tree_good = true;
		event_active(run->later, EV_TIMEOUT, 0); /* ends the hasher */
		host_run_ready(run);
		return;
	}
	host_run_close(run,
	    result == RESULT_MISMATCH ? "integrity_volume"
				      : "volume_check_failed",
	    detail);
}

static enum result
host_run_parts_start_check(struct host_run *run)
{
	struct json_fault fault = {""};
	struct volume_check_spec spec = {.volumes = &run->plan.tree,
	    .count = 1,
	    .no_landlock = run->plan.no_landlock};
	char home[STATE_DIR_PATH_MAX];
	int log_fd FD_CLEANUP = -1;
	enum result result;

	run->tree_good = run->plan.tree.dir_fd < 0;
	if (run->tree_good)
		return RESULT_OK;
	result = config_home(home, sizeof(home), &fault);
	if (result == RESULT_OK)
		result =
		    log_files_open(home, "agentnode-unpack", &log_fd, &fault);
	if (result != RESULT_OK)
		return result;
	spec.log_fd = log_fd;
	result = volume_check_start(
	    run->base, &spec, host_run_parts_on_tree, run, &run->check);
	run->plan.tree.dir_fd = -1; /* it is the check's */
	return result;
}

static enum result
host_run_parts_spawn(struct host_run *run, int control, int *pidfd_r)
{
	const char *const envp[] = {NULL};
	char path[PATH_MAX];
	const char *argv[] = {path, NULL};
	const int pass[HOST_FD_COUNT] = {control, run->plan.go_fd,
	    run->plan.streams[0], run->plan.streams[1], run->plan.streams[2],
	    run->plan.secret_fd};
	/* It hears of our death itself: killed, it could not end its tree. */
	const struct engine_spawn_spec spawn = {.argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .stderr_fd = -1,
	    .pass = pass,
	    .pass_count = HOST_FD_COUNT,
	    .umask = 077,
	    .folder = "/"};
	pid_t pid;
	enum result result =
	    child_program_path("agentnode-host", path, sizeof(path));

	return result == RESULT_OK ? engine_spawn(&spawn, &pid, pidfd_r)
				   : result;
}

static enum result
host_run_parts_start_host(struct host_run *run)
{
	int pair[2], pidfd = -1;
	enum result result = fd_socketpair(pair);

	if (result != RESULT_OK)
		return result;
	result = host_run_parts_spawn(run, pair[1], &pidfd);
	fd_close(&pair[1]);
	run->control = pair[0];
	/* Its copies are its own now; the end of a pipe is seen. */
	for (size_t i = 0; i < 3; i++)
		fd_close(&run->plan.streams[i]);
	fd_close(&run->plan.go_fd);
	fd_close(&run->plan.secret_fd);
	if (result == RESULT_OK)
		result = process_watch_new(run->base, pidfd, true,
		    host_run_on_death, run, &run->watch);
	if (result == RESULT_OK)
		result = fd_set_nonblocking(run->control, true);
	if (result == RESULT_OK)
		result = fd_send(run->control, &run->plan.setup,
		    sizeof(run->plan.setup), NULL, 0);
	if (result != RESULT_OK)
		return result;
	run->input = event_new(run->base, run->control, EV_READ | EV_PERSIST,
	    host_run_on_input, run);
	return run->input != NULL && event_add(run->input, NULL) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

void
host_run_parts_start(struct host_run *run)
{
	enum result result = host_run_parts_start_host(run);

	(void)host_group_find(run->plan.setup.id, &run->group);
	if (result == RESULT_OK)
		result = host_run_parts_start_check(run);
	if (result == RESULT_OK)
		return;
	host_run_fault(run, "start_failed",
	    "agentnode-host or agentnode-unpack cannot be started: are they "
	    "installed? (see `agentnode sandbox doctor`)");
	run->outcome.removed = run->watch == NULL;
	if (run->watch == NULL)
		host_run_enter(run, HOST_RUN_RECORD, "nothing was started");
	else
		host_run_close(run, "start_failed", "");
}
