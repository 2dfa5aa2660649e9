/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call with a stored key (see the header). Called by command_auth.c. What
 * the provider answers is thrown away unread: the broker's code for the call
 * is the result. It must never let anybody else call with the key.
 */
#include "supervisor/command/auth_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/agent/llm_part.h"
#include "supervisor/agent/llm_plan.h"
#include "supervisor/agent/provider_files.h"
#include "supervisor/command/auth_store.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_ledger.h"
#include "supervisor/command/own_listener.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

#define AUTH_TEST_ANSWER_MS 20000 /* until its first byte */
/* Lookup, connection, TLS and an answer; the broker's own limits are lower.
 * While a passphrase is typed it does not run. */
#define AUTH_TEST_LIMIT_MS 60000U
#define AUTH_TEST_CLOSE_MS 5000U

struct auth_test {
	const struct auth_option *option;
	struct command_ledger ledger;
	struct config *config;
	json_t *files; /* every provider */
	char home[4096], run[17];
	struct llm_part_plan plan;
	struct llm_part *part;
	struct event *limit, *readable;
	int listener, client;
	enum keyring_status key;
	bool has_key, has_code;
	char code[64], detail[640];
};

/* No more is to come; what is known decides. */
static void
auth_test_stop(struct auth_test *test)
{
	event_loop_stop(test->ledger.base);
}

static void
auth_test_arm(struct auth_test *test, unsigned ms)
{
	struct timeval limit = event_loop_timeval(ms);

	(void)event_add(test->limit, &limit);
}

static void
auth_test_on_limit(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	auth_test_stop(context);
}

/* The answer of the provider is not ours to read. */
static void
auth_test_on_readable(evutil_socket_t fd, short what, void *context)
{
	struct auth_test *test = context;
	char thrown_away[65536];

	(void)what;
	if (recv(fd, thrown_away, sizeof(thrown_away), MSG_DONTWAIT) > 0)
		return;
	(void)event_del(test->readable);
	auth_test_arm(test, AUTH_TEST_CLOSE_MS);
	llm_part_close(test->part);
}

static void
auth_test_on_key(const char *provider, enum keyring_status status,
    const char *detail, void *context)
{
	struct auth_test *test = context;

	(void)provider;
	test->key = status;
	test->has_key = true;
	(void)snprintf(test->detail, sizeof(test->detail), "%s", detail);
}

static void
auth_test_on_ready(void *context)
{
	struct auth_test *test = context;
	int listener = test->listener;

	if (!test->has_key || test->key != KEYRING_OK) {
		auth_test_stop(test);
		return;
	}
	test->listener = -1;
	auth_test_arm(test, AUTH_TEST_LIMIT_MS);
	if (llm_part_listen(test->part, listener) != RESULT_OK ||
	    event_add(test->readable, NULL) != 0)
		auth_test_stop(test);
}

static void
auth_test_on_usage(const json_t *usage, void *context)
{
	struct auth_test *test = context;

	test->has_code = true;
	(void)snprintf(test->code, sizeof(test->code), "%s",
	    json_string_value(json_object_get(usage, "code")));
}

static void
auth_test_on_closed(void *context)
{
	auth_test_stop(context);
}

static void
auth_test_on_end(const char *code, const char *detail, void *context)
{
	struct auth_test *test = context;

	(void)code;
	test->has_key = false;
	(void)snprintf(test->detail, sizeof(test->detail), "%s", detail);
	auth_test_stop(test);
}

/* The path that lists models: it costs nothing and needs no body. */
static const char *
auth_test_path(const json_t *provider)
{
	const json_t *paths = json_object_get(provider, "paths"), *path;
	const char *text;
	size_t i;

	json_array_foreach(paths, i, path)
	{
		text = json_string_value(json_object_get(path, "path"));
		if (text != NULL && strchr(text, '{') == NULL &&
		    strcmp(json_string_value(json_object_get(path, "method")),
			"GET") == 0)
			return text;
	}
	return NULL;
}

static int
auth_test_plan(struct auth_test *test)
{
	const char *name = test->option->name;
	json_t *provider = json_object_get(test->files, name), *only;
	struct json_fault fault = {""};
	enum result result;

	if (json_is_null(json_object_get(provider, "key")))
		return command_error(COMMAND_USAGE,
		    "%s needs no key: there is nothing to test", name);
	if (auth_test_path(provider) == NULL)
		return command_error(COMMAND_UNAVAILABLE,
		    "the file of %s has no GET path to test a key with", name);
	only = json_pack("[O]", provider);
	result = llm_plan_options(test->config, only, &test->plan, &fault);
	json_decref(only);
	/* No model: only paths without one. */
	test->plan.grant =
	    json_pack("{s:[{s:s, s:[]}], s:{s:i, s:i, s:i, s:i}, s:b}",
		"providers", "name", name, "models", "limits", "requests", 1,
		"concurrent", 1, "first_byte_ms", AUTH_TEST_ANSWER_MS,
		"total_ms", 2 * AUTH_TEST_ANSWER_MS, "ledger", 0);
	test->plan.limits = json_object();
	test->plan.passphrase_fd = test->option->passphrase_fd;
	if (result == RESULT_OK &&
	    (test->plan.grant == NULL || test->plan.limits == NULL))
		result = RESULT_NO_MEMORY;
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

/* The request lies in the socket before anybody accepts. */
static enum result
auth_test_ask(const struct auth_test *test)
{
	const json_t *provider =
	    json_object_get(test->files, test->option->name);
	char head[512];
	int len = snprintf(head, sizeof(head),
	    "GET /%s%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
	    "Connection: close\r\n\r\n",
	    test->option->name, auth_test_path(provider),
	    (unsigned)AGENT_ENV_LLM_PORT);

	if (len < 0 || (size_t)len >= sizeof(head))
		return RESULT_TOO_LONG;
	return fd_write_all(test->client, head, (size_t)len);
}

static enum result
auth_test_events(struct auth_test *test)
{
	test->limit =
	    event_new(test->ledger.base, -1, 0, auth_test_on_limit, test);
	test->readable = event_new(test->ledger.base, test->client,
	    EV_READ | EV_PERSIST, auth_test_on_readable, test);
	return test->limit == NULL || test->readable == NULL ? RESULT_NO_MEMORY
							     : RESULT_OK;
}

static enum result
auth_test_start(struct auth_test *test)
{
	static const struct llm_part_handlers handlers = {auth_test_on_ready,
	    auth_test_on_key, auth_test_on_usage, auth_test_on_closed,
	    auth_test_on_end};
	struct json_fault fault = {""};
	int logs[2] = {-1, -1};
	enum result result = log_files_open(
	    test->home, "agentnode-llm-broker", &logs[0], &fault);

	if (result == RESULT_OK)
		result = log_files_open(
		    test->home, "agentnode-llm-key", &logs[1], &fault);
	if (result == RESULT_OK)
		result = llm_part_start(test->ledger.base, test->ledger.audit,
		    test->run, "auth-test", &test->plan, logs, &handlers, test,
		    &test->part);
	fd_close(&logs[0]);
	fd_close(&logs[1]);
	return result;
}

static int
auth_test_verdict(const struct auth_test *test)
{
	const char *name = test->option->name;

	if (!test->has_key)
		return command_error(COMMAND_UNAVAILABLE,
		    "the key of %s could not be tried: %s", name,
		    test->detail[0] != '\0' ? test->detail
					    : "it took too long");
	if (test->key == KEYRING_MISSING)
		return command_error(COMMAND_CONFIG, "%s", test->detail);
	if (test->key == KEYRING_CANCELLED)
		return command_error(AUTH_STORE_CANCELLED, "%s", test->detail);
	if (test->key != KEYRING_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s", test->detail);
	if (test->has_code && test->code[0] == '\0') {
		printf("%s takes the key.\n", name);
		return COMMAND_DONE;
	}
	if (strcmp(test->code, "key_refused") == 0)
		return command_error(COMMAND_NO,
		    "%s refuses the key; 'agentnode auth set %s' sets another",
		    name, name);
	return command_error(COMMAND_UNAVAILABLE,
	    "whether %s takes the key could not be found out: %s", name,
	    test->has_code ? test->code : "it did not answer in time");
}

static int
auth_test_try(struct auth_test *test)
{
	enum result result = own_listener_make(&test->listener, &test->client);

	if (result == RESULT_OK)
		result = auth_test_ask(test);
	if (result == RESULT_OK)
		result = auth_test_events(test);
	if (result == RESULT_OK)
		result = auth_test_start(test);
	if (result == RESULT_OK)
		result = event_loop_run(test->ledger.base);
	if (result != RESULT_OK)
		return command_error(COMMAND_INTERNAL,
		    "the test could not be started: %s", result_text(result));
	return auth_test_verdict(test);
}

static int
auth_test_load(struct auth_test *test)
{
	struct json_fault fault = {""};
	unsigned char random[8];
	enum result result = config_load(&test->config, &fault);

	if (result == RESULT_OK)
		result = config_home(test->home, sizeof(test->home), &fault);
	if (result == RESULT_OK)
		result = provider_files_load(test->home, &test->files, &fault);
	if (result == RESULT_OK &&
	    getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		result = RESULT_SYSTEM;
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(test->run + 2 * i, 3, "%02x", random[i]);
	return COMMAND_DONE;
}

int
auth_test_run(const struct auth_option *option)
{
	struct auth_test test = {
	    .option = option, .listener = -1, .client = -1};
	int code;

	llm_plan_init(&test.plan);
	code = auth_test_load(&test);
	if (code == COMMAND_DONE)
		code = auth_test_plan(&test);
	if (code == COMMAND_DONE)
		code = command_ledger_open(&test.ledger);
	if (code == COMMAND_DONE)
		code = auth_test_try(&test);
	llm_part_free(&test.part);
	if (test.readable != NULL)
		event_free(test.readable);
	if (test.limit != NULL)
		event_free(test.limit);
	command_ledger_close(&test.ledger);
	fd_close(&test.listener);
	fd_close(&test.client);
	llm_plan_clear(&test.plan);
	json_decref(test.files);
	config_free(&test.config);
	return code;
}
