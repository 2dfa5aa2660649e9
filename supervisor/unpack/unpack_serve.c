/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes its config, confines the process, does one job at a time, each asked
 * for by a `work` message. Called by the mains of agentnode-unpack and
 * agentnode-collect. It must never open anything outside of the roots it was
 * given, dial, or exec.
 */
#include "supervisor/unpack/unpack_serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/unpack/unpack_confine.h"

static char unpack_serve_bytes[IPC_MESSAGE_MAX];

static void
unpack_serve_send(const struct ipc_message *message)
{
	char fault[256];
	size_t len;

	if (ipc_encode(message, IPC_UNPACK, IPC_SUPERVISOR, unpack_serve_bytes,
		sizeof(unpack_serve_bytes), &len, fault,
		sizeof(fault)) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "encode", fault);
	if (fd_send(IPC_CONTROL_FD, unpack_serve_bytes, len, NULL, 0) !=
	    RESULT_OK)
		exit(IPC_EXIT_SUPERVISOR);
}

static void
unpack_serve_ready(const struct confine_layers *layers)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_READY, 0);
	message.body = confine_ready(layers);
	unpack_serve_send(&message);
	ipc_message_clear(&message);
}

/* The next message; exits when the supervisor is gone or is not itself. */
static void
unpack_serve_receive(struct ipc_message *message_r)
{
	struct pollfd poll_fd = {.fd = IPC_CONTROL_FD, .events = POLLIN};
	int fds[IPC_FDS_MAX];
	size_t len = 0, fd_count = 0;
	char fault[256] = "";
	enum result result;

	do {
		if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
			log_fatal(IPC_EXIT_CRASH, "poll", strerror(errno));
		result = fd_receive(IPC_CONTROL_FD, unpack_serve_bytes,
		    sizeof(unpack_serve_bytes), &len, fds, IPC_FDS_MAX,
		    &fd_count);
	} while (result == RESULT_NEED_MORE);
	if (result == RESULT_EOF || result == RESULT_CLOSED)
		exit(IPC_EXIT_SUPERVISOR);
	if (result == RESULT_OK)
		result = ipc_decode(unpack_serve_bytes, len, fd_count,
		    IPC_SUPERVISOR, IPC_UNPACK, IPC_RUNNING, message_r, fault,
		    sizeof(fault));
	if (result != RESULT_OK)
		log_fatal(IPC_EXIT_PROTOCOL, "message", fault);
	memcpy(message_r->fds, fds, fd_count * sizeof(fds[0]));
	message_r->fd_count = fd_count;
}

static void
unpack_serve_answer_failed(uint64_t id, const char *code, const char *detail)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_FAILED, id);
	message.body = json_pack("{s:s,s:s}", "code", code, "detail", detail);
	unpack_serve_send(&message);
	ipc_message_clear(&message);
}

/* Pipes of a job are waited for with poll, never inside of read or write. */
static void
unpack_serve_nonblocking(const struct ipc_message *work)
{
	for (size_t i = 0; i < work->fd_count; i++)
		if (fd_set_nonblocking(work->fds[i], true) != RESULT_OK)
			log_fatal(IPC_EXIT_CRASH, "fcntl", strerror(errno));
}

static void
unpack_serve_work(const struct job_table_row *rows,
    const struct unpack_config *config, struct ipc_message *work)
{
	struct unpack_io io = {.control_fd = IPC_CONTROL_FD};
	struct json_fault fault = {""};
	const char *job = json_string_value(json_object_get(work->body, "job"));
	struct ipc_message answer;
	json_t *result_object = NULL;
	enum result result;

	unpack_serve_nonblocking(work);
	result = job_table_run(rows, config, &io, job,
	    json_object_get(work->body, "options"), work->fds, work->fd_count,
	    &result_object, &fault);
	if (result == RESULT_REFUSED && io.code == NULL)
		log_fatal(IPC_EXIT_PROTOCOL, "work", fault.text);
	log_event(LOG_INFO_LEVEL, "job", LOG_TEXT("job", job),
	    LOG_TEXT("code", io.code == NULL ? "" : io.code),
	    LOG_TEXT("detail", io.detail));
	if (result != RESULT_OK) {
		unpack_serve_answer_failed(work->id,
		    io.code == NULL ? "internal" : io.code,
		    io.code == NULL ? result_text(result) : io.detail);
		return;
	}
	ipc_message_init(&answer, IPC_DONE, work->id);
	answer.body =
	    json_pack("{s:s,s:o}", "job", job, "result", result_object);
	unpack_serve_send(&answer);
	ipc_message_clear(&answer);
}

static void
unpack_serve_config(struct unpack_config *config_r)
{
	struct json_fault fault = {""};
	struct ipc_message message;
	char detail[256] = "";

	if (peer_receive_first(IPC_CONTROL_FD, IPC_UNPACK, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, &message, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config", detail);
	if (unpack_config_read(&message, config_r, &fault) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config", fault.text);
	ipc_message_clear(&message);
	log_open(config_r->log_fd, "agentnode-unpack", LOG_INFO_LEVEL);
}

_Noreturn void
unpack_serve(const struct job_table_row *rows)
{
	struct confine_layers layers;
	struct unpack_config config;
	struct ipc_message message;
	char detail[256] = "";

	unpack_serve_config(&config);
	if (unpack_confine_enter(&config, &layers, detail, sizeof(detail)) !=
	    RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "confine", detail);
	unpack_serve_ready(&layers);
	for (;;) {
		unpack_serve_receive(&message);
		if (message.type == IPC_WORK)
			unpack_serve_work(rows, &config, &message);
		else if (message.type == IPC_LOG_REPLACE)
			log_replace_all(ipc_message_take_fd(&message, 0));
		ipc_message_clear(&message);
	}
}
