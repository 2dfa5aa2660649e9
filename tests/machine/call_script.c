/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted world of a call: no sockets, no waiting. Each action adds its
 * word to the trace.
 */
#include "tests/machine/call_script.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "llm-broker/call_actions.h"
#include "llm-broker/call_text.h"
#include "llm-broker/provider_file.h"
#include "tests/support/redact_key.h"

#define CALL_SCRIPT_HOST "127.0.0.1:4100"

const char call_script_whole[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    "Content-Length: 116\r\n\r\n"
    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"forty\"}}"
    "],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}  ";
const char call_script_stream[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    "Transfer-Encoding: chunked\r\n\r\n"
    "33\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"forty\"}}]}\n\n\r\n";
const char call_script_rest[] =
    "48\r\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
    "\"completion_tokens\":4}}\n\n\r\n"
    "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";

static struct call_script *
call_script_of(struct call *call)
{
	return (struct call_script *)(void *)call;
}

static void
call_script_note(struct call *call, const char *what)
{
	struct call_script *test = call_script_of(call);
	size_t len = strlen(test->trace);

	(void)snprintf(test->trace + len, sizeof(test->trace) - len, "%s%s",
	    len > 0 ? " " : "", what);
}

static uint64_t
call_script_now(struct call *call)
{
	return call_script_of(call)->now_ms;
}

static uint64_t
call_script_number(struct call *call)
{
	return ++call_script_of(call)->number;
}

static enum result
call_script_reserve(struct call *call)
{
	call_script_note(call, "reserve");
	return call_script_of(call)->reserve_result;
}

static void
call_script_settle(struct call *call)
{
	call_script_note(call, "settle");
}

static void
call_script_forget(struct call *call)
{
	call_script_note(call, "forget");
}

static enum result
call_script_ask(struct call *call)
{
	assert_non_null(call->request);
	call_script_note(call, "ask");
	return call_script_of(call)->ask_result;
}

static void
call_script_release(struct call *call, enum lane_release how)
{
	static const char *const words[] = {"", "keep", "shut", "key_refused"};

	call_script_note(call, words[how]);
}

static void
call_script_drop(struct call *call)
{
	call_script_note(call, "drop");
}

static void
call_script_linger(struct call *call)
{
	call_script_note(call, "linger");
}

static void
call_script_close(struct call *call, bool reset)
{
	call_script_note(call, reset ? "reset" : "close");
}

static void
call_script_report(struct call *call)
{
	struct call_script *test = call_script_of(call);

	test->reports++;
	test->code = call->code;
	test->charge = call->charge;
}

/* The agent's before anything else is done with the call. */
static void
call_script_push(struct call *call)
{
	struct call_script *test = call_script_of(call);

	assert_int_equal(test->reports + 1, test->number);
	assert_true(call->out.len > 0);
	test->pushes++;
}

static const struct call_actions call_script_actions = {
    .now_ms = call_script_now,
    .next_number = call_script_number,
    .reserve = call_script_reserve,
    .settle = call_script_settle,
    .forget_reserve = call_script_forget,
    .ask = call_script_ask,
    .release_lane = call_script_release,
    .drop_lane = call_script_drop,
    .push = call_script_push,
    .linger = call_script_linger,
    .close_agent = call_script_close,
    .report = call_script_report,
};

static struct grant *
call_script_grant(const char *model, const char *limits, bool ledger)
{
	struct grant *grant = NULL;
	struct json_fault fault = {""};
	char text[1024];
	json_t *object;

	(void)snprintf(text, sizeof(text),
	    "{\"providers\":[{\"name\":\"openai\",\"models\":[\"%s\"]},"
	    "{\"name\":\"anthropic\",\"models\":[\"%s\"]}],"
	    "\"default\":{\"provider\":\"openai\",\"model\":\"%s\"},"
	    "\"limits\":{%s},\"prices\":[{\"provider\":\"openai\",\"model\":"
	    "\"%s\",\"input_microusd_per_million\":1000000,"
	    "\"output_microusd_per_million\":2000000}],\"ledger\":%s}",
	    model, model, model, limits != NULL ? limits : "", model,
	    ledger ? "true" : "false");
	object = json_loads(text, 0, NULL);
	if (grant_load(object, "grant", &grant, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	json_decref(object);
	return grant;
}

static void
call_script_providers(struct call_script *test)
{
	static const char *const files[] = {"openai.json", "anthropic.json"};
	static const bool keyless[2];
	int folder = open(
	    AGENTNODE_SOURCE_DIR "/config/providers", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < 2; i++) {
		struct json_fault fault = {""};
		json_t *object = NULL;

		if (provider_file_load(folder, files[i], &test->providers[i],
			&object, &fault) != RESULT_OK)
			fail_msg("%s", fault.text);
		json_decref(object);
	}
	close(folder);
	test->run.providers = (const struct provider *const *)test->providers;
	assert_int_equal(
	    key_table_new(test->run.providers, keyless, &test->keys),
	    RESULT_OK);
	test->run.keys = test->keys;
}

static json_t *
call_script_hex(const uint8_t *bytes, size_t len)
{
	char text[2 * REDACT_DIGEST_LEN + 1];

	for (size_t i = 0; i < len; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_string(text);
}

void
call_script_key(struct call_script *test, const char *key)
{
	static struct redact_set set;
	struct json_fault fault = {""};
	json_t *list = json_array();

	redact_key_set(key, &set);
	json_array_append_new(list,
	    json_pack("{s:s,s:o,s:I,s:o,s:o}", "form", "raw", "prefix",
		call_script_hex(set.patterns[0].prefix, 4), "length",
		(json_int_t)set.patterns[0].length, "salt",
		call_script_hex(set.patterns[0].salt, REDACT_SALT_LEN),
		"digest",
		call_script_hex(set.patterns[0].digest, REDACT_DIGEST_LEN)));
	key_table_set(test->keys, "openai", "found", list, &fault);
	assert_string_equal(fault.text, "");
	json_decref(list);
}

static void
call_script_keys(struct call_script *test)
{
	struct json_fault fault = {""};
	json_t *none = json_array();

	call_script_key(test, REDACT_KEY);
	key_table_set(test->keys, "anthropic", "missing", none, &fault);
	assert_string_equal(fault.text, "");
	json_decref(none);
}

struct call_script *
call_script_new(const char *limits, bool ledger)
{
	struct call_script *test = calloc(1, sizeof(*test));

	assert_non_null(test);
	test->now_ms = 1000000;
	test->limits = (struct call_limits){
	    .head_ms = 10000, .request_ms = 60000, .keep_ms = 30000};
	call_script_providers(test);
	call_script_keys(test);
	call_relay_space_init(&test->space);
	deadline_wheel_init(&test->wheel, test->now_ms);
	for (unsigned i = 0; i < CALL_LIST_COUNT; i++)
		TAILQ_INIT(&test->run.lists[i]);
	test->run.grant = call_script_grant("gpt-4o-mini", limits, ledger);
	test->run.port = 4100;
	test->call.actions = &call_script_actions;
	test->call.limits = &test->limits;
	test->call.wheel = &test->wheel;
	test->call.run = &test->run;
	test->call.space = &test->space;
	call_begin(&test->call);
	call_step(&test->call, CALL_EVENT_ACCEPTED);
	return test;
}

void
call_script_free(struct call_script *test)
{
	if (test->call.state != CALL_STATE_CLOSED)
		call_step(&test->call, CALL_EVENT_SANDBOX_CLOSED);
	assert_int_equal(test->call.state, CALL_STATE_CLOSED);
	assert_int_equal(test->reports, test->number);
	call_free_parts(&test->call);
	for (unsigned i = 0; i < CALL_LIST_COUNT; i++)
		assert_int_equal(test->run.counts[i], 0);
	assert_int_equal(test->wheel.armed, 0);
	grant_free(&test->run.grant);
	key_table_free(&test->keys);
	for (size_t i = 0; i < 2; i++)
		provider_free(&test->providers[i]);
	call_relay_space_free(&test->space);
	free(test);
}

void
call_script_take(struct call_script *test)
{
	struct buffer *out = &test->call.out;

	while (!test->stalled && test->call.state != CALL_STATE_CLOSED) {
		if (out->len > 0) {
			assert_true(
			    test->said_len + out->len < sizeof(test->said));
			memcpy(test->said + test->said_len,
			    buffer_bytes_borrow(out), out->len);
			test->said_len += out->len;
			test->said[test->said_len] = '\0';
			if (test->call.relay != NULL)
				test->call.down_bytes += out->len;
			buffer_clear(out);
		}
		if (test->call.state != CALL_STATE_DRAIN)
			return;
		call_step(&test->call, CALL_EVENT_DRAINED);
	}
}

void
call_script_send(struct call_script *test, const char *text)
{
	test->call.given.bytes = text;
	test->call.given.len = strlen(text);
	call_step(&test->call, CALL_EVENT_AGENT_BYTES);
	call_script_take(test);
}

void
call_script_chat(struct call_script *test, const char *fields)
{
	char text[2048], body[1024];

	(void)snprintf(body, sizeof(body),
	    "{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"user\","
	    "\"content\":\"how many\"}]%s}",
	    fields);
	(void)snprintf(text, sizeof(text),
	    "POST /openai/v1/chat/completions HTTP/1.1\r\nHost: %s\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    CALL_SCRIPT_HOST, strlen(body), body);
	call_script_send(test, text);
}

void
call_script_sent(struct call_script *test)
{
	call_script_event(test, CALL_EVENT_SENT);
}

void
call_script_answer(struct call_script *test, const char *text)
{
	test->call.given.bytes = text;
	test->call.given.len = strlen(text);
	call_script_event(test, CALL_EVENT_LANE_BYTES);
}

void
call_script_event(struct call_script *test, enum call_event event)
{
	call_step(&test->call, event);
	call_script_take(test);
}

void
call_script_failed(struct call_script *test, enum lane_failure failure)
{
	test->call.failure = failure;
	call_script_event(test, CALL_EVENT_LANE_FAILED);
}

static void
call_script_fire(struct deadline *deadline, void *context)
{
	struct call_script *test = context;

	assert_ptr_equal(deadline, &test->call.deadline);
	call_script_event(test, CALL_EVENT_DEADLINE);
}

void
call_script_wait(struct call_script *test, uint64_t ms)
{
	uint64_t end = test->now_ms + ms;

	while (test->now_ms < end) {
		test->now_ms += DEADLINE_WHEEL_TICK_MS;
		deadline_wheel_tick(
		    &test->wheel, test->now_ms, call_script_fire, test);
	}
}

void
call_script_narrow(struct call_script *test)
{
	struct grant *old = test->run.grant;

	test->run.grant = call_script_grant("gpt-other", NULL, false);
	call_script_event(test, CALL_EVENT_NARROWED);
	call_request_free(&test->call.request); /* points to the old one */
	grant_free(&old);
}

struct call_script *
call_script_reach(enum call_state state, bool ledger)
{
	struct call_script *test = call_script_new(NULL, ledger);

	if (state == CALL_STATE_REQUEST)
		call_script_send(test, "POST /openai/v1");
	if (state == CALL_STATE_REQUEST || state == CALL_STATE_IDLE)
		return test;
	call_script_chat(test, ",\"stream\":true");
	if (state == CALL_STATE_RESERVE)
		return test;
	if (ledger)
		call_script_event(test, CALL_EVENT_RESERVED);
	call_script_sent(test);
	if (state == CALL_STATE_ASK)
		return test;
	call_script_answer(test, call_script_stream);
	if (state == CALL_STATE_RELAY)
		return test;
	test->stalled = true;
	call_script_answer(test, call_script_rest);
	return test;
}

void
call_script_expect(const struct call_script *test, const char *what,
    enum call_state state, enum call_code code)
{
	if (test->call.state != state || test->code != code)
		fail_msg("%s: state %s, code %s; %s", what,
		    call_text_state(test->call.state),
		    call_code_text(test->code), test->trace);
}
