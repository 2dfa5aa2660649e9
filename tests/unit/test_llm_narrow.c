/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a living run keeps of its grant, as a table; and that it is never more
 * than it had, nor more than it would get now.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/grant.h"
#include "supervisor/policy/llm_narrow.h"

#define P(rows) "\"providers\":[" rows "]"
#define ROW(name) "{\"name\":\"" name "\"}"
#define ROWS(name, models) "{\"name\":\"" name "\",\"models\":[" models "]}"
#define LEFT ",\"limits\":{},\"opt_in\":[],\"ledger\":true}"

static const struct test_llm_narrow_row {
	const char *held, *now, *kept;
} test_llm_narrow_rows[] = {
    {"{" P(ROW("a") "," ROW("b")) LEFT, "{" P(ROW("b") "," ROW("c")) LEFT,
	"{" P(ROW("b")) LEFT},
    {"{" P(ROW("a")) LEFT, "{" P(ROWS("a", "\"x\"")) LEFT,
	"{" P(ROWS("a", "\"x\"")) LEFT},
    {"{" P(ROWS("a", "\"x\",\"y\"")) LEFT, "{" P(ROW("a")) LEFT,
	"{" P(ROWS("a", "\"x\",\"y\"")) LEFT},
    {"{" P(ROWS("a", "\"x\",\"y\"")) LEFT, "{" P(ROWS("a", "\"y\",\"z\"")) LEFT,
	"{" P(ROWS("a", "\"y\"")) LEFT},
    {"{" P(ROWS("a", "\"x\"")) LEFT, "{" P(ROWS("a", "\"y\"")) LEFT,
	"{" P(ROWS("a", "")) LEFT},
    {"{" P(ROW("a")) LEFT, "{" P("") LEFT, "{" P("") LEFT},
    /* numbers: the smaller; one that is new holds, one that is gone stays */
    {"{" P("") ",\"limits\":{\"requests\":5,\"concurrent\":2,\"idle_ms\":9},"
	       "\"opt_in\":[],\"ledger\":true}",
	"{" P("") ",\"limits\":{\"requests\":9,\"concurrent\":1,"
		  "\"body_bytes\":7},\"opt_in\":[],\"ledger\":true}",
	"{" P("") ",\"limits\":{\"requests\":5,\"concurrent\":1,\"idle_ms\":9,"
		  "\"body_bytes\":7},\"opt_in\":[],\"ledger\":true}"},
    /* opt-ins: both; absent is none */
    {"{" P("") ",\"limits\":{},\"opt_in\":[\"stored\",\"remote_urls\"],"
	       "\"ledger\":true}",
	"{" P("") ",\"limits\":{},\"opt_in\":[\"remote_urls\","
		  "\"provider_tools\"],\"ledger\":true}",
	"{" P("") ",\"limits\":{},\"opt_in\":[\"remote_urls\"],"
		  "\"ledger\":true}"},
    {"{" P("") ",\"limits\":{},\"opt_in\":[\"stored\"],\"ledger\":true}",
	"{" P("") ",\"limits\":{},\"ledger\":true}", "{" P("") LEFT},
    {"{" P("") ",\"limits\":{},\"ledger\":true}",
	"{" P("") ",\"limits\":{},\"opt_in\":[\"stored\"],\"ledger\":true}",
	"{" P("") LEFT},
    /* call_llm's choice: as it was, else the new one, else none */
    {"{" P(ROW("a") "," ROW("b")) ",\"default\":{\"provider\":\"a\","
				  "\"model\":\"x\"}" LEFT,
	"{" P(ROW("a") "," ROW("b")) ",\"default\":{\"provider\":\"b\","
				     "\"model\":\"y\"}" LEFT,
	"{" P(ROW("a") "," ROW("b")) ",\"default\":{\"provider\":\"a\","
				     "\"model\":\"x\"}" LEFT},
    {"{" P(ROW("a") "," ROW("b")) ",\"default\":{\"provider\":\"a\","
				  "\"model\":\"x\"}" LEFT,
	"{" P(ROW("b")) ",\"default\":{\"provider\":\"b\",\"model\":"
			"\"y\"}" LEFT,
	"{" P(ROW("b")) ",\"default\":{\"provider\":\"b\",\"model\":"
			"\"y\"}" LEFT},
    {"{" P(ROWS("a", "\"x\"")) ",\"default\":{\"provider\":\"a\",\"model\":"
			       "\"x\"}" LEFT,
	"{" P(ROWS("a", "\"y\"")) ",\"default\":{\"provider\":\"a\",\"model\":"
				  "\"y\"}" LEFT,
	"{" P(ROWS("a", "")) LEFT},
    /* prices and ledger are those it began with */
    {"{" P("") ",\"limits\":{},\"opt_in\":[],\"prices\":[],\"ledger\":true}",
	"{" P("") ",\"limits\":{},\"opt_in\":[],\"ledger\":false}",
	"{" P("") ",\"limits\":{},\"opt_in\":[],\"prices\":[],"
		  "\"ledger\":true}"},
};

static struct grant *
test_llm_narrow_load(const json_t *object)
{
	struct json_fault fault = {""};
	struct grant *grant = NULL;

	if (grant_load(object, "grant", &grant, &fault) != RESULT_OK)
		print_error("%s\n", fault.text);
	return grant;
}

static void
test_llm_narrow_table(void **state)
{
	const size_t rows =
	    sizeof(test_llm_narrow_rows) / sizeof(test_llm_narrow_rows[0]);

	(void)state;
	for (size_t i = 0; i < rows; i++) {
		const struct test_llm_narrow_row *row =
		    &test_llm_narrow_rows[i];
		json_t *held = json_loads(row->held, 0, NULL);
		json_t *now = json_loads(row->now, 0, NULL);
		json_t *kept = json_loads(row->kept, 0, NULL), *got, *again;
		struct grant *before, *after;

		assert_non_null(held);
		assert_non_null(now);
		got = llm_narrow_grant(held, now);
		if (!json_equal(got, kept))
			print_error("row %zu: %s\n", i, json_dumps(got, 0));
		assert_true(json_equal(got, kept));
		before = test_llm_narrow_load(held);
		after = test_llm_narrow_load(got);
		assert_non_null(before);
		assert_non_null(after);
		/* The broker takes it. */
		assert_true(grant_covers(before, after));
		again = llm_narrow_grant(got, now);
		assert_true(json_equal(got, again));
		grant_free(&before);
		grant_free(&after);
		json_decref(held);
		json_decref(now);
		json_decref(kept);
		json_decref(got);
		json_decref(again);
	}
}

static void
test_llm_narrow_budgets(void **state)
{
	static const struct {
		const char *held, *now;
		bool ends;
	} rows[] = {
	    {"{\"run\":{\"requests\":9}}", "{\"run\":{\"requests\":1}}", false},
	    {"{\"run\":{}}", "{\"run\":{\"input_chars\":1,\"concurrent\":1}}",
		false},
	    {"{\"run\":{\"tokens\":9}}", "{\"run\":{\"tokens\":9}}", false},
	    {"{\"run\":{\"tokens\":9}}", "{\"run\":{\"tokens\":10}}", false},
	    {"{\"run\":{\"tokens\":9}}", "{\"run\":{}}", false},
	    {"{\"run\":{\"tokens\":9}}", "{\"run\":{\"tokens\":8}}", true},
	    {"{\"run\":{}}", "{\"run\":{\"cost_microusd\":8}}", true},
	    {"{}", "{\"host_day\":{\"requests\":8}}", true},
	    {"{\"agent_day\":{\"requests\":9}}",
		"{\"agent_day\":{\"requests\":8}}", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *held = json_loads(rows[i].held, 0, NULL);
		json_t *now = json_loads(rows[i].now, 0, NULL);

		assert_int_equal(llm_narrow_ends(held, now), rows[i].ends);
		json_decref(held);
		json_decref(now);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_llm_narrow_table),
	    cmocka_unit_test(test_llm_narrow_budgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
