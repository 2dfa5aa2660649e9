/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting and hearing agentnode-gate. Called by mcp_run; it must never
 * look at what passes through it.
 */
#include "supervisor/command/mcp_gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/child.h"

struct mcp_gate {
	struct child *child;
	struct mcp_streams *streams;
	struct mcp_gate_handlers handlers;
	void *context;
	uint64_t next_id;
	bool is_ready, is_done;
	bool end_waits; /* the workload ended before the gate was ready */
	struct sandbox_outcome outcome;
};

static enum result
mcp_gate_send(struct mcp_gate *gate, enum ipc_type type, json_t *body, int fd)
{
	struct ipc_message message;
	enum result result;

	if (body == NULL)
		return RESULT_NO_MEMORY;
	ipc_message_init(
	    &message, type, type == IPC_WORK ? ++gate->next_id : 0);
	message.body = body;
	if (fd >= 0) {
		message.fds[0] = fd;
		message.fd_count = 1;
	}
	result = child_send(gate->child, &message);
	message.fd_count = 0; /* borrowed */
	ipc_message_clear(&message);
	return result;
}

/* Hand over and close; an absent one is none. */
static enum result
mcp_gate_stream(struct mcp_gate *gate, const char *name, int *fd)
{
	enum result result;

	if (*fd < 0)
		return RESULT_OK;
	result = mcp_gate_send(
	    gate, IPC_STREAM, json_pack("{s:s}", "name", name), *fd);
	fd_close(fd);
	return result;
}

/* A failed send ends the child, and on_end tells; nothing to do here. */
static void
mcp_gate_tell_end(struct mcp_gate *gate)
{
	const struct sandbox_outcome *outcome = &gate->outcome;

	(void)mcp_gate_send(gate, IPC_WORK,
	    json_pack("{s:s, s:{s:i, s:i, s:s}}", "job", "workload_ended",
		"options", "exit_code", outcome->exit_code, "signal",
		outcome->signal, "code", outcome->code),
	    -1);
}

static void
mcp_gate_on_ready(struct child *child, void *context)
{
	struct mcp_gate *gate = context;
	struct mcp_streams *streams = gate->streams;
	const struct {
		const char *name;
		int *fd;
	} rows[] = {
	    {"client_in", &streams->client_in},
	    {"client_out", &streams->client_out},
	    {"client_err", &streams->client_err},
	    {"work_in", &streams->work_in[1]},
	    {"work_out", &streams->work_out[0]},
	    {"work_err", &streams->work_err[0]},
	};
	enum result result = RESULT_OK;

	(void)child;
	gate->is_ready = true;
	for (size_t i = 0;
	     i < sizeof(rows) / sizeof(rows[0]) && result == RESULT_OK; i++)
		result = mcp_gate_stream(gate, rows[i].name, rows[i].fd);
	if (result == RESULT_OK)
		result = mcp_gate_send(gate, IPC_WORK,
		    json_pack("{s:s, s:{}}", "job", "start", "options"), -1);
	if (result == RESULT_OK && gate->end_waits)
		mcp_gate_tell_end(gate);
}

static void
mcp_gate_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct mcp_gate *gate = context;
	const json_t *result = json_object_get(message->body, "result");
	const char *reason =
	    json_string_value(json_object_get(result, "reason"));
	const char *detail =
	    json_string_value(json_object_get(result, "detail"));

	(void)child;
	if (message->type != IPC_DONE || gate->is_done)
		return;
	gate->is_done = true;
	gate->handlers.on_done(reason != NULL ? reason : "",
	    detail != NULL ? detail : "", gate->context);
}

static void
mcp_gate_on_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	struct mcp_gate *gate = context;

	(void)child;
	(void)exit_code;
	(void)number;
	gate->handlers.on_end(detail, gate->context);
}

enum result
mcp_gate_start(struct event_base *base, const char *sandbox_id, json_t *options,
    int log_fd, struct mcp_streams *streams,
    const struct mcp_gate_handlers *handlers, void *context,
    struct mcp_gate **gate_r)
{
	static const struct child_handlers child_handlers = {
	    mcp_gate_on_ready, mcp_gate_on_message, mcp_gate_on_end};
	struct child_spec spec = {
	    .role = IPC_GATE, .config_fds = &log_fd, .config_fd_count = 1};
	struct mcp_gate *gate = calloc(1, sizeof(*gate));
	enum result result;

	*gate_r = NULL;
	if (gate == NULL) {
		json_decref(options);
		return RESULT_NO_MEMORY;
	}
	gate->streams = streams;
	gate->handlers = *handlers;
	gate->context = context;
	spec.config =
	    json_pack("{s:s, s:o}", "sandbox", sandbox_id, "options", options);
	result = spec.config == NULL ? RESULT_NO_MEMORY
				     : child_start(base, &spec, &child_handlers,
					   gate, &gate->child);
	json_decref(spec.config);
	if (result != RESULT_OK)
		free(gate);
	else
		*gate_r = gate;
	return result;
}

void
mcp_gate_workload_ended(
    struct mcp_gate *gate, const struct sandbox_outcome *outcome)
{
	gate->outcome = *outcome;
	if (gate->is_done)
		return;
	if (gate->is_ready)
		mcp_gate_tell_end(gate);
	else
		gate->end_waits = true;
}

void
mcp_gate_free(struct mcp_gate **gate)
{
	if (*gate == NULL)
		return;
	child_free(&(*gate)->child);
	free(*gate);
	*gate = NULL;
}
