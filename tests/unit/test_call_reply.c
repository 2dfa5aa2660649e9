/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_code and call_reply: every code in every shape is a whole
 * HTTP reply with valid JSON, says whether a retry helps, and holds nothing
 * that was not escaped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/http_head.h"
#include "llm-broker/call_reply.h"

static const enum provider_errors test_call_reply_shapes[] = {
    PROVIDER_ERRORS_OPENAI, PROVIDER_ERRORS_ANTHROPIC, PROVIDER_ERRORS_GEMINI,
    PROVIDER_ERRORS_CALL_LLM};

/* Head and parsed body of a reply. */
static json_t *
test_call_reply_parse(const struct call_reply *reply, struct buffer *out,
    struct http_head *head_r)
{
	json_error_t error;
	const char *bytes;
	json_t *json;

	buffer_clear(out);
	assert_int_equal(call_reply_error(reply, out), RESULT_OK);
	bytes = (const char *)buffer_bytes_borrow(out);
	assert_int_equal(
	    http_head_parse_response(bytes, out->len, head_r), HTTP_HEAD_OK);
	assert_int_equal(head_r->head_len + head_r->content_length, out->len);
	json = json_loadb(bytes + head_r->head_len, out->len - head_r->head_len,
	    JSON_REJECT_DUPLICATES, &error);
	if (json == NULL)
		fail_msg("%s: %.*s", error.text, (int)out->len, bytes);
	return json;
}

static void
test_call_reply_every_code(void **state)
{
	struct call_reply reply = {CALL_OK, 0, "a \"detail\" \\ of it",
	    PROVIDER_ERRORS_OPENAI, 0, true};
	const struct http_field *reason;
	struct http_head head;
	struct buffer out;
	size_t code, shape;
	json_t *json;

	(void)state;
	buffer_init(&out, 65536);
	for (code = 1; code < CALL_CODE_COUNT; code++)
		for (shape = 0; shape < 4; shape++) {
			reply.code = (enum call_code)code;
			reply.shape = test_call_reply_shapes[shape];
			json = test_call_reply_parse(&reply, &out, &head);
			json_decref(json);
			assert_int_equal(
			    head.status, call_code_status(reply.code));
			reason = http_head_find(&head, "x-agentnode-reason");
			assert_true(http_head_text_is(
			    reason->value, call_code_text(reply.code)));
			assert_in_range(head.status, 400, 599);
		}
	buffer_free(&out);
}

static void
test_call_reply_codes(void **state)
{
	size_t code, other;

	(void)state;
	assert_string_equal(call_code_text(CALL_OK), "");
	for (code = 0; code < CALL_CODE_COUNT; code++) {
		const char *text = call_code_text((enum call_code)code);
		const char *sentence = call_code_sentence((enum call_code)code);

		assert_int_equal(
		    strspn(text, "abcdefghijklmnopqrstuvwxyz_"), strlen(text));
		assert_int_equal(sentence[strlen(sentence) - 1], '.');
		assert_null(strpbrk(sentence, "\"\\"));
		for (other = 0; other < code; other++)
			assert_string_not_equal(
			    text, call_code_text((enum call_code)other));
	}
	assert_string_equal(
	    call_code_text((enum call_code)999), "policy_unavailable");
}

static const char *
test_call_reply_at(const json_t *json, const char *first, const char *second)
{
	return json_string_value(
	    json_object_get(json_object_get(json, first), second));
}

/* What each SDK makes its typed error from. */
static void
test_call_reply_shapes_of_sdks(void **state)
{
	struct call_reply reply = {
	    CALL_MODEL_NOT_ALLOWED, 0, "x", PROVIDER_ERRORS_OPENAI, 0, true};
	struct http_head head;
	struct buffer out;
	json_t *json;

	(void)state;
	buffer_init(&out, 65536);
	json = test_call_reply_parse(&reply, &out, &head);
	assert_string_equal(
	    test_call_reply_at(json, "error", "code"), "model_not_allowed");
	assert_string_equal(
	    test_call_reply_at(json, "error", "type"), "permission_error");
	assert_non_null(
	    strstr(test_call_reply_at(json, "error", "message"), "(x)"));
	json_decref(json);
	reply.shape = PROVIDER_ERRORS_ANTHROPIC;
	json = test_call_reply_parse(&reply, &out, &head);
	assert_string_equal(
	    json_string_value(json_object_get(json, "type")), "error");
	assert_string_equal(
	    test_call_reply_at(json, "error", "type"), "permission_error");
	assert_string_equal(test_call_reply_at(json_object_get(json, "error"),
				"details", "error_code"),
	    "model_not_allowed");
	json_decref(json);
	reply.shape = PROVIDER_ERRORS_GEMINI;
	json = test_call_reply_parse(&reply, &out, &head);
	assert_int_equal(json_integer_value(json_object_get(
			     json_object_get(json, "error"), "code")),
	    403);
	assert_string_equal(
	    test_call_reply_at(json, "error", "status"), "PERMISSION_DENIED");
	json_decref(json);
	reply.shape = PROVIDER_ERRORS_CALL_LLM;
	json = test_call_reply_parse(&reply, &out, &head);
	assert_true(json_is_false(json_object_get(json, "ok")));
	assert_string_equal(json_string_value(json_object_get(json, "error")),
	    "model not allowed");
	json_decref(json);
	buffer_free(&out);
}

static void
test_call_reply_retry(void **state)
{
	static const struct {
		enum call_code code;
		unsigned after;
		bool helps;
	} rows[] = {
	    {CALL_BUDGET_EXCEEDED, 0, false},
	    {CALL_BUDGET_EXCEEDED, 30, true},
	    {CALL_BUDGET_EXCEEDED, 86400, false},
	    {CALL_TOO_MANY_CALLS, 1, true},
	    {CALL_MODEL_NOT_ALLOWED, 0, false},
	    {CALL_KEY_REFUSED, 0, false},
	    {CALL_CREDENTIAL_UNAVAILABLE, 0, false},
	    {CALL_UPSTREAM_CLOSED, 0, true},
	    {CALL_TIMEOUT, 0, true},
	    {CALL_OUTPUT_LIMIT, 0, false},
	};
	struct call_reply reply = {
	    CALL_OK, 0, "", PROVIDER_ERRORS_OPENAI, 0, false};
	const struct http_field *after, *retry, *connection;
	struct http_head head;
	struct buffer out;
	char text[16];
	size_t i;

	(void)state;
	buffer_init(&out, 65536);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		reply.code = rows[i].code;
		reply.retry_after_s = rows[i].after;
		json_decref(test_call_reply_parse(&reply, &out, &head));
		retry = http_head_find(&head, "x-should-retry");
		after = http_head_find(&head, "retry-after");
		connection = http_head_find(&head, "connection");
		assert_true(http_head_text_is(connection->value, "close"));
		assert_int_equal(retry == NULL, rows[i].helps);
		assert_int_equal(after == NULL, rows[i].after == 0);
		if (retry != NULL)
			assert_true(http_head_text_is(retry->value, "false"));
		(void)snprintf(text, sizeof(text), "%u", rows[i].after);
		if (after != NULL)
			assert_true(http_head_text_is(after->value, text));
	}
	reply.code = CALL_METHOD_REFUSED;
	json_decref(test_call_reply_parse(&reply, &out, &head));
	assert_non_null(http_head_find(&head, "allow"));
	reply.code = CALL_BAD_REQUEST;
	reply.status = 415;
	json_decref(test_call_reply_parse(&reply, &out, &head));
	assert_int_equal(head.status, 415);
	buffer_free(&out);
}

/* A detail cannot break out of head or JSON, nor overrun. */
static void
test_call_reply_hostile_detail(void **state)
{
	static char long_detail[100000];
	static const char *const details[] = {"\r\nX: y\r\n\r\n",
	    "\"},\"x\":{\"", "\\", "\x1b[31m\xff\x80", "\\\"\\\"\\\"",
	    long_detail};
	struct call_reply reply = {
	    CALL_FIELD_NOT_ALLOWED, 0, NULL, PROVIDER_ERRORS_OPENAI, 0, true};
	struct http_head head;
	struct buffer out;
	size_t i, shape;
	json_t *json;

	(void)state;
	memset(long_detail, '"', sizeof(long_detail) - 1);
	buffer_init(&out, 65536);
	for (i = 0; i < sizeof(details) / sizeof(details[0]); i++)
		for (shape = 0; shape < 4; shape++) {
			reply.detail = details[i];
			reply.shape = test_call_reply_shapes[shape];
			json = test_call_reply_parse(&reply, &out, &head);
			assert_null(http_head_find(&head, "x"));
			json_decref(json);
		}
	buffer_free(&out);
	buffer_init(&out, 10); /* full: nothing is written */
	assert_int_equal(call_reply_error(&reply, &out), RESULT_TOO_LONG);
	assert_int_equal(out.len, 0);
	assert_int_equal(call_reply_event(&reply, &out), RESULT_TOO_LONG);
	assert_int_equal(out.len, 0);
	buffer_free(&out);
}

static void
test_call_reply_events(void **state)
{
	static const char *const starts[] = {"data: {\"error\"",
	    "event: error\ndata: {\"type\":\"error\"", "{\"error\"",
	    "{\"ok\":false"};
	struct call_reply reply = {
	    CALL_UPSTREAM_CLOSED, 0, "", PROVIDER_ERRORS_OPENAI, 0, false};
	struct buffer out;
	size_t i;

	(void)state;
	buffer_init(&out, 65536);
	for (i = 0; i < 4; i++) {
		reply.shape = test_call_reply_shapes[i];
		buffer_clear(&out);
		assert_int_equal(call_reply_event(&reply, &out), RESULT_OK);
		assert_memory_equal(
		    buffer_bytes_borrow(&out), starts[i], strlen(starts[i]));
		assert_memory_equal(
		    buffer_bytes_borrow(&out) + out.len - 3, "}\n\n", 3);
	}
	buffer_free(&out);
}

/* docs/llm.md has a row for each code, with its status. */
static void
test_call_reply_documented(void **state)
{
	static char text[1 << 17];
	int fd =
	    open(AGENTNODE_SOURCE_DIR "/docs/llm.md", O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof(text) - 1);
	char row[64], status[8], *at;
	size_t code;

	(void)state;
	close(fd);
	assert_true(len > 0);
	for (code = 1; code < CALL_CODE_COUNT; code++) {
		(void)snprintf(row, sizeof(row), "\n| `%s` | ",
		    call_code_text((enum call_code)code));
		(void)snprintf(status, sizeof(status), "%u",
		    call_code_status((enum call_code)code));
		at = strstr(text, row);
		if (at == NULL ||
		    strncmp(at + strlen(row), status, strlen(status)) != 0)
			fail_msg("%s %s is not in docs/llm.md", row, status);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_call_reply_codes),
	    cmocka_unit_test(test_call_reply_every_code),
	    cmocka_unit_test(test_call_reply_shapes_of_sdks),
	    cmocka_unit_test(test_call_reply_retry),
	    cmocka_unit_test(test_call_reply_hostile_detail),
	    cmocka_unit_test(test_call_reply_events),
	    cmocka_unit_test(test_call_reply_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
