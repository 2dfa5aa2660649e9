/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the helper (see the header). Called by main and the job. It
 * must never send a byte of a key: statuses, sentences and four characters.
 */
#include "llm-broker/keyring/keyring_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"

static void
keyring_channel_send(struct ipc_message *message)
{
	static char bytes[IPC_MESSAGE_MAX];
	char fault[256] = "the message could not be made";
	enum result result = RESULT_NO_MEMORY;
	size_t len = 0;

	if (message->body != NULL)
		result = ipc_encode(message, IPC_KEYRING, IPC_SUPERVISOR, bytes,
		    sizeof(bytes), &len, fault, sizeof(fault));
	if (result != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "send", fault);
	result = fd_send(
	    IPC_CONTROL_FD, bytes, len, message->fds, message->fd_count);
	if (result != RESULT_OK)
		log_fatal(IPC_EXIT_SUPERVISOR, "send", result_text(result));
}

void
keyring_channel_ready(json_t *layers)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_READY, 0);
	message.body = json_pack("{s:o}", "layers", layers);
	keyring_channel_send(&message);
	ipc_message_clear(&message);
}

/* A fault may name bytes of a file or a service: as text only. */
static json_t *
keyring_channel_result(const struct keyring_outcome *outcome)
{
	char detail[KEYRING_OUTCOME_DETAIL_MAX];
	json_t *result =
	    json_pack("{s:s}", "status", keyring_words_status(outcome->status));

	log_clean(
	    outcome->detail, strlen(outcome->detail), detail, sizeof(detail));
	if (detail[0] != '\0')
		(void)json_object_set_new(
		    result, "detail", json_string(detail));
	if (outcome->last4[0] != '\0')
		(void)json_object_set_new(
		    result, "last4", json_string(outcome->last4));
	return result;
}

/* One more descriptor; the result says which. */
static void
keyring_channel_fd(struct ipc_message *message, const char *key, int fd)
{
	if (fd < 0 || message->body == NULL)
		return;
	(void)json_object_set_new(json_object_get(message->body, "result"), key,
	    json_integer((json_int_t)message->fd_count));
	message->fds[message->fd_count++] = fd;
}

void
keyring_channel_done(const char *job, const struct keyring_outcome *outcome)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_DONE, 0);
	message.body = json_pack("{s:s, s:o}", "job", job, "result",
	    keyring_channel_result(outcome));
	keyring_channel_fd(&message, "token", outcome->token_fd);
	keyring_channel_fd(&message, "block", outcome->block_fd);
	keyring_channel_send(&message);
	message.fd_count = 0; /* the outcome's owner closes them */
	ipc_message_clear(&message);
}

/* One message; false when it was none to act on. */
static bool
keyring_channel_receive(void)
{
	static char bytes[IPC_MESSAGE_MAX];
	struct ipc_message message;
	char fault[256] = "";
	bool is_commit;
	enum result result;
	size_t len;

	ipc_message_init(&message, IPC_WORK, 0);
	result = fd_receive(IPC_CONTROL_FD, bytes, sizeof(bytes), &len,
	    message.fds, IPC_FDS_MAX, &message.fd_count);
	if (result == RESULT_EOF)
		log_fatal(
		    IPC_EXIT_SUPERVISOR, "control", "the supervisor is gone");
	if (result == RESULT_OK)
		result = ipc_decode(bytes, len, message.fd_count,
		    IPC_SUPERVISOR, IPC_KEYRING, IPC_RUNNING, &message, fault,
		    sizeof(fault));
	if (result != RESULT_OK)
		log_fatal(IPC_EXIT_PROTOCOL, "control", fault);
	is_commit =
	    message.type == IPC_WORK &&
	    strcmp(json_string_value(json_object_get(message.body, "job")),
		"commit") == 0 &&
	    json_object_size(json_object_get(message.body, "options")) == 0;
	if (message.type == IPC_LOG_REPLACE)
		log_replace_all(ipc_message_take_fd(&message, 0));
	else if (!is_commit)
		log_fatal(IPC_EXIT_PROTOCOL, "control",
		    "a message that is no commit");
	ipc_message_clear(&message);
	return is_commit;
}

void
keyring_channel_wait_commit(void)
{
	while (!keyring_channel_receive())
		continue;
}

bool
keyring_channel_is_over(void)
{
	struct pollfd control = {.fd = IPC_CONTROL_FD, .events = 0};

	return poll(&control, 1, 0) > 0 &&
	       (control.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}
