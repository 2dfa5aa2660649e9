/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's client in the story of a sandbox: one call that starts it;
 * or, where the way in is a connection to the engine's daemon, one that
 * makes the container and, when the connection is attached, one that starts
 * it. Called by sandbox_steps.c and from the loop; must never assign the
 * state, nor start a container that nobody is attached to.
 */
#include <stdio.h>

#include "common/fd.h"
#include "supervisor/engine/engine.h"
#include "supervisor/engine/engine_words.h"
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

enum result
sandbox_client_start(
    struct sandbox *sandbox, char *detail_r, size_t detail_size)
{
	struct sandbox_plan *plan = &sandbox->plan;
	int pass[INIT_FD_COUNT + 1];
	struct wiring_pass passed;
	struct engine_start start = {.more_fd = -1};
	struct engine_call_spec call = {
	    .files = &plan->host.files, .pass = pass, .output_max = 65536};
	enum result result = plan->engine->start(
	    plan, &start, &sandbox->cgroup, detail_r, detail_size);

	if (result != RESULT_OK)
		return result;
	call.argv = start.argv;
	call.hide_unified = start.hide_unified;
	call.die_with_us = start.die_with_us;
	call.place = start.place;
	call.place_context = start.place_context;
	plan->facts.socket = wiring_socket(sandbox->wiring);
	(void)run_lock_note(&plan->lock, &plan->facts);
	result = wiring_pass(sandbox->wiring, plan->streams, &passed);
	call.stdin_fd = passed.stdin_fd;
	call.stdout_fd = passed.stdout_fd;
	while (call.pass_count < passed.count) {
		pass[call.pass_count] = passed.fds[call.pass_count];
		call.pass_count++;
	}
	if (start.more_fd >= 0)
		pass[call.pass_count++] = start.more_fd;
	if (result == RESULT_OK)
		result = engine_call_start(sandbox->base, &call,
		    plan->input.made ? sandbox_client_on_made
				     : sandbox_client_on_end,
		    sandbox, &sandbox->client);
	wiring_passed(sandbox->wiring);
	for (size_t i = 0; i < 3; i++)
		fd_close(&plan->streams[i]);
	return result;
}
