/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run the engine's client, gather its bounded output, see its end. Called
 * by the sandbox's story, the probe and the commands; must never pass on
 * the caller's environment or descriptors.
 */
#include "supervisor/engine/engine_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/engine_spawn.h"
#include "supervisor/engine/process_watch.h"

#define ENGINE_CALL_CHUNK 4096U

/* One captured stream. */
struct engine_call_stream {
	struct engine_call *call;
	int fd;
	struct event *event;
	struct buffer bytes;
	bool keep_tail; /* drop the oldest instead of ending the call */
};

struct engine_call {
	pid_t pid;
	struct process_watch *watch;
	struct event *deadline;
	struct engine_call_stream out, err;
	engine_call_done *done;
	void *context;
	bool killed;
};

enum result
engine_call_find(const char *name, char *path_r, size_t size)
{
	static const char *const dirs[] = {"/usr/local/sbin", "/usr/local/bin",
	    "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int len = snprintf(path_r, size, "%s/%s", dirs[i], name);

		if (len < 0 || (size_t)len >= size)
			return RESULT_TOO_LONG;
		if (access(path_r, X_OK) == 0)
			return RESULT_OK;
	}
	return RESULT_NOT_FOUND;
}

static void
engine_call_stream_close(struct engine_call_stream *stream)
{
	if (stream->event != NULL)
		event_free(stream->event);
	stream->event = NULL;
	fd_close(&stream->fd);
}

/* Read what is there; false at the end of the stream or when it is too
 * much. */
static bool
engine_call_stream_read(struct engine_call_stream *stream)
{
	uint8_t *space;
	size_t room;
	ssize_t got;

	if (stream->keep_tail &&
	    stream->bytes.len + ENGINE_CALL_CHUNK > stream->bytes.max)
		buffer_consume(&stream->bytes, stream->bytes.len / 2);
	if (buffer_reserve(&stream->bytes, ENGINE_CALL_CHUNK, &space, &room) !=
	    RESULT_OK) {
		engine_call_kill(stream->call);
		return false;
	}
	got = read(stream->fd, space, room);
	if (got > 0)
		buffer_commit(&stream->bytes, (size_t)got);
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void
engine_call_on_stream(evutil_socket_t fd, short what, void *context)
{
	struct engine_call_stream *stream = context;

	(void)fd;
	(void)what;
	if (!engine_call_stream_read(stream))
		engine_call_stream_close(stream);
}

/* The client is dead: take what it wrote before, but do not wait for a
 * monitor that kept the pipe. */
static void
engine_call_stream_drain(struct engine_call_stream *stream)
{
	size_t before;

	if (stream->fd < 0)
		return;
	do
		before = stream->bytes.len;
	while (engine_call_stream_read(stream) && stream->bytes.len > before);
	engine_call_stream_close(stream);
}

/* The last line of standard error, escaped. */
static void
engine_call_last_line(const struct buffer *bytes, char *text_r, size_t size)
{
	const char *start = (const char *)buffer_bytes_borrow(bytes);
	size_t len = bytes->len, begin;

	while (len > 0 && (start[len - 1] == '\n' || start[len - 1] == ' '))
		len--;
	for (begin = len; begin > 0 && start[begin - 1] != '\n'; begin--)
		continue;
	log_escape(start + begin, len - begin, text_r, size);
}

static void
engine_call_on_death(int exit_code, int number, void *context)
{
	struct engine_call *call = context;
	char error[ENGINE_CALL_ERROR_MAX] = "";
	struct engine_call_end end = {.exit_code = exit_code, .error = error};

	(void)number;
	if (call->deadline != NULL)
		(void)event_del(call->deadline);
	engine_call_stream_drain(&call->out);
	engine_call_stream_drain(&call->err);
	if (call->err.bytes.len > 0)
		engine_call_last_line(&call->err.bytes, error, sizeof(error));
	else if (call->killed)
		(void)snprintf(error, sizeof(error),
		    "the engine did not answer within its limits");
	if (call->killed)
		end.exit_code = -1;
	(void)buffer_append(&call->out.bytes, "", 1); /* NUL, not counted */
	end.output = call->out.bytes.len > 0
			 ? (const char *)buffer_bytes_borrow(&call->out.bytes)
			 : "";
	end.output_len = call->out.bytes.len > 0 ? call->out.bytes.len - 1 : 0;
	call->done(&end, call->context);
}

static void
engine_call_on_deadline(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	engine_call_kill(context);
}

static enum result
engine_call_stream_open(struct event_base *base, struct engine_call *call,
    struct engine_call_stream *stream, int fd, size_t max)
{
	stream->call = call;
	stream->fd = fd;
	buffer_init(&stream->bytes, max + ENGINE_CALL_CHUNK);
	if (fd < 0)
		return RESULT_OK;
	if (fd_set_nonblocking(fd, true) != RESULT_OK)
		return RESULT_SYSTEM;
	stream->event = event_new(
	    base, fd, EV_READ | EV_PERSIST, engine_call_on_stream, stream);
	if (stream->event == NULL || event_add(stream->event, NULL) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

/* Spawn with its output on pipes of ours. */
static enum result
engine_call_spawn(struct engine_call *call, const struct engine_call_spec *spec,
    int pipes[2], int *pidfd_r)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	struct engine_spawn_spec spawn = {.argv = spec->argv,
	    .envp = spec->files->envp,
	    .stdin_fd = spec->stdin_fd,
	    .pass = spec->pass,
	    .pass_count = spec->pass_count,
	    .umask = 022, /* its files inside are for another uid */
	    .folder = spec->files->dir,
	    .hide_unified = spec->hide_unified,
	    .die_with_us = spec->die_with_us,
	    .place = spec->place,
	    .place_context = spec->place_context};
	enum result result;

	if (spec->stdout_fd < 0 && pipe2(out, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	if (pipe2(err, O_CLOEXEC) != 0) {
		fd_close(&out[0]);
		fd_close(&out[1]);
		return RESULT_SYSTEM;
	}
	spawn.stdout_fd = spec->stdout_fd < 0 ? out[1] : spec->stdout_fd;
	spawn.stderr_fd = err[1];
	result = engine_spawn(&spawn, &call->pid, pidfd_r);
	fd_close(&out[1]);
	fd_close(&err[1]);
	pipes[0] = out[0];
	pipes[1] = err[0];
	return result;
}

static enum result
engine_call_attach(struct event_base *base, struct engine_call *call,
    const struct engine_call_spec *spec, int pipes[2], int pidfd)
{
	struct timeval limit = event_loop_timeval(spec->timeout_ms);
	enum result result = process_watch_new(
	    base, pidfd, true, engine_call_on_death, call, &call->watch);

	if (result == RESULT_OK)
		result = engine_call_stream_open(
		    base, call, &call->out, pipes[0], spec->output_max);
	else
		call->out.fd = pipes[0];
	if (result == RESULT_OK)
		result = engine_call_stream_open(
		    base, call, &call->err, pipes[1], ENGINE_CALL_CHUNK * 2);
	else
		call->err.fd = pipes[1];
	call->err.keep_tail = true;
	if (result != RESULT_OK || spec->timeout_ms == 0)
		return result;
	call->deadline = event_new(base, -1, 0, engine_call_on_deadline, call);
	if (call->deadline == NULL || event_add(call->deadline, &limit) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

enum result
engine_call_start(struct event_base *base, const struct engine_call_spec *spec,
    engine_call_done *done, void *context, struct engine_call **call_r)
{
	struct engine_call *call = calloc(1, sizeof(*call));
	int pipes[2] = {-1, -1}, pidfd = -1;
	enum result result;

	*call_r = NULL;
	if (call == NULL)
		return RESULT_NO_MEMORY;
	call->out.fd = -1;
	call->err.fd = -1;
	call->done = done;
	call->context = context;
	result = engine_call_spawn(call, spec, pipes, &pidfd);
	if (result == RESULT_OK)
		result = engine_call_attach(base, call, spec, pipes, pidfd);
	else {
		call->out.fd = pipes[0];
		call->err.fd = pipes[1];
	}
	if (result != RESULT_OK) {
		engine_call_free(&call);
		return result;
	}
	*call_r = call;
	return RESULT_OK;
}

void
engine_call_hand_over(
    struct engine_call *call, engine_call_done *done, void *context)
{
	call->done = done;
	call->context = context;
}

void
engine_call_kill(struct engine_call *call)
{
	call->killed = true;
	process_watch_kill(call->watch);
}

pid_t
engine_call_pid(const struct engine_call *call)
{
	return call->pid;
}

void
engine_call_free(struct engine_call **call)
{
	struct engine_call *gone = *call;

	if (gone == NULL)
		return;
	*call = NULL;
	process_watch_free(&gone->watch);
	engine_call_stream_close(&gone->out);
	engine_call_stream_close(&gone->err);
	buffer_free(&gone->out.bytes);
	buffer_free(&gone->err.bytes);
	if (gone->deadline != NULL)
		event_free(gone->deadline);
	free(gone);
}
