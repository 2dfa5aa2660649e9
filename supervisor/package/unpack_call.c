/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls agentnode-unpack; see unpack_call.h. Must never take an answer for
 * another job than the one it asked for.
 */
#include "supervisor/package/unpack_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

#define UNPACK_CALL_ID 1U
#define UNPACK_CALL_DETAIL_MAX 512U

struct unpack_call {
	struct child *child;
	json_t *options; /* owned until sent */
	char job[32];
	int fds[IPC_FDS_MAX]; /* owned duplicates until sent */
	size_t fd_count;
	unpack_call_done *done; /* NULL once called */
	void *context;
};

static void
unpack_call_close_fds(struct unpack_call *call)
{
	while (call->fd_count > 0)
		fd_close(&call->fds[--call->fd_count]);
}

static void
unpack_call_finish(struct unpack_call *call, const json_t *result,
    const char *code, const char *detail)
{
	unpack_call_done *done = call->done;

	call->done = NULL;
	if (done != NULL)
		done(result, code, detail, call->context);
}

static void
unpack_call_on_ready(struct child *child, void *context)
{
	struct unpack_call *call = context;
	struct ipc_message message;

	ipc_message_init(&message, IPC_WORK, UNPACK_CALL_ID);
	message.body =
	    json_pack("{s:s,s:o}", "job", call->job, "options", call->options);
	call->options = NULL;
	memcpy(message.fds, call->fds, sizeof(call->fds));
	message.fd_count = call->fd_count;
	if (message.body != NULL)
		(void)child_send(child, &message); /* a failure ends it */
	message.fd_count = 0;
	ipc_message_clear(&message);
	unpack_call_close_fds(call);
}

static void
unpack_call_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct unpack_call *call = context;
	const json_t *body = message->body;

	/* Whatever it said, it is asked nothing more. */
	child_over(child);
	if (message->id != UNPACK_CALL_ID)
		unpack_call_finish(call, NULL, "unpack_failed",
		    "agentnode-unpack answered another request");
	else if (message->type == IPC_DONE)
		unpack_call_finish(
		    call, json_object_get(body, "result"), "", "");
	else
		unpack_call_finish(call, NULL,
		    json_string_value(json_object_get(body, "code")),
		    json_string_value(json_object_get(body, "detail")));
}

static void
unpack_call_on_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	(void)child;
	(void)exit_code;
	(void)number;
	unpack_call_finish(context, NULL, "unpack_failed", detail);
}

/* The log of the process, beside the others of AGENTNODE_HOME. */
static enum result
unpack_call_log(int *fd_r)
{
	struct json_fault fault = {""};
	char home[4096];
	enum result result = config_home(home, sizeof(home), &fault);

	if (result == RESULT_OK)
		result = log_files_open(home, "agentnode-unpack", fd_r, &fault);
	return result;
}

/* The owner of the folder for the user's own files; 0 is the process's own
 * unprivileged uid. */
static uid_t
unpack_call_uid(const struct unpack_call_spec *spec)
{
	struct stat status;

	if (!spec->keep_uid || spec->root_count == 0 ||
	    fstat(spec->roots[0], &status) != 0)
		return 0;
	return status.st_uid;
}

static enum result
unpack_call_child(struct event_base *base, const struct config *config,
    const struct unpack_call_spec *spec, struct unpack_call *call)
{
	static const struct child_handlers handlers = {
	    unpack_call_on_ready, unpack_call_on_message, unpack_call_on_end};
	int fds[UNPACK_ROOTS_MAX + 1];
	struct child_spec child = {.role = IPC_UNPACK,
	    .program = spec->program,
	    .config_fds = fds,
	    .config_fd_count = spec->root_count + 1};
	enum result result;

	if (spec->root_count > UNPACK_ROOTS_MAX)
		return RESULT_TOO_LONG;
	result = unpack_call_log(&fds[0]);
	if (result != RESULT_OK)
		return result;
	for (size_t i = 0; i < spec->root_count; i++)
		fds[i + 1] = spec->roots[i];
	child.uid = unpack_call_uid(spec);
	child.config = json_pack("{s:{s:I,s:I,s:b}}", "options", "roots",
	    (json_int_t)spec->root_count, "timeout_s",
	    (json_int_t)spec->timeout_s, "no_landlock",
	    config_override(config, "no_landlock"));
	result = child.config == NULL
		     ? RESULT_NO_MEMORY
		     : child_start(base, &child, &handlers, call, &call->child);
	json_decref(child.config);
	fd_close(&fds[0]);
	return result;
}

static enum result
unpack_call_keep(struct unpack_call *call, const struct unpack_call_spec *spec)
{
	int fd;

	(void)snprintf(call->job, sizeof(call->job), "%s", spec->job);
	if (spec->fd_count > IPC_FDS_MAX)
		return RESULT_TOO_LONG;
	for (size_t i = 0; i < spec->fd_count; i++) {
		fd = fcntl(spec->fds[i], F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return RESULT_SYSTEM;
		call->fds[call->fd_count++] = fd;
	}
	return RESULT_OK;
}

enum result
unpack_call_start(struct event_base *base, const struct config *config,
    const struct unpack_call_spec *spec, unpack_call_done *done, void *context,
    struct unpack_call **call_r)
{
	struct unpack_call *call = calloc(1, sizeof(*call));
	enum result result;

	if (call == NULL) {
		json_decref(spec->options);
		return RESULT_NO_MEMORY;
	}
	call->options = spec->options;
	call->done = done;
	call->context = context;
	result = unpack_call_keep(call, spec);
	if (result == RESULT_OK)
		result = unpack_call_child(base, config, spec, call);
	if (result != RESULT_OK) {
		unpack_call_free(&call);
		return result;
	}
	*call_r = call;
	return RESULT_OK;
}

void
unpack_call_free(struct unpack_call **call)
{
	struct unpack_call *gone = *call;

	if (gone == NULL)
		return;
	*call = NULL;
	child_free(&gone->child);
	json_decref(gone->options);
	unpack_call_close_fds(gone);
	free(gone);
}

struct unpack_call_waiting {
	struct event_base *base;
	json_t *result;
	char code[64], detail[UNPACK_CALL_DETAIL_MAX];
};

static void
unpack_call_on_done(
    const json_t *result, const char *code, const char *detail, void *context)
{
	struct unpack_call_waiting *waiting = context;

	(void)snprintf(waiting->code, sizeof(waiting->code), "%s",
	    code != NULL ? code : "unpack_failed");
	if (result != NULL)
		waiting->result = json_deep_copy(result);
	(void)snprintf(waiting->detail, sizeof(waiting->detail), "%s", detail);
	event_loop_stop(waiting->base);
}

enum result
unpack_call_wait(const struct config *config,
    const struct unpack_call_spec *spec, json_t **result_r, char *detail_r,
    size_t detail_size)
{
	char code[64];

	return unpack_call_wait_code(
	    config, spec, result_r, code, sizeof(code), detail_r, detail_size);
}

enum result
unpack_call_wait_code(const struct config *config,
    const struct unpack_call_spec *spec, json_t **result_r, char *code_r,
    size_t code_size, char *detail_r, size_t detail_size)
{
	struct unpack_call_waiting waiting = {.detail = ""};
	struct unpack_call *call = NULL;
	enum result result = event_loop_new(&waiting.base);

	*result_r = NULL;
	code_r[0] = '\0';
	if (result != RESULT_OK) {
		json_decref(spec->options);
		return result;
	}
	result = unpack_call_start(
	    waiting.base, config, spec, unpack_call_on_done, &waiting, &call);
	if (result == RESULT_OK)
		result = event_loop_run(waiting.base);
	else
		(void)snprintf(waiting.detail, sizeof(waiting.detail),
		    "agentnode-unpack could not be started: %s",
		    result_text(result));
	if (result == RESULT_OK && waiting.result == NULL)
		result = RESULT_REFUSED;
	unpack_call_free(&call);
	event_base_free(waiting.base);
	(void)snprintf(code_r, code_size, "%s", waiting.code);
	(void)snprintf(detail_r, detail_size, "%s", waiting.detail);
	*result_r = waiting.result;
	return result;
}
