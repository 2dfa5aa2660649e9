/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tool's answer: what is a result, what is not and why, and that
 * nothing gets out that was not checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/gate_pack.h"

static const struct mcp_hash_key test_gate_pack_key;

static void
test_gate_pack_open(struct gate_pack *pack, bool json)
{
	const struct gate_pack_limits limits = {
	    .request_max = 64, .result_max = 256, .json = json};

	gate_pack_init(pack, &limits, &test_gate_pack_key);
}

/* Judge what came in; the line as text. */
static const char *
test_gate_pack_line(struct gate_pack *pack, const char *answer)
{
	assert_int_equal(
	    gate_pack_feed(pack, answer, strlen(answer)), RESULT_OK);
	assert_int_equal(gate_pack_judge(pack), RESULT_OK);
	assert_int_equal(buffer_append(&pack->line, "", 1), RESULT_OK);
	return (const char *)buffer_bytes_borrow(&pack->line);
}

static void
test_gate_pack_is(const char *answer, const char *code, const char *line)
{
	struct gate_pack pack;

	test_gate_pack_open(&pack, false);
	assert_string_equal(test_gate_pack_line(&pack, answer), line);
	assert_string_equal(pack.code, code);
	gate_pack_free(&pack);
}

static void
test_gate_pack_results(void **state)
{
	(void)state;
	test_gate_pack_is("{\"ok\":true,\"result\":1}", "", "1\n");
	test_gate_pack_is("{\"ok\":true,\"result\":null}\n", "", "null\n");
	test_gate_pack_is(" { \"result\" : [ 1 ,\t\"a  b\" ] , \"ok\" : true"
			  " }\n",
	    "", "[1,\"a  b\"]\n");
	test_gate_pack_is("{\"ok\":true,\"result\":\"a\\\\\\\" \\u001b\"}", "",
	    "\"a\\\\\\\" \\u001b\"\n");
	/* Turns the writing direction: the same, as an escape. */
	test_gate_pack_is(
	    "{\"ok\":true,\"result\":\"\xe2\x80\xae\"}", "", "\"\\u202e\"\n");
}

static void
test_gate_pack_bad(void **state)
{
	static const char *const rows[] = {" ", "1", "[]", "null", "{}", "{",
	    "{\"ok\":true}", "{\"result\":1}", "{\"ok\":false}",
	    "{\"ok\":true,\"error\":{\"type\":\"a\",\"message\":\"b\"}}",
	    "{\"ok\":1,\"result\":1}", "{\"ok\":\"true\",\"result\":1}",
	    "{\"ok\":null,\"result\":1}", "{\"ok\":true,\"result\":NaN}",
	    "{\"ok\":true,\"result\":1,\"result\":2}",
	    "{\"ok\":true,\"ok\":true,\"result\":2}",
	    "{\"ok\":true,\"result\":1,\"more\":2}",
	    "{\"ok\":true,\"result\":1}{\"ok\":true,\"result\":2}",
	    "{\"ok\":true,\"result\":1}\n{\"ok\":true,\"result\":2}\n",
	    "noise{\"ok\":true,\"result\":1}",
	    "{\"ok\":true,\"result\":\"\xff\"}",
	    "{\"ok\":true,\"result\":\"\x1b\"}",
	    "{\"ok\":true,\"result\":1}\r\n",
	    "{\"ok\":false,\"error\":\"text\"}",
	    "{\"ok\":false,\"error\":{\"type\":\"a\"}}",
	    "{\"ok\":false,\"error\":{\"type\":\"a\",\"message\":1}}", NULL};

	(void)state;
	for (size_t i = 0; rows[i] != NULL; i++)
		test_gate_pack_is(rows[i], "bad_result", "");
}

static void
test_gate_pack_error(void **state)
{
	struct gate_pack pack;
	const char *line;

	(void)state;
	test_gate_pack_open(&pack, true);
	pack.facts.exit_code = 1;
	pack.facts.duration_ms = 12;
	pack.facts.peak_memory = 34;
	line = test_gate_pack_line(&pack,
	    "{\"ok\":false,\"error\":{\"message\":\"no\\u001b \\\"x\\\"\","
	    "\"type\":\"Odd\"}}");
	assert_string_equal(line,
	    "{\"ok\":false,\"error\":{\"code\":\"tool_failed\",\"type\":"
	    "\"Odd\",\"message\":\"no\\u001b \\\"x\\\"\"},\"exit\":1,"
	    "\"duration_ms\":12,\"peak_memory\":34,\"truncated\":false,"
	    "\"place\":\"sandbox\"}\n");
	assert_string_equal(pack.detail, "Odd: no? \"x\"");
	gate_pack_free(&pack);
}

/* How it ended without a result. */
static void
test_gate_pack_nothing(void **state)
{
	static const struct {
		struct gate_pack_facts facts;
		const char *code, *detail;
	} rows[] = {
	    {{.exit_code = 7}, "no_result", "(exit 7)"},
	    {{.exit_code = -1, .signal = 11}, "no_result", "(signal 11)"},
	    {{.exit_code = -1, .signal = 9, .oom_kills = 1}, "out_of_memory",
		"more memory"},
	    {{.code = "timeout", .detail = "too long", .exit_code = -1},
		"timeout", "too long"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_pack pack;

		test_gate_pack_open(&pack, false);
		pack.facts = rows[i].facts;
		assert_string_equal(test_gate_pack_line(&pack, ""), "");
		assert_string_equal(pack.code, rows[i].code);
		assert_non_null(strstr(pack.detail, rows[i].detail));
		gate_pack_free(&pack);
	}
}

/* A result of what was ended, or did not end well, is none. */
static void
test_gate_pack_not_well(void **state)
{
	static const char good[] = "{\"ok\":true,\"result\":1}";
	struct gate_pack pack;

	(void)state;
	test_gate_pack_open(&pack, false);
	pack.facts.exit_code = 3;
	assert_string_equal(test_gate_pack_line(&pack, good), "");
	assert_string_equal(pack.code, "bad_result");
	gate_pack_free(&pack);
	test_gate_pack_open(&pack, false);
	(void)snprintf(pack.facts.code, sizeof(pack.facts.code), "timeout");
	assert_string_equal(test_gate_pack_line(&pack, good), "");
	assert_string_equal(pack.code, "timeout");
	gate_pack_free(&pack);
}

static void
test_gate_pack_too_long(void **state)
{
	struct gate_pack pack;
	char bytes[300];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	test_gate_pack_open(&pack, true);
	assert_int_equal(
	    gate_pack_feed(&pack, bytes, sizeof(bytes)), RESULT_OK);
	assert_false(pack.too_long);
	assert_int_equal(
	    gate_pack_feed(&pack, bytes, sizeof(bytes)), RESULT_OK);
	assert_true(pack.too_long);
	assert_int_equal(pack.answer.capacity, 0);
	assert_non_null(
	    strstr(test_gate_pack_line(&pack, "more"), "\"result_too_long\""));
	assert_non_null(strstr((const char *)buffer_bytes_borrow(&pack.line),
	    "\"truncated\":true"));
	gate_pack_free(&pack);
}

static void
test_gate_pack_requests(void **state)
{
	struct gate_pack pack;

	(void)state;
	test_gate_pack_open(&pack, false);
	assert_int_equal(gate_pack_request(&pack, "{}", 2), RESULT_OK);
	assert_int_equal(gate_pack_request(&pack, "{}", 2), RESULT_EXISTS);
	assert_int_equal(pack.request.len, 2);
	gate_pack_free(&pack);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_pack_results),
	    cmocka_unit_test(test_gate_pack_bad),
	    cmocka_unit_test(test_gate_pack_error),
	    cmocka_unit_test(test_gate_pack_nothing),
	    cmocka_unit_test(test_gate_pack_not_well),
	    cmocka_unit_test(test_gate_pack_too_long),
	    cmocka_unit_test(test_gate_pack_requests),
	};

	return cmocka_run_group_tests_name("gate_pack", tests, NULL, NULL);
}
