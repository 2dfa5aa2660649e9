/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one datagram. First byte: sender; second: receiver; third: state
 * (low bits) and descriptor count (high bits); the rest is the datagram.
 * What is accepted must encode again and decode to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "common/json_field.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_ipc_bytes[IPC_MESSAGE_MAX];

static void
fuzz_ipc_again(struct ipc_message *first, enum ipc_role sender,
    enum ipc_role receiver, enum ipc_state state)
{
	struct ipc_message second;
	char fault[256];
	size_t len;

	if (ipc_encode(first, sender, receiver, fuzz_ipc_bytes,
		sizeof(fuzz_ipc_bytes), &len, fault,
		sizeof(fault)) != RESULT_OK)
		abort();
	ipc_message_init(&second, IPC_CONFIG, 0);
	if (ipc_decode(fuzz_ipc_bytes, len, first->fd_count, sender, receiver,
		state, &second, fault, sizeof(fault)) != RESULT_OK ||
	    second.type != first->type || second.id != first->id ||
	    !json_equal(second.body, first->body))
		abort();
	ipc_message_clear(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum ipc_role sender, receiver;
	enum ipc_state state;
	struct ipc_message message;
	char fault[256] = "";
	enum result result;
	size_t fd_count;

	if (size < 3)
		return 0;
	json_object_seed(1); /* the same each time */
	sender = (enum ipc_role)((data[0] - '0') & 0xff) % IPC_ROLE_COUNT;
	receiver = (enum ipc_role)((data[1] - '0') & 0xff) % IPC_ROLE_COUNT;
	state = (enum ipc_state)(1U << (data[2] & 3U) % 3);
	fd_count = (data[2] >> 2) % (IPC_FDS_MAX + 2);
	ipc_message_init(&message, IPC_CONFIG, 0);
	result = ipc_decode((const char *)data + 3, size - 3, fd_count, sender,
	    receiver, state, &message, fault, sizeof(fault));
	if ((result == RESULT_OK) != (fault[0] == '\0') ||
	    (result == RESULT_OK) != (message.body != NULL))
		abort();
	if (result == RESULT_OK) {
		message.fd_count = fd_count;
		fuzz_ipc_again(&message, sender, receiver, state);
		message.fd_count = 0;
	}
	ipc_message_clear(&message);
	return 0;
}
