/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_policy and call_json: what a call is reserved for (b85:
 * the most it can use), what is counted as read, and JSON at its bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/call_json.h"
#include "tests/support/call_case.h"

#define CHAT "POST /openai/v1/chat/completions"
#define CLAUDE "POST /anthropic/v1/messages"
#define GEMINI "POST /gemini/v1beta/models/gemini-2.5-flash:generateContent"
#define MINI "{\"model\":\"gpt-4o-mini\",\"messages\":[]"
#define OPUS "{\"model\":\"claude-sonnet-4-5\","

static struct call_case test_call_amounts_case;

static void
b85_reserve_is_the_most(void **state)
{
	static const struct {
		const char *line, *body;
		uint64_t input, output;
	} rows[] = {
	    {CHAT, MINI "}", 0, 4096},
	    {CHAT, MINI ",\"max_tokens\":100}", 0, 100},
	    {CHAT, MINI ",\"max_tokens\":100,\"n\":3}", 0, 300},
	    {CHAT, MINI ",\"max_tokens\":100,\"max_completion_tokens\":700}", 0,
		700},
	    {CHAT, MINI ",\"max_tokens\":null,\"n\":null}", 0, 4096},
	    {CHAT, MINI ",\"n\":2}", 0, 8192},
	    {CLAUDE, OPUS "\"max_tokens\":77,\"messages\":[]}", 0, 77},
	    {GEMINI, "{\"contents\":[]}", 0, 8192},
	    {GEMINI,
		"{\"contents\":[],\"generationConfig\":{\"maxOutputTokens\":5,"
		"\"candidateCount\":4}}",
		0, 20},
	    /* Texts count, wherever they stand; words of the format do not. */
	    {CHAT,
		"{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"user\","
		"\"content\":\"four\"}]}",
		4, 4096},
	    {CLAUDE,
		OPUS "\"max_tokens\":1,\"system\":\"abc\",\"messages\":[{"
		     "\"role\":\"user\",\"content\":[{\"type\":\"text\","
		     "\"text\":\"\\u00e4\\ud83d\\ude00\"}]}]}",
		5, 1},
	    {CHAT,
		MINI ",\"tools\":[{\"type\":\"function\",\"function\":{"
		     "\"name\":\"ab\",\"parameters\":{\"cd\":\"ef\"}}}]}",
		6, 4096},
	    {"POST /openai/v1/embeddings",
		"{\"model\":\"text-embedding-3-small\",\"input\":[[1,2,3],"
		"[4]]}",
		16, 0},
	    {"POST /anthropic/v1/messages/count_tokens",
		OPUS "\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}]}",
		0, 0},
	};
	const struct call_request_result *result;
	struct call_request *request;
	struct buffer bytes;
	size_t i, used;
	bool continued;

	(void)state;
	buffer_init(&bytes, 65536);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_clear(&bytes);
		call_case_write(&bytes, rows[i].line, "", rows[i].body);
		if (call_case_feed(&test_call_amounts_case,
			(const char *)buffer_bytes_borrow(&bytes), bytes.len,
			SIZE_MAX, &request, &used,
			&continued) != CALL_REQUEST_DONE)
			fail_msg("%s: %s", rows[i].body,
			    call_request_detail(request));
		result = call_request_result(request);
		assert_int_equal(result->output_tokens, rows[i].output);
		assert_int_equal(result->input_chars, rows[i].input);
		call_request_free(&request);
	}
	buffer_free(&bytes);
}

/* Nesting, counts: at the bound it parses, above it does not. */
static void
test_call_amounts_json(void **state)
{
	const size_t max = 4U << 20;
	char *text = malloc(max), detail[128];
	size_t i, len, depth;
	json_t *json;

	(void)state;
	assert_non_null(text);
	for (depth = CALL_JSON_DEPTH_MAX; depth < CALL_JSON_DEPTH_MAX + 2;
	     depth++) {
		len = (size_t)sprintf(text, "{\"a\":");
		for (i = 1; i < depth; i++)
			text[len++] = '[';
		for (i = 1; i < depth; i++)
			text[len++] = ']';
		text[len++] = '}';
		assert_int_equal(
		    call_json_parse(text, len, &json, detail, sizeof(detail)),
		    depth == CALL_JSON_DEPTH_MAX ? RESULT_OK : RESULT_TOO_LONG);
		json_decref(json);
	}
	len = (size_t)sprintf(text, "{\"a\":[");
	for (i = 0; i < CALL_JSON_VALUES_MAX; i++)
		len += (size_t)sprintf(text + len, i == 0 ? "1" : ",1");
	len += (size_t)sprintf(text + len, "]}");
	assert_int_equal(
	    call_json_parse(text, len, &json, detail, sizeof(detail)),
	    RESULT_TOO_LONG);
	assert_string_equal(detail, "the body is JSON with too many values");
	len = (size_t)sprintf(text, "{\"a\":[");
	for (i = 0; i < CALL_JSON_CONTAINERS_MAX; i++)
		len += (size_t)sprintf(text + len, i == 0 ? "{}" : ",{}");
	len += (size_t)sprintf(text + len, "]}");
	assert_int_equal(
	    call_json_parse(text, len, &json, detail, sizeof(detail)),
	    RESULT_TOO_LONG);
	free(text);
}

/* Brackets and commas in texts are not structure. */
static void
test_call_amounts_texts(void **state)
{
	const size_t count = CALL_JSON_VALUES_MAX + 10;
	char *text = malloc(count + 64), detail[128];
	static const char *const ends[] = {
	    "\"}", "\\\"\"}", "\\\\\"}", "\\\\", "\\\"}", "\""};
	json_t *json;
	size_t i, len;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		len = (size_t)sprintf(text, "{\"a\":\"");
		memset(text + len, i % 2 == 0 ? '[' : ',', count);
		len += count;
		len += (size_t)sprintf(text + len, "%s", ends[i]);
		assert_int_equal(
		    call_json_parse(text, len, &json, detail, sizeof(detail)),
		    i < 3 ? RESULT_OK : RESULT_BAD);
		json_decref(json);
	}
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b85_reserve_is_the_most),
	    cmocka_unit_test(test_call_amounts_json),
	    cmocka_unit_test(test_call_amounts_texts),
	};
	int failed;

	call_case_open(&test_call_amounts_case,
	    AGENTNODE_SOURCE_DIR "/config/providers", CALL_CASE_GRANT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	call_case_close(&test_call_amounts_case);
	return failed;
}
