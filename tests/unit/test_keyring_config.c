/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keyring helper's first message: every option has its check, every job
 * what it needs, and every descriptor a name.
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
#include <unistd.h>

#include "llm-broker/keyring/keyring_config.h"

#define ID "\"home_id\":\"0123456789abcdef\""
#define READ "\"op\":\"read\",\"name\":\"openai\"," ID
#define STORE "\"op\":\"store\",\"name\":\"openai\"," ID
#define FETCH "\"op\":\"fetch\",\"kind\":\"secret\"," ID
#define KEYCHAIN "\"backend\":\"secret_service\""

struct test_keyring_config_row {
	const char *options;
	size_t fds;       /* beside the log */
	const char *word; /* of the fault; NULL: it is good */
};

static const struct test_keyring_config_row test_keyring_config_rows[] = {
    {READ "," KEYCHAIN ",\"pair_fd\":1", 1, NULL},
    {READ "," KEYCHAIN ",\"pair_fd\":1,\"bus\":\"unix:path=/x\","
	  "\"unlock_ms\":60000,\"deadline_ms\":3000",
	1, NULL},
    {READ ",\"backend\":\"credentials\",\"pair_fd\":1", 1, NULL},
    {READ ",\"backend\":\"credentials\",\"pair_fd\":2,\"credentials_fd\":1", 2,
	NULL},
    {READ ",\"backend\":\"file\",\"pair_fd\":1,\"home_fd\":2,"
	  "\"passphrase\":\"token\",\"passphrase_fd\":3",
	3, NULL},
    {READ ",\"backend\":\"file\",\"pair_fd\":1,\"home_fd\":2", 2, NULL},
    {STORE "," KEYCHAIN ",\"source\":\"terminal\",\"source_fd\":1", 1, NULL},
    {"\"op\":\"test\"," ID "," KEYCHAIN, 0, NULL},
    {"\"op\":\"remove\",\"name\":\"a\"," ID "," KEYCHAIN, 0, NULL},
    /* words */
    {"\"op\":\"list\",\"name\":\"openai\"," ID "," KEYCHAIN, 0, "op"},
    {ID "," KEYCHAIN, 0, "op"},
    {"\"op\":\"test\"," ID ",\"backend\":\"plain\"", 0, "backend"},
    {"\"op\":\"test\"," ID, 0, "backend"},
    {"\"op\":\"test\"," KEYCHAIN, 0, "home_id"},
    {"\"op\":\"test\",\"home_id\":\"0123456789ABCDEF\"," KEYCHAIN, 0,
	"home_id"},
    {"\"op\":\"test\",\"home_id\":\"0123456789abcde\"," KEYCHAIN, 0, "home_id"},
    {"\"op\":\"remove\"," ID "," KEYCHAIN, 0, "name"},
    {"\"op\":\"remove\",\"name\":\"../x\"," ID "," KEYCHAIN, 0, "name"},
    {"\"op\":\"test\"," ID "," KEYCHAIN ",\"extra\":1", 0, "extra"},
    {"\"op\":\"test\"," ID "," KEYCHAIN ",\"unlock_ms\":120001", 0,
	"unlock_ms"},
    {"\"op\":\"test\"," ID "," KEYCHAIN ",\"deadline_ms\":0", 0, "deadline_ms"},
    {STORE "," KEYCHAIN ",\"source\":\"token\",\"source_fd\":1", 1, "source"},
    {"\"op\":\"test\",\"kind\":\"other\"," ID "," KEYCHAIN, 0, "kind"},
    /* two name spaces, and an operation of each */
    {FETCH "," KEYCHAIN ",\"names\":[\"A\",\"_b2\"]", 0, NULL},
    {FETCH "," KEYCHAIN ",\"names\":[\"A\"],\"block_fd\":1", 1, NULL},
    {FETCH "," KEYCHAIN, 0, "names"},
    {FETCH "," KEYCHAIN ",\"names\":[]", 0, "names"},
    {FETCH "," KEYCHAIN ",\"names\":[\"A\",\"A\"]", 0, "twice"},
    {FETCH "," KEYCHAIN ",\"names\":[\"2A\"]", 0, "names[0]"},
    {FETCH "," KEYCHAIN ",\"names\":[\"open-ai\"]", 0, "names[0]"},
    {FETCH "," KEYCHAIN ",\"names\":[\"A\"],\"pair_fd\":1", 1, "pair_fd"},
    {"\"op\":\"fetch\"," ID "," KEYCHAIN ",\"names\":[\"openai\"]", 0, "op"},
    {READ ",\"kind\":\"secret\"," KEYCHAIN ",\"pair_fd\":1", 1, "op"},
    {STORE "," KEYCHAIN ",\"source\":\"pipe\",\"source_fd\":1,"
	   "\"names\":[\"openai\"]",
	1, "names"},
    {STORE "," KEYCHAIN ",\"source\":\"pipe\",\"source_fd\":1,"
	   "\"block_fd\":2",
	2, "block_fd"},
    {"\"op\":\"remove\",\"kind\":\"secret\",\"name\":\"A_1\"," ID "," KEYCHAIN,
	0, NULL},
    {"\"op\":\"remove\",\"name\":\"A_1\"," ID "," KEYCHAIN, 0, "name"},
    /* descriptors */
    {READ "," KEYCHAIN, 0, "pair_fd"},
    {READ "," KEYCHAIN ",\"pair_fd\":1", 0, "pair_fd"},
    {READ "," KEYCHAIN ",\"pair_fd\":0", 0, "pair_fd"},
    {READ "," KEYCHAIN ",\"pair_fd\":1", 2, "descriptor 2"},
    {READ "," KEYCHAIN ",\"pair_fd\":1,\"home_fd\":2", 2, "home_fd"},
    {READ ",\"backend\":\"file\",\"pair_fd\":1,\"home_fd\":1", 1, "home_fd"},
    {READ ",\"backend\":\"file\",\"pair_fd\":1", 1, "home_fd"},
    {READ ",\"backend\":\"file\",\"pair_fd\":1,\"home_fd\":2,"
	  "\"passphrase\":\"pipe\"",
	2, "passphrase"},
    {READ ",\"backend\":\"file\",\"pair_fd\":1,\"home_fd\":2,"
	  "\"passphrase_fd\":3",
	3, "passphrase"},
    {STORE "," KEYCHAIN, 0, "source"},
    {STORE "," KEYCHAIN ",\"source\":\"pipe\"", 0, "source"},
    {STORE "," KEYCHAIN ",\"source_fd\":1", 1, "source"},
    {STORE "," KEYCHAIN ",\"source\":\"pipe\",\"source_fd\":1,\"pair_fd\":2", 2,
	"pair_fd"},
    {"\"op\":\"test\"," ID "," KEYCHAIN ",\"credentials_fd\":1", 1,
	"credentials_fd"},
};

static void
test_keyring_config_close(struct keyring_config *config)
{
	int *const fds[] = {&config->log_fd, &config->pair_fd, &config->home_fd,
	    &config->credentials_fd, &config->source_fd, &config->passphrase_fd,
	    &config->block_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] > 2)
			close(*fds[i]);
	}
}

static void
test_keyring_config_row(const struct test_keyring_config_row *row)
{
	struct json_fault fault = {""};
	struct keyring_config config;
	struct ipc_message message;
	char text[1024];

	(void)snprintf(text, sizeof(text), "{\"options\":{%s}}", row->options);
	ipc_message_init(&message, IPC_CONFIG, 0);
	message.body = json_loads(text, 0, NULL);
	assert_non_null(message.body);
	for (size_t i = 0; i <= row->fds; i++)
		message.fds[message.fd_count++] =
		    open("/dev/null", O_RDONLY | O_CLOEXEC);
	keyring_config_read(&message, &config, &fault);
	if ((fault.text[0] == '\0') != (row->word == NULL) ||
	    (row->word != NULL && strstr(fault.text, row->word) == NULL))
		fail_msg("%s: '%s'", row->options, fault.text);
	test_keyring_config_close(&config);
	ipc_message_clear(&message);
}

static void
test_keyring_config_table(void **state)
{
	size_t count = sizeof(test_keyring_config_rows) /
		       sizeof(test_keyring_config_rows[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		test_keyring_config_row(&test_keyring_config_rows[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keyring_config_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
