/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-unpack: reads foreign archives and file trees so that nobody
 * else has to. Started by the supervisor; does one job at a time, each
 * asked for by a `work` message. It must never open anything outside of the
 * roots it was given, dial, or exec.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/unpack/archive_source.h"
#include "supervisor/unpack/job_table.h"
#include "supervisor/unpack/tree_digest.h"
#include "supervisor/unpack/unpack_confine.h"

static char main_bytes[IPC_MESSAGE_MAX];

static void
main_send(const struct ipc_message *message)
{
	char fault[256];
	size_t len;

	if (ipc_encode(message, IPC_UNPACK, IPC_SUPERVISOR, main_bytes,
		sizeof(main_bytes), &len, fault, sizeof(fault)) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "encode", fault);
	if (fd_send(IPC_CONTROL_FD, main_bytes, len, NULL, 0) != RESULT_OK)
		exit(IPC_EXIT_SUPERVISOR);
}

static void
main_ready(const struct confine_layers *layers)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_READY, 0);
	message.body = confine_ready(layers);
	main_send(&message);
	ipc_message_clear(&message);
}

/* The next message; exits when the supervisor is gone or is not itself. */
static void
main_receive(struct ipc_message *message_r)
{
	struct pollfd poll_fd = {.fd = IPC_CONTROL_FD, .events = POLLIN};
	int fds[IPC_FDS_MAX];
	size_t len = 0, fd_count = 0;
	char fault[256] = "";
	enum result result;

	do {
		if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
			log_fatal(IPC_EXIT_CRASH, "poll", strerror(errno));
		result = fd_receive(IPC_CONTROL_FD, main_bytes,
		    sizeof(main_bytes), &len, fds, IPC_FDS_MAX, &fd_count);
	} while (result == RESULT_NEED_MORE);
	if (result == RESULT_EOF || result == RESULT_CLOSED)
		exit(IPC_EXIT_SUPERVISOR);
	if (result == RESULT_OK)
		result = ipc_decode(main_bytes, len, fd_count, IPC_SUPERVISOR,
		    IPC_UNPACK, IPC_RUNNING, message_r, fault, sizeof(fault));
	if (result != RESULT_OK)
		log_fatal(IPC_EXIT_PROTOCOL, "message", fault);
	memcpy(message_r->fds, fds, fd_count * sizeof(fds[0]));
	message_r->fd_count = fd_count;
}

static void
main_answer_failed(uint64_t id, const char *code, const char *detail)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_FAILED, id);
	message.body = json_pack("{s:s,s:s}", "code", code, "detail", detail);
	main_send(&message);
	ipc_message_clear(&message);
}

/* Pipes of a job are waited for with poll, never inside of read or write. */
static void
main_nonblocking(const struct ipc_message *work)
{
	for (size_t i = 0; i < work->fd_count; i++)
		if (fd_set_nonblocking(work->fds[i], true) != RESULT_OK)
			log_fatal(IPC_EXIT_CRASH, "fcntl", strerror(errno));
}

static void
main_work(const struct unpack_config *config, struct ipc_message *work)
{
	struct unpack_io io = {.control_fd = IPC_CONTROL_FD};
	struct json_fault fault = {""};
	const char *job = json_string_value(json_object_get(work->body, "job"));
	struct ipc_message answer;
	json_t *result_object = NULL;
	enum result result;

	main_nonblocking(work);
	result = job_table_run(config, &io, job,
	    json_object_get(work->body, "options"), work->fds, work->fd_count,
	    &result_object, &fault);
	if (result == RESULT_REFUSED && io.code == NULL)
		log_fatal(IPC_EXIT_PROTOCOL, "work", fault.text);
	log_event(LOG_INFO_LEVEL, "job", LOG_TEXT("job", job),
	    LOG_TEXT("code", io.code == NULL ? "" : io.code),
	    LOG_TEXT("detail", io.detail));
	if (result != RESULT_OK) {
		main_answer_failed(work->id,
		    io.code == NULL ? "internal" : io.code,
		    io.code == NULL ? result_text(result) : io.detail);
		return;
	}
	ipc_message_init(&answer, IPC_DONE, work->id);
	answer.body =
	    json_pack("{s:s,s:o}", "job", job, "result", result_object);
	main_send(&answer);
	ipc_message_clear(&answer);
}

static void
main_config(struct unpack_config *config_r)
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

int
main(void)
{
	struct confine_layers layers;
	struct unpack_config config;
	struct ipc_message message;
	char detail[256] = "";

	log_open(STDERR_FILENO, "agentnode-unpack", LOG_INFO_LEVEL);
	/* Somebody wants a file of which we have a lease: it is given back
	 * at once, nothing is to be done. */
	(void)signal(SIGIO, SIG_IGN);
	confine_preload();
	archive_source_load();
	if (tree_digest_load() != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "libcrypto", "no SHA-2");
	main_config(&config);
	if (unpack_confine_enter(&config, &layers, detail, sizeof(detail)) !=
	    RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "confine", detail);
	main_ready(&layers);
	for (;;) {
		main_receive(&message);
		if (message.type == IPC_WORK)
			main_work(&config, &message);
		else if (message.type == IPC_LOG_REPLACE)
			log_replace_all(ipc_message_take_fd(&message, 0));
		ipc_message_clear(&message);
	}
}
