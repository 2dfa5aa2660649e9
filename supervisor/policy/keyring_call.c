/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls agentnode-keyring; see keyring_call.h. Called by `auth`, doctor and
 * key_reader.c. It must never read from the descriptors it hands on, nor
 * leave a terminal without its echo.
 */
#include "supervisor/policy/keyring_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/keyring_options.h"
#include "supervisor/policy/log_files.h"

#define KEYRING_CALL_DETAIL_MAX 640U
#define KEYRING_CALL_COMMIT_ID 1U

struct keyring_call {
	struct child *child;
	struct event *deadline;
	struct event_base *base;
	unsigned limit_ms; /* of the helper, when no person is waited for */
	bool is_store;
	struct keyring_call_handlers handlers;
	void *context;
	bool is_done;
	int terminal; /* a duplicate; -1: none */
	struct termios before;
};

static void
keyring_call_restore(struct keyring_call *call)
{
	if (call->terminal >= 0)
		(void)tcsetattr(call->terminal, TCSADRAIN, &call->before);
	fd_close(&call->terminal);
}

static void
keyring_call_finish(struct keyring_call *call, struct keyring_answer *answer)
{
	if (call->is_done) {
		fd_close(&answer->token_fd);
		fd_close(&answer->block_fd);
		return;
	}
	call->is_done = true;
	(void)event_del(call->deadline);
	keyring_call_restore(call);
	call->handlers.on_done(answer, call->context);
	fd_close(&answer->token_fd);
	fd_close(&answer->block_fd);
}

static void
keyring_call_fail(
    struct keyring_call *call, enum keyring_status status, const char *detail)
{
	struct keyring_answer answer = {status, detail, "", -1, -1};

	keyring_call_finish(call, &answer);
}

static void
keyring_call_arm(struct keyring_call *call)
{
	struct timeval limit = event_loop_timeval(call->limit_ms);

	(void)event_add(call->deadline, &limit);
}

static void
keyring_call_on_deadline(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	keyring_call_fail(context, KEYRING_TIMEOUT,
	    "agentnode-keyring did not answer in time");
}

/* The descriptor that the result names, or -1. */
static int
keyring_call_fd(
    struct ipc_message *message, const json_t *result, const char *key)
{
	const json_t *index = json_object_get(result, key);

	if (!json_is_integer(index) || json_integer_value(index) < 0)
		return -1;
	return ipc_message_take_fd(message, (size_t)json_integer_value(index));
}

/* The words of a `done`; false when they are none. */
static bool
keyring_call_answer(
    struct ipc_message *message, struct keyring_answer *answer_r)
{
	static const char *const known[] = {
	    "status", "detail", "last4", "token", "block", NULL};
	const json_t *result = json_object_get(message->body, "result");
	struct json_fault fault = {""};
	const char *status = NULL;

	*answer_r = (struct keyring_answer){KEYRING_FAILED, "", "", -1, -1};
	json_field_only(result, "result", known, &fault);
	json_field_string(result, "result", "status", 32, &status, &fault);
	json_field_string_opt(result, "result", "detail",
	    KEYRING_CALL_DETAIL_MAX, &answer_r->detail, &fault);
	json_field_string_opt(
	    result, "result", "last4", 4, &answer_r->last4, &fault);
	if (fault.text[0] != '\0' ||
	    !keyring_words_find_status(status, &answer_r->status))
		return false;
	answer_r->token_fd = keyring_call_fd(message, result, "token");
	answer_r->block_fd = keyring_call_fd(message, result, "block");
	return true;
}

static void
keyring_call_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct keyring_call *call = context;
	const char *job =
	    json_string_value(json_object_get(message->body, "job"));
	struct keyring_answer answer;

	(void)child;
	if (message->type != IPC_DONE)
		return;
	if (job == NULL || !keyring_call_answer(message, &answer))
		keyring_call_fail(call, KEYRING_FAILED,
		    "agentnode-keyring gave an answer that is none");
	else if (strcmp(job, "take") != 0)
		keyring_call_finish(call, &answer);
	else if (call->is_store && !call->is_done)
		call->handlers.on_taken(call, &answer, call->context);
}

static void
keyring_call_on_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	(void)child;
	(void)exit_code;
	(void)number;
	keyring_call_fail(context, KEYRING_FAILED, detail);
}

static enum result
keyring_call_log(int *fd_r)
{
	struct json_fault fault = {""};
	char home[4096];
	enum result result = config_home(home, sizeof(home), &fault);

	if (result == RESULT_OK)
		result =
		    log_files_open(home, "agentnode-keyring", fd_r, &fault);
	return result;
}

static enum result
keyring_call_child(struct keyring_call *call, struct event_base *base,
    const struct keyring_call_spec *spec)
{
	static const struct child_handlers handlers = {
	    NULL, keyring_call_on_message, keyring_call_on_end};
	struct child_spec child = {.role = IPC_KEYRING};
	struct keyring_options options;
	FD_CLEANUP int log = -1;
	enum result result = keyring_call_log(&log);

	if (result != RESULT_OK)
		return result;
	result = keyring_options_make(spec, log, &options);
	call->limit_ms = options.limit_ms;
	if (result == RESULT_OK) {
		child.config = options.config;
		child.config_fds = options.fds;
		child.config_fd_count = options.fd_count;
		result =
		    child_start(base, &child, &handlers, call, &call->child);
	}
	keyring_options_clear(&options);
	return result;
}

/* A terminal that a person is asked at: how it was before. */
static enum result
keyring_call_keep(
    struct keyring_call *call, const struct keyring_call_spec *spec)
{
	int fd = -1;

	if (spec->source == KEYRING_INPUT_TERMINAL)
		fd = spec->source_fd;
	else if (spec->passphrase == KEYRING_INPUT_TERMINAL)
		fd = spec->passphrase_fd;
	if (fd < 0)
		return RESULT_OK;
	if (tcgetattr(fd, &call->before) != 0)
		return RESULT_SYSTEM;
	call->terminal = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return call->terminal < 0 ? RESULT_SYSTEM : RESULT_OK;
}

/* No deadline while somebody types, or fills a pipe. */
static bool
keyring_call_is_bounded(const struct keyring_call_spec *spec)
{
	return spec->source == KEYRING_INPUT_NONE &&
	       (spec->passphrase == KEYRING_INPUT_NONE ||
		   spec->passphrase == KEYRING_INPUT_TOKEN);
}

enum result
keyring_call_start(struct event_base *base,
    const struct keyring_call_spec *spec,
    const struct keyring_call_handlers *handlers, void *context,
    struct keyring_call **call_r)
{
	struct keyring_call *call = calloc(1, sizeof(*call));
	enum result result;

	*call_r = NULL;
	if (call == NULL)
		return RESULT_NO_MEMORY;
	call->terminal = -1;
	call->handlers = *handlers;
	call->context = context;
	call->is_store = spec->op == KEYRING_STORE;
	call->deadline = event_new(base, -1, 0, keyring_call_on_deadline, call);
	result = call->deadline == NULL ? RESULT_NO_MEMORY
					: keyring_call_keep(call, spec);
	if (result == RESULT_OK)
		result = keyring_call_child(call, base, spec);
	if (result != RESULT_OK) {
		keyring_call_free(&call);
		return result;
	}
	if (keyring_call_is_bounded(spec))
		keyring_call_arm(call);
	*call_r = call;
	return RESULT_OK;
}

void
keyring_call_commit(struct keyring_call *call)
{
	struct ipc_message message;

	keyring_call_restore(call);
	keyring_call_arm(call);
	ipc_message_init(&message, IPC_WORK, KEYRING_CALL_COMMIT_ID);
	message.body = json_pack("{s:s, s:{}}", "job", "commit", "options");
	if (message.body != NULL)
		(void)child_send(call->child, &message); /* or it ends */
	ipc_message_clear(&message);
}

void
keyring_call_free(struct keyring_call **call)
{
	struct keyring_call *gone = *call;

	if (gone == NULL)
		return;
	*call = NULL;
	child_free(&gone->child);
	keyring_call_restore(gone);
	if (gone->deadline != NULL)
		event_free(gone->deadline);
	free(gone);
}

struct keyring_call_waiting {
	struct event_base *base;
	enum keyring_status status;
	char *detail;
	size_t size;
	int *block, *token; /* NULL: not wanted */
};

static void
keyring_call_keep_fd(int *from, int *to)
{
	if (to == NULL)
		return;
	*to = *from;
	*from = -1;
}

static void
keyring_call_on_waited(struct keyring_answer *answer, void *context)
{
	struct keyring_call_waiting *waiting = context;

	waiting->status = answer->status;
	keyring_call_keep_fd(&answer->block_fd, waiting->block);
	keyring_call_keep_fd(&answer->token_fd, waiting->token);
	(void)snprintf(waiting->detail, waiting->size, "%s", answer->detail);
	event_loop_stop(waiting->base);
}

enum keyring_status
keyring_call_fetch(const struct keyring_call_spec *spec, int *block_r,
    int *token_r, char *detail_r, size_t detail_size)
{
	static const struct keyring_call_handlers handlers = {
	    NULL, keyring_call_on_waited};
	struct keyring_call_waiting waiting = {
	    NULL, KEYRING_FAILED, detail_r, detail_size, block_r, token_r};
	struct keyring_call *call = NULL;
	enum result result = event_loop_new(&waiting.base);

	if (block_r != NULL)
		*block_r = *token_r = -1;

	if (result == RESULT_OK)
		result = keyring_call_start(
		    waiting.base, spec, &handlers, &waiting, &call);
	if (result == RESULT_OK)
		result = event_loop_run(waiting.base);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "agentnode-keyring could not be started: %s",
		    result_text(result));
	keyring_call_free(&call);
	if (waiting.base != NULL)
		event_base_free(waiting.base);
	return waiting.status;
}

enum keyring_status
keyring_call_wait(
    const struct keyring_call_spec *spec, char *detail_r, size_t detail_size)
{
	return keyring_call_fetch(spec, NULL, NULL, detail_r, detail_size);
}

int
keyring_call_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && tcgetpgrp(fd) != getpgrp())
		fd_close(&fd);
	return fd;
}
