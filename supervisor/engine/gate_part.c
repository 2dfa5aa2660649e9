/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting and hearing agentnode-gate. Called by mcp_run, build_gate,
 * agent_run and tool_session; it must never look at what passes through it.
 */
#include "supervisor/engine/gate_part.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"

#define GATE_PART_LOWEST 3 /* a copy never takes a standard number */
#define GATE_PART_DETAIL_MAX 512U
#define GATE_PART_ID_MAX 64U

struct gate_part {
	struct child *child;
	struct gate_part_stream streams[GATE_PART_STREAMS_MAX];
	size_t stream_count;
	struct gate_part_handlers handlers;
	void *context;
	struct guard_desk *desk; /* borrowed; NULL: none */
	uint64_t next_id;
	char sandbox[GATE_PART_ID_MAX + 1];
	int listener; /* until the gate is ready */
	bool is_ready, is_done;
	bool end_waits; /* the workload ended before the gate was ready */
	struct sandbox_outcome outcome;
	uint64_t duration_ms;
};

/* body is taken, fd is borrowed. */
static enum result
gate_part_send_id(struct gate_part *part, enum ipc_type type, uint64_t id,
    json_t *body, int fd)
{
	struct ipc_message message;
	enum result result;

	if (body == NULL)
		return RESULT_NO_MEMORY;
	ipc_message_init(&message, type, id);
	message.body = body;
	if (fd >= 0) {
		message.fds[0] = fd;
		message.fd_count = 1;
	}
	result = child_send(part->child, &message);
	message.fd_count = 0; /* borrowed */
	ipc_message_clear(&message);
	return result;
}

static enum result
gate_part_send(struct gate_part *part, enum ipc_type type, json_t *body, int fd)
{
	return gate_part_send_id(
	    part, type, type == IPC_WORK ? ++part->next_id : 0, body, fd);
}

/* Hand over and close; an absent one is none. */
static enum result
gate_part_hand_over(
    struct gate_part *part, const struct gate_part_stream *stream)
{
	enum result result;

	if (*stream->fd < 0)
		return RESULT_OK;
	result = gate_part_send(part, IPC_STREAM,
	    json_pack("{s:s}", "name", stream->name), *stream->fd);
	fd_close(stream->fd);
	return result;
}

/* A failed send ends the child, and on_end tells; nothing to do here. */
static void
gate_part_tell_end(struct gate_part *part)
{
	const struct sandbox_outcome *outcome = &part->outcome;
	char detail[GATE_PART_DETAIL_MAX];

	log_clean(
	    outcome->detail, strlen(outcome->detail), detail, sizeof(detail));
	(void)gate_part_send(part, IPC_WORK,
	    json_pack("{s:s, s:{s:i, s:i, s:s, s:s, s:I, s:I, s:I}}", "job",
		"workload_ended", "options", "exit_code", outcome->exit_code,
		"signal", outcome->signal, "code", outcome->code, "detail",
		detail, "duration_ms", (json_int_t)part->duration_ms,
		"peak_memory", (json_int_t)outcome->peak_memory, "oom_kills",
		(json_int_t)outcome->oom_kills),
	    -1);
}

static enum result
gate_part_hand_listener(struct gate_part *part)
{
	enum result result = gate_part_send(part, IPC_LISTEN,
	    json_pack("{s:s, s:s}", "sandbox", part->sandbox, "kind", "tools"),
	    part->listener);

	fd_close(&part->listener);
	if (result == RESULT_OK && part->handlers.on_listening != NULL)
		part->handlers.on_listening(part->context);
	return result;
}

static void
gate_part_on_ready(struct child *child, void *context)
{
	struct gate_part *part = context;
	enum result result = RESULT_OK;

	(void)child;
	part->is_ready = true;
	for (size_t i = 0; i < part->stream_count && result == RESULT_OK; i++)
		result = gate_part_hand_over(part, &part->streams[i]);
	if (result == RESULT_OK)
		result = gate_part_send(part, IPC_WORK,
		    json_pack("{s:s, s:{}}", "job", "start", "options"), -1);
	if (result == RESULT_OK && part->handlers.on_ready != NULL)
		part->handlers.on_ready(part->context);
	if (result == RESULT_OK && part->listener >= 0)
		result = gate_part_hand_listener(part);
	if (result == RESULT_OK && part->end_waits)
		gate_part_tell_end(part);
}

/* A text of the gate's answer. It is escaped there; whoever got into the
 * gate must still not reach a terminal. */
static void
gate_part_text(const json_t *result, const char *key, char *text_r, size_t size)
{
	const json_t *text = json_object_get(result, key);

	text_r[0] = '\0';
	if (json_is_string(text))
		log_clean(json_string_value(text), json_string_length(text),
		    text_r, size);
}

const char *
gate_part_fault(const struct gate_part_said *said, char *detail_r, size_t size)
{
	if (strcmp(said->reason, "output_failed") == 0) {
		(void)snprintf(detail_r, size,
		    "standard output could not be written: %s", said->detail);
		return "output_failed";
	}
	if (strcmp(said->reason, "no_memory") == 0) {
		(void)snprintf(detail_r, size, "agentnode-gate had no memory");
		return "no_memory";
	}
	return "";
}

/* The conversation is over. */
static void
gate_part_on_said(struct gate_part *part, const json_t *result)
{
	char reason[64], detail[GATE_PART_DETAIL_MAX];
	const struct gate_part_said said = {.reason = reason,
	    .detail = detail,
	    .full = json_is_true(json_object_get(result, "full")),
	    .result = result};

	if (part->is_done)
		return;
	part->is_done = true;
	gate_part_text(result, "reason", reason, sizeof(reason));
	gate_part_text(result, "detail", detail, sizeof(detail));
	part->handlers.on_done(&said, part->context);
}

/* Mode caller: a job is done. */
static void
gate_part_on_answered(struct gate_part *part, struct ipc_message *message)
{
	const json_t *result = json_object_get(message->body, "result");
	char code[SANDBOX_CODE_MAX], detail[GATE_PART_DETAIL_MAX];

	if (part->handlers.on_answer == NULL)
		return;
	gate_part_text(result, "code", code, sizeof(code));
	gate_part_text(result, "detail", detail, sizeof(detail));
	part->handlers.on_answer(message->id, code, detail,
	    ipc_message_take_fd(message, 0), part->context);
}

static void
gate_part_on_tool_call(struct gate_part *part, struct ipc_message *message)
{
	const json_t *body = message->body;
	struct gate_part_call call = {.id = message->id,
	    .package = json_string_value(json_object_get(body, "package")),
	    .tool = json_string_value(json_object_get(body, "tool")),
	    .args_fd = ipc_message_take_fd(message, 0)};
	const char *method = json_string_value(json_object_get(body, "method"));
	bool cancel = strcmp(method, "cancel") == 0;

	call.list = strcmp(method, "list") == 0;
	if (cancel && part->handlers.on_tool_cancel != NULL)
		part->handlers.on_tool_cancel(call.id, part->context);
	if (!cancel && part->handlers.on_tool_call != NULL)
		part->handlers.on_tool_call(&call, part->context);
	fd_close(&call.args_fd);
}

/* A failed send ends the child, and on_end tells. */
static void
gate_part_on_guarded(
    uint64_t id, const char *code, const char *detail, void *context)
{
	struct gate_part *part = context;

	(void)gate_part_send_id(part, IPC_GUARD_ANSWER, id,
	    json_pack("{s:s, s:s}", "code", code, "detail", detail), -1);
}

static void
gate_part_on_guard(struct gate_part *part, const struct ipc_message *message)
{
	const json_t *body = message->body;
	const struct guard_desk_ask ask = {.id = message->id,
	    .tool = json_string_value(json_object_get(body, "tool")),
	    .code = json_string_value(json_object_get(body, "code")),
	    .actions = json_string_value(json_object_get(body, "actions")),
	    .detail = json_string_value(json_object_get(body, "detail")),
	    .count = json_integer_value(json_object_get(body, "count"))};

	if (part->desk != NULL)
		guard_desk_ask(part->desk, &ask);
	else
		gate_part_on_guarded(message->id, "guard_unavailable",
		    "nobody counts this package's calls", part);
}

void
gate_part_guard(struct gate_part *part, struct guard_desk *desk)
{
	part->desk = desk;
	guard_desk_on_answer(desk, gate_part_on_guarded, part);
}

static void
gate_part_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct gate_part *part = context;

	(void)child;
	if (message->type == IPC_DONE && message->id == 0)
		gate_part_on_said(
		    part, json_object_get(message->body, "result"));
	else if (message->type == IPC_DONE)
		gate_part_on_answered(part, message);
	else if (message->type == IPC_TOOL_CALL)
		gate_part_on_tool_call(part, message);
	else if (message->type == IPC_GUARD_ASK)
		gate_part_on_guard(part, message);
	else if (message->type == IPC_DECISION &&
		 part->handlers.on_decision != NULL)
		part->handlers.on_decision(message->body, part->context);
}

static void
gate_part_on_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	struct gate_part *part = context;

	(void)child;
	(void)exit_code;
	(void)number;
	part->handlers.on_end(detail, part->context);
}

enum result
gate_part_start(struct event_base *base, const char *sandbox_id,
    json_t *options, int log_fd, const struct gate_part_stream *streams,
    size_t stream_count, const struct gate_part_handlers *handlers,
    void *context, struct gate_part **part_r)
{
	static const struct child_handlers child_handlers = {
	    gate_part_on_ready, gate_part_on_message, gate_part_on_end};
	struct child_spec spec = {
	    .role = IPC_GATE, .config_fds = &log_fd, .config_fd_count = 1};
	struct gate_part *part = calloc(1, sizeof(*part));
	enum result result;

	*part_r = NULL;
	if (part == NULL || stream_count > GATE_PART_STREAMS_MAX) {
		free(part);
		json_decref(options);
		return RESULT_NO_MEMORY;
	}
	memcpy(part->streams, streams, stream_count * sizeof(*streams));
	part->stream_count = stream_count;
	part->handlers = *handlers;
	part->context = context;
	part->listener = -1;
	(void)snprintf(part->sandbox, sizeof(part->sandbox), "%s", sandbox_id);
	spec.config =
	    json_pack("{s:s, s:o}", "sandbox", sandbox_id, "options", options);
	result = spec.config == NULL ? RESULT_NO_MEMORY
				     : child_start(base, &spec, &child_handlers,
					   part, &part->child);
	json_decref(spec.config);
	if (result != RESULT_OK)
		free(part);
	else
		*part_r = part;
	return result;
}

void
gate_part_took(struct gate_part *part, uint64_t duration_ms)
{
	part->duration_ms = duration_ms;
}

void
gate_part_workload_ended(
    struct gate_part *part, const struct sandbox_outcome *outcome)
{
	part->outcome = *outcome;
	if (part->is_done)
		return;
	if (part->is_ready)
		gate_part_tell_end(part);
	else
		part->end_waits = true;
}

enum result
gate_part_listen(struct gate_part *part, int fd)
{
	fd_close(&part->listener);
	part->listener = fd;
	return part->is_ready ? gate_part_hand_listener(part) : RESULT_OK;
}

void
gate_part_tool_result(struct gate_part *part, uint64_t id, const char *code,
    const char *detail, int fd)
{
	/* A failed send ends the child, and on_end tells. */
	if (!part->is_done)
		(void)gate_part_send_id(part, IPC_TOOL_RESULT, id,
		    json_pack("{s:s, s:s}", "code", code, "detail", detail),
		    fd);
	fd_close(&fd);
}

enum result
gate_part_work(struct gate_part *part, bool list, const char *tool,
    const char *request, int args_fd, uint64_t *id_r)
{
	enum result result;

	*id_r = ++part->next_id;
	result = gate_part_send_id(part, IPC_WORK, *id_r,
	    json_pack("{s:s, s:{s:s*, s:s*}}", "job", list ? "list" : "call",
		"options", "tool", tool, "request", request),
	    args_fd);
	fd_close(&args_fd);
	return result;
}

void
gate_part_cancel(struct gate_part *part, uint64_t id)
{
	/* A failed send ends the child, and on_end tells. */
	if (!part->is_done)
		(void)gate_part_send_id(part, IPC_WORK, id,
		    json_pack("{s:s, s:{}}", "job", "cancel", "options"), -1);
}

void
gate_part_free(struct gate_part **part)
{
	if (*part == NULL)
		return;
	if ((*part)->desk != NULL)
		guard_desk_on_answer((*part)->desk, NULL, NULL);
	fd_close(&(*part)->listener);
	child_free(&(*part)->child);
	free(*part);
	*part = NULL;
}

/* A description of our own of a pipe or terminal. */
static int
gate_part_reopen(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* Files are always ready; sockets and what cannot be opened again (another
 * user's pipe) are switched to non-blocking where they are. */
int
gate_part_share(int fd, int flags)
{
	struct stat status;
	int copy;

	if (fstat(fd, &status) != 0)
		return -1;
	if (S_ISFIFO(status.st_mode) || isatty(fd) == 1) {
		copy = gate_part_reopen(fd, flags);
		if (copy >= 0)
			return copy;
	}
	copy = fcntl(fd, F_DUPFD_CLOEXEC, GATE_PART_LOWEST);
	if (copy >= 0 && !S_ISREG(status.st_mode) &&
	    fd_set_nonblocking(copy, true) != RESULT_OK)
		fd_close(&copy);
	return copy;
}

enum result
gate_part_pipe(int pipe_r[2], int ours)
{
	enum result result;

	if (pipe2(pipe_r, O_CLOEXEC) != 0) {
		pipe_r[0] = pipe_r[1] = -1;
		return RESULT_SYSTEM;
	}
	result = fd_set_nonblocking(pipe_r[ours], true);
	if (result != RESULT_OK) {
		fd_close(&pipe_r[0]);
		fd_close(&pipe_r[1]);
	}
	return result;
}
