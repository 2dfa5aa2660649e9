/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's client in the story of a sandbox: one call that starts it;
 * or, where the way in is a connection to the engine's daemon, one that
 * makes the container and, when the connection is attached, one that starts
 * it. Called by sandbox_steps.c and from the loop; must never assign the
 * state, nor start a container that nobody is attached to.
 */
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/engine_words.h"
#include "supervisor/engine/native_launcher.h"
#include "supervisor/sandbox_state.h"

static void
sandbox_client_on_end(const struct engine_call_end *end, void *context)
{
	struct sandbox *sandbox = context;
	char detail[400];

	sandbox->client_ended = true;
	sandbox->client_clean = end->exit_code >= 0 && end->exit_code < 125 &&
				end->error[0] == '\0';
	if (sandbox->state == SANDBOX_CLIENT) {
		sandbox_enter(sandbox, SANDBOX_REMOVE, "its client ended");
		return;
	}
	/* What it started goes on without it. */
	if (sandbox_plan_is_detached(&sandbox->plan) && end->exit_code == 0 &&
	    !sandbox->link_over)
		return;
	if (sandbox->state >= SANDBOX_KILL)
		return; /* it is on its way */
	if (sandbox->state == SANDBOX_BYE) {
		sandbox_enter(sandbox, SANDBOX_KILL, "its client ended");
		return;
	}
	(void)snprintf(detail, sizeof(detail),
	    "the engine's client ended (%d): %s", end->exit_code, end->error);
	sandbox_close(sandbox,
	    sandbox->state == SANDBOX_HELLO ? "engine_failed" : "engine_died",
	    detail);
}

/* The container is there. */
static void
sandbox_client_on_made(const struct engine_call_end *end, void *context)
{
	struct sandbox *sandbox = context;
	char id[RUN_LOCK_CONTAINER_MAX];

	if (end->exit_code != 0 || sandbox->state != SANDBOX_HELLO) {
		sandbox_client_on_end(end, context);
		return;
	}
	sandbox->client_ended = true;
	run_lock_container(
	    &sandbox->plan.host.files, sandbox->plan.lock.id, id);
	if (wiring_join(sandbox->wiring, id) != RESULT_OK)
		sandbox_close(sandbox, "engine_failed",
		    "docker cannot be asked to attach to its container");
}

/* Somebody is attached. */
void
sandbox_client_joined(struct sandbox *sandbox)
{
	struct sandbox_plan *plan = &sandbox->plan;
	struct engine_words words;
	struct engine_call_spec call = {.files = &plan->host.files,
	    .argv = words.argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536};

	if (sandbox->state != SANDBOX_HELLO || !sandbox->client_ended)
		return; /* it is ending */
	engine_words_begin(&plan->host.memory, &words);
	engine_words_add(&words, "start");
	engine_words_add(&words, "--");
	engine_words_add(&words, plan->facts.name);
	engine_call_free(&sandbox->client);
	sandbox->client_ended = false;
	if (engine_call_start(sandbox->base, &call, sandbox_client_on_end,
		sandbox, &sandbox->client) == RESULT_OK)
		return;
	sandbox->client_ended = true;
	sandbox_close(sandbox, "engine_failed",
	    "docker cannot be asked to start its container");
}

/* The launcher of a native sandbox: one that waits, or a new one. */
static enum result
sandbox_client_give(struct sandbox *sandbox, const struct wiring_pass *passed,
    int record, char *detail_r, size_t detail_size)
{
	struct native_launcher *own = NULL, **launcher = sandbox->launcher;
	int given[NATIVE_LAUNCH_GIVEN];
	enum result result = RESULT_OK;

	if (launcher == NULL || *launcher == NULL) {
		launcher = &own;
		result = native_launcher_start(sandbox->base, launcher);
	}
	if (passed->count != INIT_FD_COUNT)
		result = RESULT_INTERNAL;
	if (result == RESULT_OK) {
		memcpy(given, passed->fds, sizeof(passed->fds));
		given[INIT_FD_COUNT] = record;
		result = native_launcher_give(launcher, given,
		    sandbox_client_on_end, sandbox, &sandbox->client);
	}
	native_launcher_free(launcher);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "agentnode-native cannot be started: is it installed? (see "
		    "`agentnode sandbox doctor`)");
	return result;
}

static enum result
sandbox_client_call(struct sandbox *sandbox, const struct engine_start *start,
    const struct wiring_pass *passed)
{
	struct sandbox_plan *plan = &sandbox->plan;
	const struct engine_call_spec call = {.files = &plan->host.files,
	    .argv = start->argv,
	    .stdin_fd = passed->stdin_fd,
	    .stdout_fd = passed->stdout_fd,
	    .pass = passed->fds,
	    .pass_count = passed->count,
	    .output_max = 65536,
	    .hide_unified = start->hide_unified,
	    .die_with_us = start->die_with_us,
	    .place = start->place,
	    .place_context = start->place_context};

	return engine_call_start(sandbox->base, &call,
	    plan->input.made ? sandbox_client_on_made : sandbox_client_on_end,
	    sandbox, &sandbox->client);
}

enum result
sandbox_client_start(
    struct sandbox *sandbox, char *detail_r, size_t detail_size)
{
	struct sandbox_plan *plan = &sandbox->plan;
	struct wiring_pass passed;
	struct engine_start start = {.record_fd = -1};
	enum result result = plan->engine->start(
	    plan, &start, &sandbox->cgroup, detail_r, detail_size);

	if (result != RESULT_OK)
		return result;
	plan->facts.socket = wiring_socket(sandbox->wiring);
	(void)run_lock_note(&plan->lock, &plan->facts);
	result = wiring_pass(sandbox->wiring, plan->streams, &passed);
	if (result == RESULT_OK)
		result = start.argv != NULL
			     ? sandbox_client_call(sandbox, &start, &passed)
			     : sandbox_client_give(sandbox, &passed,
				   start.record_fd, detail_r, detail_size);
	wiring_passed(sandbox->wiring);
	for (size_t i = 0; i < 3; i++)
		fd_close(&plan->streams[i]);
	return result;
}
