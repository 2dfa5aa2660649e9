/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_llm through call_request: the reference's messages become
 * a chat request of the host's default, and answers become completions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/call_llm.h"
#include "tests/support/call_case.h"

#define LLM "POST /agentnode/call_llm"
#define TALK                                                                 \
	"{\"messages\":[{\"role\":\"system\",\"content\":\"s1\"},{\"role\":" \
	"\"user\",\"content\":\"u\"},{\"role\":\"assistant\",\"content\":"   \
	"\"a\"},"                                                            \
	"{\"role\":\"system\",\"content\":\"s2\"},{\"role\":\"user\","       \
	"\"content\":\"\"}]}"

static void
test_call_llm_with(const char *provider, const char *model,
    const struct call_case_row *rows, size_t count)
{
	struct call_case call_case;
	char grant[512];
	size_t i;

	(void)snprintf(grant, sizeof(grant),
	    "{\"providers\":[{\"name\":\"%s\"}],\"default\":{\"provider\":"
	    "\"%s\",\"model\":\"%s\"},\"ledger\":true}",
	    provider, provider, model);
	call_case_open(
	    &call_case, AGENTNODE_SOURCE_DIR "/config/providers", grant);
	for (i = 0; i < count; i++)
		call_case_check(&call_case, &rows[i]);
	call_case_close(&call_case);
}

static void
test_call_llm_compose(void **state)
{
	static const struct call_case_row openai = {"openai", LLM, "", TALK,
	    CALL_OK, 0,
	    "{\"store\":false,\"messages\":[{\"role\":\"system\",\"content\":"
	    "\"s1\"},{\"role\":\"user\",\"content\":\"u\"},{\"role\":"
	    "\"assistant\",\"content\":\"a\"},{\"role\":\"system\",\"content\":"
	    "\"s2\"},{\"role\":\"user\",\"content\":\"\"}],\"model\":\"gpt-x\","
	    "\"max_completion_tokens\":4096}",
	    "agentnode/call_llm"};
	static const struct call_case_row anthropic = {"anthropic", LLM,
	    "anthropic-beta: nothing-known\r\n", TALK, CALL_OK, 0,
	    "{\"messages\":[{\"role\":\"user\",\"content\":\"u\"},{\"role\":"
	    "\"assistant\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
	    "\"\"}],\"system\":\"s1\\n\\ns2\",\"model\":\"claude-x\","
	    "\"max_tokens\":1024}",
	    "anthropic-beta"};
	static const struct call_case_row gemini = {"gemini", LLM, "", TALK,
	    CALL_OK, 0,
	    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"u\"}]},{"
	    "\"role\":\"model\",\"parts\":[{\"text\":\"a\"}]},{\"role\":"
	    "\"user\",\"parts\":[{\"text\":\"\"}]}],\"systemInstruction\":{"
	    "\"parts\":[{\"text\":\"s1\\n\\ns2\"}]},\"generationConfig\":{"
	    "\"maxOutputTokens\":8192}}",
	    NULL};

	(void)state;
	test_call_llm_with("openai", "gpt-x", &openai, 1);
	test_call_llm_with("anthropic", "claude-x", &anthropic, 1);
	test_call_llm_with("gemini", "gemini-x", &gemini, 1);
}

static void
test_call_llm_refused(void **state)
{
	static const struct call_case_row rows[] = {
	    {"model", LLM, "",
		"{\"model\":\"gpt-x\",\"messages\":[{\"role\":\"user\","
		"\"content\":\"u\"}]}",
		CALL_FIELD_NOT_ALLOWED, 0, "messages alone", NULL},
	    {"none", LLM, "", "{\"messages\":[]}", CALL_FIELD_NOT_ALLOWED, 0,
		NULL, NULL},
	    {"no_list", LLM, "", "{\"messages\":\"hi\"}",
		CALL_FIELD_NOT_ALLOWED, 0, NULL, NULL},
	    {"role", LLM, "",
		"{\"messages\":[{\"role\":\"tool\",\"content\":\"u\"}]}",
		CALL_FIELD_NOT_ALLOWED, 0, "messages[0]", NULL},
	    {"parts", LLM, "",
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
		"\"image_url\"}]}]}",
		CALL_FIELD_NOT_ALLOWED, 0, "messages[0]", NULL},
	    {"more", LLM, "",
		"{\"messages\":[{\"role\":\"user\",\"content\":\"u\","
		"\"name\":\"x\"}]}",
		CALL_FIELD_NOT_ALLOWED, 0, "messages[0]", NULL},
	    {"json", LLM, "", "{\"messages\":", CALL_BAD_REQUEST, 0, NULL,
		NULL},
	    {"query", LLM "?x=1", "", TALK, CALL_FIELD_NOT_ALLOWED, 0, "query",
		NULL},
	    {"get", "GET /agentnode/call_llm", "", NULL, CALL_METHOD_REFUSED, 0,
		NULL, NULL},
	    {"other", "POST /agentnode/run_tool", "", TALK,
		CALL_PATH_NOT_ALLOWED, 0, NULL, NULL},
	};

	(void)state;
	test_call_llm_with(
	    "openai", "gpt-x", rows, sizeof(rows) / sizeof(rows[0]));
}

/* Without a default there is nothing to ask, and the answer says so in the
 * reference's shape. */
static void
test_call_llm_no_default(void **state)
{
	static const char request[] =
	    LLM " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
	struct call_request *parsed;
	struct call_case call_case;
	bool continued;
	size_t used;

	(void)state;
	call_case_open(&call_case, AGENTNODE_SOURCE_DIR "/config/providers",
	    "{\"providers\":[{\"name\":\"openai\"}],\"ledger\":true}");
	assert_int_equal(
	    call_case_feed(&call_case, request, sizeof(request) - 1, SIZE_MAX,
		&parsed, &used, &continued),
	    CALL_REQUEST_REFUSED);
	assert_int_equal(call_request_code(parsed), CALL_PROVIDER_NOT_ALLOWED);
	assert_int_equal(call_request_shape(parsed), PROVIDER_ERRORS_CALL_LLM);
	assert_true(call_request_reusable(parsed));
	call_request_free(&parsed);
	call_case_close(&call_case);
}

static void
test_call_llm_answer(void **state)
{
	static const struct {
		enum provider_usage format;
		const char *answer, *reply; /* NULL: none */
	} rows[] = {
	    {PROVIDER_USAGE_OPENAI_CHAT,
		"{\"choices\":[{\"message\":{\"role\":\"assistant\","
		"\"content\":\"h\\u00e4 \\\"x\\\"\"}}]}",
		"{\"ok\":true,\"completion\":{\"role\":\"assistant\","
		"\"content\":\"h\xc3\xa4 \\\"x\\\"\"}}"},
	    {PROVIDER_USAGE_OPENAI_CHAT,
		"{\"choices\":[{\"message\":{\"content\":null}}]}", NULL},
	    {PROVIDER_USAGE_OPENAI_CHAT, "{\"choices\":[]}", NULL},
	    {PROVIDER_USAGE_OPENAI_CHAT, "{\"error\":{}}", NULL},
	    {PROVIDER_USAGE_OPENAI_CHAT, "[]", NULL},
	    {PROVIDER_USAGE_OPENAI_CHAT, "{", NULL},
	    {PROVIDER_USAGE_ANTHROPIC,
		"{\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\"},{"
		"\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
		"\"text\":\"b\"}]}",
		"{\"ok\":true,\"completion\":{\"role\":\"assistant\","
		"\"content\":\"ab\"}}"},
	    {PROVIDER_USAGE_ANTHROPIC, "{\"content\":\"x\"}", NULL},
	    {PROVIDER_USAGE_GEMINI,
		"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"no\","
		"\"thought\":true},{\"text\":\"yes\"}]}}]}",
		"{\"ok\":true,\"completion\":{\"role\":\"assistant\","
		"\"content\":\"yes\"}}"},
	    {PROVIDER_USAGE_GEMINI, "{\"candidates\":[{}]}", NULL},
	    {PROVIDER_USAGE_NONE, "{}", NULL},
	};
	struct buffer out;
	size_t i;

	(void)state;
	buffer_init(&out, 4096);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_clear(&out);
		assert_int_equal(call_llm_answer(rows[i].format, rows[i].answer,
				     strlen(rows[i].answer), &out),
		    rows[i].reply == NULL ? RESULT_BAD : RESULT_OK);
		assert_int_equal(
		    out.len, rows[i].reply == NULL ? 0 : strlen(rows[i].reply));
		if (rows[i].reply != NULL)
			assert_memory_equal(
			    buffer_bytes_borrow(&out), rows[i].reply, out.len);
	}
	buffer_free(&out);
	buffer_init(&out, 10);
	assert_int_equal(call_llm_answer(PROVIDER_USAGE_ANTHROPIC,
			     "{\"content\":[]}", 14, &out),
	    RESULT_TOO_LONG);
	buffer_free(&out);
}

/* What jansson asked for, in all. */
static size_t test_call_llm_asked;

static void *
test_call_llm_malloc(size_t size)
{
	test_call_llm_asked += size;
	return malloc(size);
}

#define TEST_CALL_LLM_MANY 255
#define TEST_CALL_LLM_TEXT (64U << 10)

/* {"messages":[..]}: as many system messages as there may be, and a user's */
static void
test_call_llm_many(struct buffer *request)
{
	struct buffer body;
	char *text = malloc(TEST_CALL_LLM_TEXT + 1);

	assert_non_null(text);
	memset(text, 'x', TEST_CALL_LLM_TEXT);
	text[TEST_CALL_LLM_TEXT] = '\0';
	buffer_init(&body, 32U << 20);
	assert_int_equal(
	    buffer_append_text(&body, "{\"messages\":["), RESULT_OK);
	for (int i = 0; i < TEST_CALL_LLM_MANY; i++)
		assert_int_equal(
		    buffer_printf(&body,
			"{\"role\":\"system\",\"content\":\"%s\"},", text),
		    RESULT_OK);
	assert_int_equal(buffer_append_text(
			     &body, "{\"role\":\"user\",\"content\":\"u\"}]}"),
	    RESULT_OK);
	assert_int_equal(buffer_append(&body, "", 1), RESULT_OK);
	buffer_init(request, 32U << 20);
	call_case_write(
	    request, LLM, "", (const char *)buffer_bytes_borrow(&body));
	buffer_free(&body);
	free(text);
}

/* The largest request costs a few times its bytes, not their square; one of
 * more characters than the run may have is refused before it is composed. */
static void
test_call_llm_large(void **state)
{
	static const struct {
		const char *provider, *limit;
		enum call_code code;
		size_t most; /* times the request */
	} rows[] = {
	    {"anthropic", ",\"input_chars\":100000000", CALL_OK, 8},
	    {"gemini", ",\"input_chars\":100000000", CALL_OK, 8},
	    {"anthropic", ",\"input_chars\":16711680", CALL_BUDGET_EXCEEDED, 2},
	    {"gemini", "", CALL_BUDGET_EXCEEDED, 2},
	};
	struct call_case call_case;
	struct call_request *parsed;
	struct buffer request;
	char grant[512];
	bool continued;
	size_t used;

	(void)state;
	test_call_llm_many(&request);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(grant, sizeof(grant),
		    "{\"providers\":[{\"name\":\"%s\"}],\"default\":{"
		    "\"provider\":\"%s\",\"model\":\"m\"},\"limits\":{"
		    "\"body_bytes\":33554432%s},\"ledger\":true}",
		    rows[i].provider, rows[i].provider, rows[i].limit);
		call_case_open(&call_case,
		    AGENTNODE_SOURCE_DIR "/config/providers", grant);
		test_call_llm_asked = 0;
		json_set_alloc_funcs(test_call_llm_malloc, free);
		(void)call_case_feed(&call_case,
		    (const char *)buffer_bytes_borrow(&request), request.len,
		    SIZE_MAX, &parsed, &used, &continued);
		assert_int_equal(call_request_code(parsed), rows[i].code);
		call_request_free(&parsed);
		json_set_alloc_funcs(malloc, free);
		if (test_call_llm_asked > rows[i].most * request.len)
			fail_msg("%zu: %zu bytes for %zu", i,
			    test_call_llm_asked, request.len);
		call_case_close(&call_case);
	}
	buffer_free(&request);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_call_llm_compose),
	    cmocka_unit_test(test_call_llm_refused),
	    cmocka_unit_test(test_call_llm_no_default),
	    cmocka_unit_test(test_call_llm_answer),
	    cmocka_unit_test(test_call_llm_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
