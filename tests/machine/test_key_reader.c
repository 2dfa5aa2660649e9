/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a key to llm-key, with the real helper: keys are stored in the
 * encrypted file and as credentials, and what arrives on the pair is a `key`
 * message and the key itself; the supervisor's side hears a status alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/key_reader.h"
#include "supervisor/policy/keyring_call.h"
#include "tests/support/test_folder.h"

#define OPENAI "sk-openai-0123456789abcdef"
#define GEMINI "AIza-gemini-0123456789abcd"
#define LOCAL "credential-0123456789"
#define PASSPHRASE "correct horse\n"

struct test_key_reader {
	struct event_base *base;
	char home[64], credentials[80];
	enum keyring_status status; /* of the last done */
	char detail[768];
	unsigned count;
	enum keyring_status all[4];
};

/* The read end of a pipe that holds the text. */
static int
test_key_reader_pipe(const char *text)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_write_all(ends[1], text, strlen(text)), RESULT_OK);
	close(ends[1]);
	return ends[0];
}

static void
test_key_reader_on_taken(struct keyring_call *call,
    const struct keyring_answer *answer, void *context)
{
	(void)context;
	assert_int_equal(answer->status, KEYRING_OK);
	assert_int_equal(strlen(answer->last4), 4);
	keyring_call_commit(call);
}

static void
test_key_reader_on_stored(struct keyring_answer *answer, void *context)
{
	struct test_key_reader *test = context;

	test->status = answer->status;
	(void)snprintf(
	    test->detail, sizeof(test->detail), "%s", answer->detail);
	event_loop_stop(test->base);
}

static void
test_key_reader_store(
    struct test_key_reader *test, const char *provider, const char *key)
{
	static const struct keyring_call_handlers handlers = {
	    test_key_reader_on_taken, test_key_reader_on_stored};
	struct keyring_call_spec spec = {.op = KEYRING_STORE,
	    .backend = KEYRING_FILE,
	    .name = provider,
	    .pair_fd = -1,
	    .source = KEYRING_INPUT_PIPE,
	    .source_fd = test_key_reader_pipe(key),
	    .passphrase = KEYRING_INPUT_PIPE,
	    .passphrase_fd = test_key_reader_pipe(PASSPHRASE)};
	struct json_fault fault = {""};
	struct keyring_call *call;

	assert_int_equal(
	    keyring_call_start(test->base, &spec, &handlers, test, &call),
	    RESULT_OK);
	close(spec.source_fd);
	close(spec.passphrase_fd);
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	keyring_call_free(&call);
	if (test->status != KEYRING_OK)
		fail_msg("%s", test->detail);
	assert_int_equal(
	    credential_put(KEYRING_KEY, provider, KEYRING_FILE, "", &fault),
	    RESULT_OK);
}

static int
test_key_reader_setup(void **state)
{
	struct test_key_reader *test = calloc(1, sizeof(*test));
	char path[128];
	int fd;

	assert_non_null(test);
	(void)unsetenv("DBUS_SESSION_BUS_ADDRESS");
	(void)unsetenv("XDG_RUNTIME_DIR");
	snprintf(test->home, sizeof(test->home), "/tmp/test_key_reader_XXXXXX");
	assert_non_null(test_folder_new(test->home));
	snprintf(test->credentials, sizeof(test->credentials), "%s/given",
	    test->home);
	assert_int_equal(mkdir(test->credentials, 0700), 0);
	snprintf(path, sizeof(path), "%s/agentnode.local", test->credentials);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);
	assert_int_equal(
	    fd_write_all(fd, LOCAL "\n", sizeof(LOCAL)), RESULT_OK);
	close(fd);
	assert_int_equal(setenv("AGENTNODE_HOME", test->home, 1), 0);
	assert_int_equal(
	    setenv("CREDENTIALS_DIRECTORY", test->credentials, 1), 0);
	assert_int_equal(event_loop_new(&test->base), RESULT_OK);
	test_key_reader_store(test, "openai", OPENAI "\n");
	test_key_reader_store(test, "gemini", GEMINI);
	*state = test;
	return 0;
}

static int
test_key_reader_teardown(void **state)
{
	static const char *const names[] = {"given/agentnode.local", "given",
	    "log/agentnode-keyring.jsonl", "log", "keys.enc",
	    "credentials.json", ""};
	struct test_key_reader *test = *state;
	char path[160];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", test->home, names[i]);
		assert_int_equal(remove(path), 0);
	}
	event_base_free(test->base);
	free(test);
	return 0;
}

static void
test_key_reader_on_done(const char *provider, enum keyring_status status,
    const char *detail, void *context)
{
	struct test_key_reader *test = context;

	assert_true(test->count > 0 && provider[0] != '\0');
	test->all[--test->count] = status;
	test->status = status;
	(void)snprintf(test->detail, sizeof(test->detail), "%s", detail);
	if (test->count == 0)
		event_loop_stop(test->base);
}

/* What llm-key would get: the status, and the key or nothing. */
static void
test_key_reader_expect(
    int pair, const char *provider, const char *status, const char *key)
{
	static char bytes[IPC_MESSAGE_MAX];
	struct ipc_message message;
	char fault[256] = "";
	size_t len, count;
	json_int_t length;
	int fds[1];

	ipc_message_init(&message, IPC_KEY_SECRET, 0);
	assert_int_equal(
	    fd_receive(pair, bytes, sizeof(bytes), &len, fds, 1, &count),
	    RESULT_OK);
	assert_int_equal(count, 0);
	if (key != NULL)
		assert_null(memmem(bytes, len, key, strlen(key)));
	assert_int_equal(ipc_decode(bytes, len, 0, IPC_KEYRING, IPC_KEY,
			     IPC_RUNNING, &message, fault, sizeof(fault)),
	    RESULT_OK);
	assert_string_equal(
	    json_string_value(json_object_get(message.body, "provider")),
	    provider);
	assert_string_equal(
	    json_string_value(json_object_get(message.body, "status")), status);
	length = json_integer_value(json_object_get(message.body, "length"));
	assert_int_equal(length, key == NULL ? 0 : strlen(key));
	ipc_message_clear(&message);
	if (key != NULL) {
		assert_int_equal(fd_receive(pair, bytes, sizeof(bytes), &len,
				     fds, 1, &count),
		    RESULT_OK);
		assert_int_equal(len, strlen(key));
		assert_memory_equal(bytes, key, len);
	}
	assert_int_equal(
	    fd_receive(pair, bytes, sizeof(bytes), &len, fds, 1, &count),
	    RESULT_EOF);
	close(pair);
}

/* Read count providers with one passphrase; the llm-key ends. */
static void
test_key_reader_read(struct test_key_reader *test, const char *passphrase,
    const char *const *providers, size_t count, int *ends_r)
{
	struct key_reader *reader;
	int fd = passphrase == NULL ? -1 : test_key_reader_pipe(passphrase);
	int pair[2];

	assert_int_equal(key_reader_new(test->base, fd, test_key_reader_on_done,
			     test, &reader),
	    RESULT_OK);
	if (fd >= 0)
		close(fd);
	test->count = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fd_socketpair(pair), RESULT_OK);
		ends_r[i] = pair[0];
		assert_int_equal(
		    key_reader_read(reader, providers[i], pair[1]), RESULT_OK);
	}
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	key_reader_free(&reader);
}

/* The passphrase is read once; the token opens the file for the others. */
static void
i02_keys_of_a_run(void **state)
{
	static const char *const providers[] = {
	    "openai", "gemini", "local", "openai"};
	struct test_key_reader *test = *state;
	int ends[4];

	test_key_reader_read(test, PASSPHRASE, providers, 4, ends);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(test->all[i], KEYRING_OK);
	test_key_reader_expect(ends[0], "openai", "found", OPENAI);
	test_key_reader_expect(ends[1], "gemini", "found", GEMINI);
	test_key_reader_expect(ends[2], "local", "found", LOCAL);
	test_key_reader_expect(ends[3], "openai", "found", OPENAI);
}

static void
test_key_reader_wrong_passphrase(void **state)
{
	static const char *const providers[] = {"openai"};
	struct test_key_reader *test = *state;
	int end;

	test_key_reader_read(test, "correct horsf", providers, 1, &end);
	assert_int_equal(test->status, KEYRING_WRONG_PASSPHRASE);
	assert_non_null(strstr(test->detail, "wrong passphrase"));
	test_key_reader_expect(end, "openai", "unavailable", NULL);
}

static void
test_key_reader_no_passphrase(void **state)
{
	static const char *const providers[] = {"openai"};
	struct test_key_reader *test = *state;
	int end;

	test_key_reader_read(test, NULL, providers, 1, &end);
	assert_int_equal(test->status, KEYRING_WRONG_PASSPHRASE);
	assert_non_null(strstr(test->detail, "--passphrase-fd"));
	test_key_reader_expect(end, "openai", "unavailable", NULL);
}

/* Nobody stored one; the keychain of the configuration is asked. */
static void
test_key_reader_no_key(void **state)
{
	static const char *const providers[] = {"anthropic"};
	struct test_key_reader *test = *state;
	int end;

	test_key_reader_read(test, NULL, providers, 1, &end);
	assert_int_equal(test->status, KEYRING_NO_BUS);
	assert_non_null(strstr(test->detail, "auth set anthropic"));
	test_key_reader_expect(end, "anthropic", "unavailable", NULL);
}

/* llm-key is gone: that is told, and the key is nowhere. */
static void
test_key_reader_nobody_there(void **state)
{
	struct test_key_reader *test = *state;
	struct key_reader *reader;
	int pair[2];

	assert_int_equal(key_reader_new(test->base, -1, test_key_reader_on_done,
			     test, &reader),
	    RESULT_OK);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	close(pair[0]);
	test->count = 1;
	assert_int_equal(key_reader_read(reader, "local", pair[1]), RESULT_OK);
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	assert_int_equal(test->status, KEYRING_FAILED);
	assert_non_null(strstr(test->detail, "llm-key"));
	key_reader_free(&reader);
}

/* Ended in the middle: no done, no pair left open. */
static void
test_key_reader_is_freed(void **state)
{
	struct test_key_reader *test = *state;
	struct key_reader *reader;
	char byte;
	int pair[2], fd = test_key_reader_pipe(PASSPHRASE);

	assert_int_equal(key_reader_new(test->base, fd, test_key_reader_on_done,
			     test, &reader),
	    RESULT_OK);
	close(fd);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(key_reader_read(reader, "openai", pair[1]), RESULT_OK);
	assert_int_equal(event_base_loop(test->base, EVLOOP_ONCE), 0);
	key_reader_free(&reader);
	assert_null(reader);
	/* The helper may have sent its message before it was killed. */
	while (recv(pair[0], &byte, 1, 0) > 0)
		continue;
	close(pair[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i02_keys_of_a_run),
	    cmocka_unit_test(test_key_reader_wrong_passphrase),
	    cmocka_unit_test(test_key_reader_no_passphrase),
	    cmocka_unit_test(test_key_reader_no_key),
	    cmocka_unit_test(test_key_reader_nobody_there),
	    cmocka_unit_test(test_key_reader_is_freed),
	};

	return cmocka_run_group_tests(
	    tests, test_key_reader_setup, test_key_reader_teardown);
}
