/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/usage_scan: what each format says it used, what the agent got,
 * which event is left out; wherever the bytes are split.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/usage_scan.h"

#define CHAT PROVIDER_USAGE_OPENAI_CHAT
#define RESPONSES PROVIDER_USAGE_OPENAI_RESPONSES
#define EMBEDDINGS PROVIDER_USAGE_OPENAI_EMBEDDINGS
#define ANTHROPIC PROVIDER_USAGE_ANTHROPIC
#define GEMINI PROVIDER_USAGE_GEMINI
#define NONE PROVIDER_USAGE_NONE

struct test_usage_scan_row {
	const char *name;
	enum provider_usage format;
	bool is_stream;
	const char *text;
	uint64_t input, output, cached, chars;
	bool known, finished;
};

static const struct test_usage_scan_row test_usage_scan_rows[] = {
    {"chat", CHAT, false,
	"{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
	"\"content\":\"h\\u00e9llo \\ud83d\\ude00\\n\",\"tool_calls\":[{\"id\":"
	"\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
	"\"arguments\":\"{}\"}}]},\"logprobs\":{\"content\":[{\"token\":"
	"\"zz\"}]}}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,"
	"\"total_tokens\":18,\"prompt_tokens_details\":{\"cached_tokens\":4}}}",
	11, 7, 4, 13, true, true},
    {"chat without usage", CHAT, false,
	"{\"choices\":[{\"message\":{\"content\":\"abc\"}}]}", 0, 0, 0, 3,
	false, true},
    {"chat cut", CHAT, false,
	"{\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7},\"choices\":"
	"[{\"message\":{\"content\":\"abc",
	11, 7, 0, 3, false, false},
    {"chat stream", CHAT, true,
	"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":"
	"\"\"}}],\"usage\":null}\n\n: ping\n\n"
	"data:{\"choices\":[{\"delta\":{\"content\":\"abc\"}}]}\r\n\r\n"
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
	"\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
	3, 2, 0, 3, true, true},
    {"chat stream without usage", CHAT, true,
	"data: {\"choices\":[{\"delta\":{\"content\":\"abcd\"}}]}\n\n"
	"data: [DONE]\n\n",
	0, 0, 0, 4, false, true},
    {"chat stream cut", CHAT, true,
	"data: {\"choices\":[{\"delta\":{\"content\":\"abcd\"}}]}\n\ndata: {",
	0, 0, 0, 4, false, false},
    {"responses", RESPONSES, false,
	"{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[{\"type\":"
	"\"message\",\"id\":\"m\",\"role\":\"assistant\",\"content\":[{"
	"\"type\":\"output_text\",\"text\":\"four\"}]},{\"type\":"
	"\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":"
	"\"{}\"}],\"usage\":{\"input_tokens\":5,\"input_tokens_details\":{"
	"\"cached_tokens\":2},\"output_tokens\":9}}",
	5, 9, 2, 7, true, true},
    {"responses stream", RESPONSES, true,
	"event: response.output_text.delta\ndata: {\"type\":"
	"\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"fo\"}\n\n"
	"data: {\"type\":\"response.output_text.delta\",\"delta\":\"ur\"}\n\n"
	"data: {\"type\":\"response.output_text.done\",\"text\":\"four\"}\n\n"
	"data: {\"type\":\"response.completed\",\"response\":{\"status\":"
	"\"completed\",\"output\":[{\"content\":[{\"text\":\"four\"}]}],"
	"\"usage\":{\"input_tokens\":5,\"output_tokens\":9}}}\n\n",
	5, 9, 0, 4, true, true},
    {"responses stream, only the whole", RESPONSES, true,
	"data: {\"type\":\"response.incomplete\",\"response\":{\"output\":[{"
	"\"content\":[{\"text\":\"four!\"}]}]}}\n\n",
	0, 0, 0, 5, false, true},
    {"embeddings", EMBEDDINGS, false,
	"{\"data\":[{\"embedding\":[0.5,-1e-3]}],\"usage\":{\"prompt_tokens\":"
	"8,\"total_tokens\":8}}",
	8, 0, 0, 0, true, true},
    {"anthropic", ANTHROPIC, false,
	"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
	"\"thinking\",\"thinking\":\"hm\",\"signature\":\"zzzz\"},{\"type\":"
	"\"text\",\"text\":\"abc\"},{\"type\":\"tool_use\",\"id\":\"t\","
	"\"name\":\"f\",\"input\":{\"q\":\"xy\"}}],\"usage\":{"
	"\"input_tokens\":10,\"cache_creation_input_tokens\":3,"
	"\"cache_read_input_tokens\":20,\"output_tokens\":6}}",
	33, 6, 20, 15, true, true},
    {"anthropic stream", ANTHROPIC, true,
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{"
	"\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":10,"
	"\"cache_read_input_tokens\":20,\"output_tokens\":1}}}\n\n"
	"event: ping\ndata: {\"type\":\"ping\"}\n\n"
	"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":"
	"\"text_delta\",\"text\":\"abc\"}}\n\n"
	"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":"
	"\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n"
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
	"\"end_turn\"},\"usage\":{\"output_tokens\":15}}\n\n"
	"data: {\"type\":\"message_stop\"}\n\n",
	30, 15, 20, 5, true, true},
    {"anthropic stream cut", ANTHROPIC, true,
	"data: {\"type\":\"message_start\",\"message\":{\"usage\":{"
	"\"input_tokens\":10,\"output_tokens\":1}}}\n\n"
	"data: {\"delta\":{\"text\":\"abc\"}}\n\n",
	10, 0, 0, 3, false, false},
    {"gemini", GEMINI, false,
	"{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{"
	"\"text\":\"abcd\"},{\"functionCall\":{\"name\":\"f\",\"args\":{"
	"\"a\":\"b\"}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
	"\"promptTokenCount\":9,\"candidatesTokenCount\":4,"
	"\"thoughtsTokenCount\":5,\"cachedContentTokenCount\":2,"
	"\"toolUsePromptTokenCount\":1}}",
	10, 9, 2, 13, true, true},
    {"gemini list", GEMINI, false,
	"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ab\"}]}}],"
	"\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":1}}"
	",\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"cd\"}]},"
	"\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":9,"
	"\"candidatesTokenCount\":4}}]",
	9, 4, 0, 4, true, true},
    {"gemini stream", GEMINI, true,
	"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ab\"}]}}]}"
	"\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":"
	"\"cd\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
	"\"promptTokenCount\":9,\"candidatesTokenCount\":4}}\r\n\r\n",
	9, 4, 0, 4, true, true},
    {"nothing is billed", NONE, false, "{\"data\":[{\"id\":\"m\"}]}", 0, 0, 0,
	0, true, true},
    {"no JSON", CHAT, false, "<html>usage</html>", 0, 0, 0, 0, false, false},
    {"deep in front of the usage", CHAT, false,
	"{\"choices\":[{\"message\":{\"content\":"
	"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{\"type\":\"abc\",\"b\":["
	"]}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
	"}}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}",
	11, 7, 0, 3, true, true},
    {"labels of a tool's input are text", ANTHROPIC, false,
	"{\"content\":[{\"type\":\"tool_use\",\"id\":\"x\",\"input\":{\"type\":"
	"\"abc\",\"id\":\"de\"}}],\"usage\":{\"input_tokens\":1,"
	"\"output_tokens\":2}}",
	1, 2, 0, 23, true, true},
    {"labels of a call's arguments are text", GEMINI, false,
	"{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{"
	"\"functionCall\":{\"id\":\"x\",\"args\":{\"id\":\"abc\"}}}]}}]}",
	0, 0, 0, 11, false, true},
    /* What the model writes as an object counts as its text, with a comma
     * for each value: here {"x1":-12.5,"y":[true,{"id":""}]}. */
    {"names and numbers of a tool's input", ANTHROPIC, false,
	"{\"content\":[{\"type\":\"tool_use\",\"name\":\"f\",\"input\":"
	"{\"x1\":-12.5, \"y\": [true, {\"id\":\"\"}]}}]}",
	0, 0, 0, 1 + 34, false, true},
    {"an empty one", ANTHROPIC, true,
	"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":"
	"\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n",
	0, 0, 0, 1, false, false},
    {"a whole message in front", ANTHROPIC, true,
	"data: {\"type\":\"message_start\",\"message\":{\"content\":[{"
	"\"type\":\"text\",\"text\":\"abc\"}]}}\n\n",
	0, 0, 0, 3, false, false},
    {"names and numbers of a call's arguments", GEMINI, false,
	"{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{"
	"\"name\":\"f\",\"args\":{\"secret\":123456789012345678901234567890"
	"1234567890123456789012345678901234567890}}}]}}]}",
	0, 0, 0, 1 + 9 + 1 + 70, false, true},
    {"arguments in pieces", GEMINI, true,
	"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{"
	"\"partialArgs\":[{\"jsonPath\":\"$.a\",\"numberValue\":12}]}}]}}]}"
	"\n\n",
	0, 0, 0, 3 + (11 + 1 + 5) + (14 + 1 + 2), false, false},
    {"arguments as an object", CHAT, false,
	"{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c\","
	"\"function\":{\"name\":\"f\",\"arguments\":{\"k\":1}}}],"
	"\"function_call\":{\"name\":\"g\",\"arguments\":\"{}\"},\"refusal\":"
	"\"no\"}}]}",
	0, 0, 0, 1 + 6 + 1 + 2 + 2, false, true},
    {"alternatives", GEMINI, false,
	"{\"candidates\":[{\"logprobsResult\":{\"topCandidates\":[{"
	"\"candidates\":[{\"token\":\"abc\",\"tokenId\":12}]}]}}]}",
	0, 0, 0, 3, false, true},
    {"alternatives of a part", RESPONSES, true,
	"data: {\"delta\":\"a\",\"logprobs\":[{\"token\":\"a\","
	"\"top_logprobs\":[{\"token\":\"bc\"}]}]}\n\n",
	0, 0, 0, 4, false, false},
    {"an action with an environment", RESPONSES, false,
	"{\"output\":[{\"type\":\"local_shell_call\",\"action\":{\"type\":"
	"\"exec\",\"env\":{\"id\":\"v\"}}}]}",
	0, 0, 0, (7 + 1 + 6) + (6 + 3) + (5 + 1 + 3), false, true},
    {"a call whose stream is cut", RESPONSES, true,
	"data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":"
	"\"function_call\",\"id\":\"i\",\"call_id\":\"c\",\"name\":"
	"\"abcdef\",\"arguments\":\"\"}}\n\ndata: {\"type\":"
	"\"response.function_call_arguments.delta\",\"delta\":\"{}\"}\n\n",
	0, 0, 0, 8, false, false},
    {"a call that is told twice", RESPONSES, true,
	"data: {\"type\":\"response.output_item.added\",\"item\":{\"name\":"
	"\"ab\"}}\n\ndata: {\"delta\":\"{}\"}\n\ndata: {\"type\":"
	"\"response.output_item.done\",\"item\":{\"name\":\"ab\","
	"\"arguments\":\"{}\"}}\n\n",
	0, 0, 0, 4, false, false},
    {"a part that comes only at its end", RESPONSES, true,
	"data: {\"type\":\"response.output_item.done\",\"item\":{\"content\":["
	"{\"type\":\"output_text\",\"text\":\"abc\"}]}}\n\n",
	0, 0, 0, 3, false, false},
    {"reasoning that only the provider reads", RESPONSES, false,
	"{\"output\":[{\"type\":\"reasoning\",\"encrypted_content\":\"xyz\","
	"\"summary\":[{\"type\":\"summary_text\",\"text\":\"ab\"}]}]}",
	0, 0, 0, 2, false, true},
    {"numbers that are none", CHAT, false,
	"{\"usage\":{\"prompt_tokens\":-3,\"completion_tokens\":1.5,"
	"\"prompt_tokens_details\":{\"cached_tokens\":99999999999999999999}},"
	"\"choices\":[]}",
	0, 0, 0, 0, false, true},
    {"keys in escapes are others", CHAT, false,
	"{\"us\\u0061ge\":{\"prompt_tokens\":3,\"completion_tokens\":4}}", 0, 0,
	0, 0, false, true},
};

static void
test_usage_scan_feed(const struct test_usage_scan_row *row, bool strip,
    size_t first, size_t piece, struct usage_counts *counts_r,
    struct buffer *out)
{
	struct usage_scan *scan;
	size_t len = strlen(row->text), at = 0;

	assert_int_equal(
	    usage_scan_new(row->format, row->is_stream, strip, &scan),
	    RESULT_OK);
	for (size_t next = first; at < len; next = piece) {
		size_t count = len - at < next ? len - at : next;

		assert_int_equal(
		    usage_scan_feed(scan, row->text + at, count, out),
		    RESULT_OK);
		at += count;
		if (!strip)
			assert_int_equal(out->len, at);
	}
	assert_int_equal(usage_scan_finish(scan, out), RESULT_OK);
	*counts_r = *usage_scan_counts(scan);
	usage_scan_free(&scan);
}

static void
test_usage_scan_expect(
    const struct test_usage_scan_row *row, size_t first, size_t piece)
{
	struct usage_counts counts;
	struct buffer out;

	buffer_init(&out, 1U << 20);
	test_usage_scan_feed(row, false, first, piece, &counts, &out);
	if (counts.input_tokens != row->input ||
	    counts.output_tokens != row->output ||
	    counts.cached_tokens != row->cached ||
	    counts.output_chars != row->chars || counts.known != row->known ||
	    counts.finished != row->finished)
		fail_msg("%s, split at %zu: %lu %lu %lu %lu %d %d", row->name,
		    first, counts.input_tokens, counts.output_tokens,
		    counts.cached_tokens, counts.output_chars, counts.known,
		    counts.finished);
	assert_memory_equal(
	    buffer_bytes_borrow(&out), row->text, strlen(row->text));
	buffer_free(&out);
}

static void
test_usage_scan_formats(void **state)
{
	size_t rows =
	    sizeof(test_usage_scan_rows) / sizeof(test_usage_scan_rows[0]);

	(void)state;
	for (size_t i = 0; i < rows; i++) {
		const struct test_usage_scan_row *row =
		    &test_usage_scan_rows[i];

		for (size_t first = 0; first <= strlen(row->text); first++)
			test_usage_scan_expect(row, first, 100000);
		test_usage_scan_expect(row, 1, 1);
		test_usage_scan_expect(row, 3, 7);
	}
}

/* What was not read to its end says so; an end marker is none of that. */
static void
test_usage_scan_odd(void **state)
{
	char deep[7 + 1025 + 1] = "data: ";
	const struct {
		enum provider_usage format;
		bool is_stream;
		const char *text;
		bool odd;
	} rows[] = {
	    {CHAT, false, deep + 6, true},
	    {CHAT, false, deep + 7, false},
	    {CHAT, true, deep, true},
	    {NONE, false, deep + 6, false},
	    {CHAT, false, "<", true},
	    {CHAT, true, "data: x\n\ndata: {}\n\n", true},
	    {CHAT, true, "data: {}\n\ndata: [DONE]\n\n", false},
	    {CHAT, true, "data: [DONE]", false},
	    {CHAT, true, "data: [D}", true},
	};

	(void)state;
	memset(deep + 6, '[', 1025);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_usage_scan_row row = {.format = rows[i].format,
		    .is_stream = rows[i].is_stream,
		    .text = rows[i].text};

		for (size_t piece = 1; piece < 2048; piece += 2000) {
			struct usage_counts counts;
			struct buffer out;

			buffer_init(&out, 4096);
			test_usage_scan_feed(
			    &row, false, piece, piece, &counts, &out);
			if (counts.odd != rows[i].odd)
				fail_msg("row %zu", i);
			buffer_free(&out);
		}
	}
}

#define ONE "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
#define USED                                                                 \
	"data: {\"id\":\"x\",\"choices\":[],\"usage\":{\"prompt_tokens\":3," \
	"\"completion_tokens\":2}}\n\n"
#define DONE "data: [DONE]\n\n"

static const struct {
	const char *in, *out;
} test_usage_scan_strips[] = {
    {ONE ONE USED DONE, ONE ONE DONE},
    {USED DONE, DONE},
    {ONE USED, ONE},
    {ONE, ONE},
    {": ping\n\n" ONE "\n\n" USED DONE, ": ping\n\n" ONE "\n\n" DONE},
    /* carries an answer, too: stays */
    {"data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n",
	"data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}"
	"\n\n"},
    /* no usage: stays */
    {"data: {\"choices\":[],\"usage\":null}\n\n",
	"data: {\"choices\":[],\"usage\":null}\n\n"},
    /* the line ends of others */
    {"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\r\n\r\n" DONE,
	DONE},
    {"event: x\ndata: {\"choices\":[],\ndata: \"usage\":{\"prompt_tokens\":1}}"
     "\n\n" DONE,
	DONE},
    /* the end came before the event's */
    {ONE "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}", ONE},
    {ONE "data: {\"choices\":[],\"us", ONE "data: {\"choices\":[],\"us"},
};

static void
test_usage_scan_strip(void **state)
{
	size_t rows =
	    sizeof(test_usage_scan_strips) / sizeof(test_usage_scan_strips[0]);

	(void)state;
	for (size_t i = 0; i < rows; i++) {
		const char *wanted = test_usage_scan_strips[i].out;
		struct test_usage_scan_row row = {.format = CHAT,
		    .is_stream = true,
		    .text = test_usage_scan_strips[i].in};

		for (size_t first = 0; first <= strlen(row.text); first++) {
			struct usage_counts counts;
			struct buffer out;

			buffer_init(&out, 4096);
			test_usage_scan_feed(
			    &row, true, first, 4096, &counts, &out);
			if (out.len != strlen(wanted) ||
			    (out.len > 0 && memcmp(buffer_bytes_borrow(&out),
						wanted, out.len) != 0))
				fail_msg("row %zu, split at %zu: %.*s", i,
				    first, (int)out.len,
				    (const char *)buffer_bytes_borrow(&out));
			buffer_free(&out);
		}
	}
}

/* What carries an answer is not held until its event ends. */
static void
test_usage_scan_prompt(void **state)
{
	static const char begun[] =
	    "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"ab";
	struct usage_scan *scan;
	struct buffer out;

	(void)state;
	buffer_init(&out, 4096);
	assert_int_equal(usage_scan_new(CHAT, true, true, &scan), RESULT_OK);
	assert_int_equal(
	    usage_scan_feed(scan, begun, strlen(begun), &out), RESULT_OK);
	assert_int_equal(out.len, strlen(begun));
	usage_scan_free(&scan);
	buffer_free(&out);
}

/* An event longer than the bound goes on, whatever it carries. */
static void
test_usage_scan_bound(void **state)
{
	size_t len = USAGE_SCAN_EVENT_MAX + 1000;
	char *text = malloc(len + 1);
	struct usage_scan *scan;
	struct buffer out;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	memcpy(text, "data: {\"a\":\"", 12);
	memcpy(text + len - 64,
	    "\",\"choices\":[],\"usage\":{\"prompt_tokens\":1}}          "
	    "       \n\n\n",
	    64);
	buffer_init(&out, 2 * len);
	assert_int_equal(usage_scan_new(CHAT, true, true, &scan), RESULT_OK);
	for (size_t at = 0; at < len; at += 1000) {
		size_t count = len - at < 1000 ? len - at : 1000;

		assert_int_equal(
		    usage_scan_feed(scan, text + at, count, &out), RESULT_OK);
		assert_true(at + count - out.len <= USAGE_SCAN_EVENT_MAX);
	}
	assert_int_equal(usage_scan_finish(scan, &out), RESULT_OK);
	assert_int_equal(out.len, len);
	assert_memory_equal(buffer_bytes_borrow(&out), text, len);
	assert_int_equal(usage_scan_counts(scan)->input_tokens, 1);
	usage_scan_free(&scan);
	buffer_free(&out);
	free(text);
}

static void
test_usage_scan_estimates(void **state)
{
	(void)state;
	assert_int_equal(usage_scan_estimate(0), 0);
	assert_int_equal(usage_scan_estimate(1), 1);
	assert_int_equal(usage_scan_estimate(3), 1);
	assert_int_equal(usage_scan_estimate(4), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_usage_scan_formats),
	    cmocka_unit_test(test_usage_scan_odd),
	    cmocka_unit_test(test_usage_scan_strip),
	    cmocka_unit_test(test_usage_scan_prompt),
	    cmocka_unit_test(test_usage_scan_bound),
	    cmocka_unit_test(test_usage_scan_estimates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
