/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a key to llm-key (see the header). Called by the job once. The
 * secret must never be part of an encoded message.
 */
#include "llm-broker/keyring/key_send.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"

#define KEY_SEND_TIMEOUT_S 10

static const char *
key_send_status(enum keyring_status status)
{
	if (status == KEYRING_OK)
		return "found";
	return status == KEYRING_MISSING ? "missing" : "unavailable";
}

static enum result
key_send_head(int pair, const char *provider, const struct secret *key,
    const struct keyring_outcome *outcome)
{
	static char bytes[IPC_MESSAGE_MAX];
	char fault[256], detail[KEYRING_OUTCOME_DETAIL_MAX];
	struct ipc_message message;
	enum result result = RESULT_NO_MEMORY;
	size_t len;

	log_clean(
	    outcome->detail, strlen(outcome->detail), detail, sizeof(detail));
	ipc_message_init(&message, IPC_KEY_SECRET, 0);
	message.body = json_pack("{s:s, s:s, s:s}", "provider", provider,
	    "status", key_send_status(outcome->status), "detail", detail);
	if (message.body != NULL && key != NULL)
		(void)json_object_set_new(message.body, "length",
		    json_integer((json_int_t)secret_len(key)));
	if (message.body != NULL)
		result = ipc_encode(&message, IPC_KEYRING, IPC_KEY, bytes,
		    sizeof(bytes), &len, fault, sizeof(fault));
	if (result == RESULT_OK)
		result = fd_send(pair, bytes, len, NULL, 0);
	ipc_message_clear(&message);
	return result;
}

void
key_send(int pair, const char *provider, const struct secret *key,
    struct keyring_outcome *outcome)
{
	const struct timeval limit = {.tv_sec = KEY_SEND_TIMEOUT_S};
	enum result result = RESULT_SYSTEM;

	if (setsockopt(pair, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ==
	    0)
		result = key_send_head(pair, provider, key, outcome);
	if (result == RESULT_OK && key != NULL)
		result = fd_send(
		    pair, secret_bytes_borrow(key), secret_len(key), NULL, 0);
	if (result != RESULT_OK)
		keyring_outcome_set(outcome, KEYRING_FAILED,
		    "llm-key did not take the key: %s", result_text(result));
}
