/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays supervisor and llm-key for the keyring helper: reads the keys of the
 * named providers, one after the other, and prints what came for each:
 *   PROVIDER STATUS LENGTH SHA256-or-"-" DETAIL
 * read_key [--passphrase-fd N] PROVIDER...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/key_reader.h"

struct read_key {
	struct event_base *base;
	int ends[KEY_READER_WAITING_MAX];
	size_t next, count;
};

/* What lies in llm-key's end: a message, and with it a key. */
static void
read_key_print(int end, const char *provider, const char *detail)
{
	static char bytes[IPC_MESSAGE_MAX];
	char fault[256] = "", hex[DIGEST_HEX + 1] = "-";
	struct ipc_message message;
	size_t len = 0, count;
	int fds[1];

	ipc_message_init(&message, IPC_KEY_SECRET, 0);
	if (fd_receive(end, bytes, sizeof(bytes), &len, fds, 1, &count) !=
		RESULT_OK ||
	    ipc_decode(bytes, len, count, IPC_KEYRING, IPC_KEY, IPC_RUNNING,
		&message, fault, sizeof(fault)) != RESULT_OK) {
		printf("%s no-message 0 - %s\n", provider, fault);
		return;
	}
	len = 0;
	if (json_object_get(message.body, "length") != NULL &&
	    fd_receive(end, bytes, sizeof(bytes), &len, fds, 1, &count) ==
		RESULT_OK)
		(void)digest_sha256(bytes, len, hex);
	printf("%s %s %zu %s %s\n", provider,
	    json_string_value(json_object_get(message.body, "status")), len,
	    hex, detail);
	ipc_message_clear(&message);
}

static void
read_key_on_done(const char *provider, enum keyring_status status,
    const char *detail, void *context)
{
	struct read_key *tool = context;

	(void)status;
	read_key_print(tool->ends[tool->next++], provider, detail);
	if (tool->next == tool->count)
		event_loop_stop(tool->base);
}

int
main(int argc, char **argv)
{
	struct read_key tool = {.count = 0};
	struct key_reader *reader;
	int first = 1, passphrase = -1, pair[2];

	if (argc > 3 && strcmp(argv[1], "--passphrase-fd") == 0) {
		passphrase = atoi(argv[2]);
		first = 3;
	}
	if (event_loop_new(&tool.base) != RESULT_OK ||
	    key_reader_new(tool.base, passphrase, read_key_on_done, &tool,
		&reader) != RESULT_OK)
		return 70;
	if (passphrase >= 0)
		close(passphrase);
	for (int i = first; i < argc; i++) {
		if (fd_socketpair(pair) != RESULT_OK)
			return 70;
		tool.ends[tool.count++] = pair[0];
		if (key_reader_read(reader, argv[i], pair[1]) != RESULT_OK)
			return 2;
	}
	if (tool.count == 0 || event_loop_run(tool.base) != RESULT_OK)
		return 70;
	key_reader_free(&reader);
	event_base_free(tool.base);
	return 0;
}
