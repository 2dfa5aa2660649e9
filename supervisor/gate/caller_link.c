/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between gate_caller and the control socket. Called by main.c; it must
 * never answer a job twice, nor put a byte of a result into a message.
 */
#include "supervisor/gate/caller_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"

static bool
caller_link_send(struct caller_link *link, uint64_t id, bool list,
    const char *code, const char *detail, int fd)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, IPC_DONE, id);
	message.body = json_pack("{s:s, s:{s:s, s:s}}", "job",
	    list ? "list" : "call", "result", "code", code, "detail", detail);
	if (fd >= 0) {
		message.fds[0] = fd;
		message.fd_count = 1;
	}
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : peer_send(link->peer, &message);
	message.fd_count = 0; /* the caller's */
	ipc_message_clear(&message);
	return result == RESULT_OK;
}

static bool
caller_link_tell_one(
    struct caller_link *link, const struct gate_caller_job *job)
{
	const char *code = job->code, *detail = job->detail;
	int fd FD_CLEANUP = -1;

	if (code[0] == '\0' &&
	    fd_sealed_memfd("result", buffer_bytes_borrow(&job->bytes),
		job->bytes.len, &fd) != RESULT_OK) {
		code = "no_memory";
		detail = "the result cannot be handed on";
	}
	log_event(LOG_INFO_LEVEL, "caller_answer", LOG_UINT("job", job->id),
	    LOG_TEXT("request", job->request), LOG_TEXT("tool", job->tool),
	    LOG_BOOL("list", job->list), LOG_TEXT("code", code),
	    LOG_UINT("bytes", job->bytes.len));
	return caller_link_send(link, job->id, job->list, code, detail, fd);
}

bool
caller_link_tell(struct caller_link *link)
{
	struct gate_caller_job *job;
	bool told = true;

	while (
	    told && (job = gate_caller_answered(&link->gate->caller)) != NULL) {
		told = caller_link_tell_one(link, job);
		gate_caller_forget(job);
	}
	return told;
}

static bool
caller_link_is_full(const struct gate_caller *caller)
{
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		if (caller->jobs[i].step == GATE_CALLER_FREE)
			return false;
	}
	return true;
}

static bool
caller_link_cancel(struct caller_link *link, const struct ipc_message *message)
{
	if (message->fd_count > 0 ||
	    json_object_size(json_object_get(message->body, "options")) > 0)
		return false;
	gate_io_cancel(link->io, message->id);
	return true;
}

static const char *
caller_link_text(const json_t *value)
{
	return value != NULL ? json_string_value(value) : "";
}

/* Its answer's line names the request, too. */
static void
caller_link_mark(struct gate_caller *caller, uint64_t id, const char *request)
{
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		struct gate_caller_job *job = &caller->jobs[i];

		if (job->step != GATE_CALLER_FREE && job->id == id)
			(void)snprintf(
			    job->request, sizeof(job->request), "%s", request);
	}
}

static bool
caller_link_job(struct caller_link *link, struct ipc_message *message)
{
	const json_t *options = json_object_get(message->body, "options");
	const json_t *tool = json_object_get(options, "tool");
	const json_t *request = json_object_get(options, "request");
	bool list =
	    strcmp(json_string_value(json_object_get(message->body, "job")),
		"list") == 0;
	int fd FD_CLEANUP = ipc_message_take_fd(message, 0);
	char *bytes = NULL;
	size_t len = 0;

	if (json_object_size(options) !=
		(size_t)(tool != NULL) + (size_t)(request != NULL) ||
	    (tool != NULL && !json_is_string(tool)) ||
	    (request != NULL && !json_is_string(request)) || (fd >= 0) == list)
		return false;
	log_event(LOG_INFO_LEVEL, "caller_call", LOG_UINT("job", message->id),
	    LOG_TEXT("request", caller_link_text(request)),
	    LOG_TEXT("tool", caller_link_text(tool)), LOG_BOOL("list", list));
	if (caller_link_is_full(&link->gate->caller))
		return caller_link_send(link, message->id, list,
		    "too_many_requests", "too many jobs of one package", -1);
	if (!list && (!fd_is_sealed(fd) || fd_read_all(fd, link->arguments_max,
					       &bytes, &len) != RESULT_OK))
		return caller_link_send(link, message->id, list, "too_long",
		    "the arguments are longer than arguments_max", -1);
	gate_io_job(link->io, message->id, list,
	    tool != NULL ? json_string_value(tool) : NULL,
	    bytes != NULL ? bytes : "", len);
	caller_link_mark(
	    &link->gate->caller, message->id, caller_link_text(request));
	free(bytes);
	return true;
}

bool
caller_link_work(struct caller_link *link, struct ipc_message *message)
{
	const char *job =
	    json_string_value(json_object_get(message->body, "job"));

	return strcmp(job, "cancel") == 0 ? caller_link_cancel(link, message)
					  : caller_link_job(link, message);
}
